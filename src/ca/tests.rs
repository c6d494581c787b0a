//! The CA seen through the door: by clients that check it, and on disk.

use crate::ca::files::{self, CERTIFICATE_FILE, KEY_FILE, RootError, default_folder};
use crate::ca::keyring::Keyring;
use crate::ca::leaf::LeafError;
use crate::ca::root::{NotACa, Root};
use crate::clock::{Clock, Hand};
use crate::pace::scope::Host;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

const DAY: Duration = Duration::from_secs(86_400);

/// A client that trusts one CA, at the time of a clock moved by hand.
struct Client {
    config: Arc<ClientConfig>,
}

impl Client {
    fn trusting(root: &CertificateDer<'static>, now: SystemTime) -> Client {
        let mut roots = RootCertStore::empty();
        roots.add(root.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let time = Arc::new(Fixed(now));
        let mut config = ClientConfig::builder_with_details(provider, time)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        Client { config: Arc::new(config) }
    }

    fn shake(&self, name: &str, server: Arc<ServerConfig>) -> Result<ClientConnection, String> {
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let mut client = ClientConnection::new(self.config.clone(), name).unwrap();
        let mut server = ServerConnection::new(server).unwrap();
        for _ in 0..6 {
            let mut wire = Vec::new();
            while client.wants_write() {
                client.write_tls(&mut wire).unwrap();
            }
            server.read_tls(&mut &wire[..]).unwrap();
            server.process_new_packets().map_err(|why| why.to_string())?;
            wire.clear();
            while server.wants_write() {
                server.write_tls(&mut wire).unwrap();
            }
            client.read_tls(&mut &wire[..]).unwrap();
            client.process_new_packets().map_err(|why| why.to_string())?;
        }
        assert!(!client.is_handshaking());
        Ok(client)
    }
}

#[derive(Debug)]
struct Fixed(SystemTime);

impl rustls::time_provider::TimeProvider for Fixed {
    fn current_time(&self) -> Option<rustls::pki_types::UnixTime> {
        let since = self.0.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        Some(rustls::pki_types::UnixTime::since_unix_epoch(since))
    }
}

fn keyring() -> (Keyring, Clock, Hand) {
    let (clock, hand) = Clock::by_hand();
    let root = Root::generate(clock.wall()).unwrap();
    (Keyring::new(root, clock.clone()).unwrap(), clock, hand)
}

fn host(name: &str) -> Host {
    Host::parse(name).unwrap()
}

/// The leaf a client that connects to `connect` and says `sni` is shown, checked as a client that
/// looks for `name` checks it.
#[track_caller]
fn check(connect: &str, sni: Option<&str>, name: &str) -> Vec<u8> {
    let (keyring, clock, _) = keyring();
    let server = keyring.accept_config(&host(connect), sni).unwrap();
    let client = Client::trusting(keyring.root().der(), clock.wall());
    let client = client.shake(name, server).unwrap();
    assert_eq!(client.alpn_protocol(), Some(&b"h2"[..]));
    client.peer_certificates().unwrap()[0].to_vec()
}

#[test]
fn a_client_that_trusts_the_ca_accepts_the_leaf_of_any_kind_of_host() {
    check("shop.example", Some("shop.example"), "shop.example");
    check("shop.example", Some("SHOP.example"), "shop.example");
    check("127.0.0.1", None, "127.0.0.1");
    check("2001:db8::1", None, "2001:db8::1");
    check("a_b.example", None, "a_b.example");
    check("xn--bcher-kva.example", None, "xn--bcher-kva.example");
}

#[test]
fn the_leaf_is_for_the_name_the_client_says_and_else_for_the_host_it_connected_to() {
    check("127.0.0.1", Some("shop.example"), "shop.example");
    check("front.example", Some("shop.example"), "shop.example");
    for odd in ["", "10.0.0.1", "[::1]", "*.example", "shop\u{e4}.example", "a b", "."] {
        check("shop.example", Some(odd), "shop.example");
    }
    check("shop.example", Some(&"x".repeat(65_536)), "shop.example");
}

#[test]
fn a_client_that_looks_for_another_host_refuses_the_leaf() {
    let (keyring, clock, _) = keyring();
    let client = Client::trusting(keyring.root().der(), clock.wall());
    let server = keyring.server_config(&host("shop.example")).unwrap();
    assert!(client.shake("other.example", server).unwrap_err().contains("not valid for name"));
}

#[test]
fn a_leaf_has_what_strict_clients_ask_for() {
    let (keyring, clock, _) = keyring();
    let root = keyring.root().der().clone();
    let client = Client::trusting(&root, clock.wall());
    let server = keyring.server_config(&host("shop.example")).unwrap();
    let shown = client.shake("shop.example", server).unwrap();
    let leaf = shown.peer_certificates().unwrap()[0].to_vec();
    let (_, leaf) = X509Certificate::from_der(&leaf).unwrap();
    let (_, root) = X509Certificate::from_der(&root).unwrap();

    assert_eq!(leaf.issuer().as_raw(), root.subject().as_raw());
    assert_eq!(leaf.subject().to_string(), "CN=shop.example");
    assert!(!leaf.is_ca());
    let usage = leaf.key_usage().unwrap().unwrap();
    assert!(usage.critical && usage.value.digital_signature() && usage.value.flags == 1);
    let extended = leaf.extended_key_usage().unwrap().unwrap();
    assert!(extended.value.server_auth && !extended.value.client_auth && !extended.value.any);
    assert!(!leaf.subject_alternative_name().unwrap().unwrap().critical);
    assert!(leaf.raw_serial().len() >= 16 && leaf.raw_serial()[0] & 0x80 == 0);
    assert_eq!(authority_id(&leaf), subject_id(&root));
    assert!(subject_id(&leaf).is_some());

    let validity = leaf.validity();
    let days = (validity.not_after.timestamp() - validity.not_before.timestamp()) / 86_400;
    assert!((1..=90).contains(&days), "{days} days");
    let now = clock.wall().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() as i64;
    assert!(validity.not_before.timestamp() <= now - 86_400, "not back-dated");
}

fn authority_id(certificate: &X509Certificate<'_>) -> Option<Vec<u8>> {
    use x509_parser::extensions::ParsedExtension::AuthorityKeyIdentifier;
    certificate.iter_extensions().find_map(|extension| {
        let AuthorityKeyIdentifier(id) = extension.parsed_extension() else { return None };
        Some(id.key_identifier.as_ref()?.0.to_vec())
    })
}

fn subject_id(certificate: &X509Certificate<'_>) -> Option<Vec<u8>> {
    use x509_parser::extensions::ParsedExtension::SubjectKeyIdentifier;
    certificate.iter_extensions().find_map(|extension| {
        let SubjectKeyIdentifier(id) = extension.parsed_extension() else { return None };
        Some(id.0.to_vec())
    })
}

#[test]
fn a_name_over_64_characters_has_an_empty_subject_and_a_critical_alternative_name() {
    let long = format!("{}.{}.example", "a".repeat(60), "b".repeat(60));
    let leaf = check(&long, Some(&long), &long);
    let (_, leaf) = X509Certificate::from_der(&leaf).unwrap();
    assert_eq!(leaf.subject().iter().count(), 0);
    let name = leaf.subject_alternative_name().unwrap().unwrap();
    assert!(name.critical);
    assert_eq!(name.value.general_names, [GeneralName::DNSName(&long)]);
    let longest = format!("{}a", "a.".repeat(126));
    check(&longest, None, &longest);
}

#[test]
fn the_root_may_sign_leaves_and_nothing_that_signs() {
    let (clock, _) = Clock::by_hand();
    let root = Root::generate(clock.wall()).unwrap();
    let (_, parsed) = X509Certificate::from_der(root.der()).unwrap();
    let constraints = parsed.basic_constraints().unwrap().unwrap();
    assert!(constraints.critical && constraints.value.ca);
    assert_eq!(constraints.value.path_len_constraint, Some(0));
    let usage = parsed.key_usage().unwrap().unwrap();
    assert!(usage.critical && usage.value.key_cert_sign() && usage.value.crl_sign());
    assert!(parsed.subject().to_string().starts_with("CN=pacegate CA "));
    let left = root.not_after().duration_since(clock.wall()).unwrap();
    assert!(left > DAY * 3649 && left <= DAY * 3650);
    assert_eq!(root.fingerprint().len(), 95);
    assert_eq!(root.spki_sha256().len(), 44);
    assert!(root.pem().starts_with("-----BEGIN CERTIFICATE-----\n"));
    assert!(!format!("{root:?}").contains("PRIVATE"));
}

#[test]
fn a_host_keeps_its_leaf_until_two_thirds_of_its_life() {
    let (keyring, _, hand) = keyring();
    let name = host("shop.example");
    let first = keyring.server_config(&name).unwrap();
    hand.advance(DAY * 17);
    assert!(Arc::ptr_eq(&first, &keyring.server_config(&name).unwrap()));
    hand.advance(DAY * 2);
    let second = keyring.server_config(&name).unwrap();
    assert!(!Arc::ptr_eq(&first, &second));
    assert!(Arc::ptr_eq(&second, &keyring.server_config(&name).unwrap()));
    assert_eq!((keyring.issued(), keyring.kept()), (2, 1));
}

#[test]
fn a_leaf_from_a_later_day_is_not_shown_after_the_clock_went_back() {
    let (keyring, clock, hand) = keyring();
    let then = clock.now();
    hand.advance(DAY * 10);
    let first = keyring.server_config(&host("shop.example")).unwrap();
    hand.set(then);
    assert!(!Arc::ptr_eq(&first, &keyring.server_config(&host("shop.example")).unwrap()));
}

#[test]
fn no_leaf_outlives_its_ca() {
    let (keyring, clock, hand) = keyring();
    hand.advance(DAY * 3645);
    let server = keyring.server_config(&host("shop.example")).unwrap();
    let client = Client::trusting(keyring.root().der(), clock.wall());
    client.shake("shop.example", server).unwrap();
    hand.advance(DAY * 6);
    let late = keyring.server_config(&host("shop.example"));
    assert_eq!(late.unwrap_err(), LeafError::CaExpired(keyring.root().not_after()));
}

#[test]
fn a_name_is_minted_once_however_many_ask_at_the_same_time() {
    let (keyring, _, _) = keyring();
    std::thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| {
                for name in 0..50 {
                    keyring.server_config(&host(&format!("h{name}.example"))).unwrap();
                }
            });
        }
    });
    assert_eq!((keyring.issued(), keyring.kept()), (50, 50));
}

#[test]
fn a_spray_of_names_neither_grows_the_keyring_nor_drives_out_a_name_in_use() {
    let (keyring, _, _) = keyring();
    let used = host("used.example");
    let first = keyring.server_config(&used).unwrap();
    for name in 0..5_000 {
        keyring.server_config(&host(&format!("h{name}.example"))).unwrap();
        if name % 100 == 0 {
            assert!(Arc::ptr_eq(&first, &keyring.server_config(&used).unwrap()));
        }
    }
    assert_eq!(keyring.kept(), Keyring::MOST);
    assert_eq!(keyring.issued(), 5_001);
}

#[test]
fn a_client_that_comes_back_resumes_its_session() {
    let (keyring, clock, _) = keyring();
    let client = Client::trusting(keyring.root().der(), clock.wall());
    for kind in [rustls::HandshakeKind::Full, rustls::HandshakeKind::Resumed] {
        let server = keyring.server_config(&host("shop.example")).unwrap();
        assert_eq!(client.shake("shop.example", server).unwrap().handshake_kind(), Some(kind));
    }
}

/// A folder of a test's own, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("pacegate-ca-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Folder(path)
    }

    fn certs(&self) -> PathBuf {
        self.0.join("certs")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn the_ca_is_made_once_and_its_key_is_its_owners_only() {
    let (clock, _) = Clock::by_hand();
    let folder = Folder::new();
    let made = files::open_or_create(&folder.certs(), &clock).unwrap();
    let found = files::open_or_create(&folder.certs(), &clock).unwrap();
    assert!(made.made_now && !found.made_now);
    assert_eq!(made.root.fingerprint(), found.root.fingerprint());
    assert_eq!(mode(&folder.certs()), 0o700);
    assert_eq!(mode(&folder.certs().join(KEY_FILE)), 0o600);
    assert_eq!(fs::read_to_string(&made.certificate_file).unwrap(), made.root.pem());
    let left: Vec<_> = fs::read_dir(folder.certs()).unwrap().collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn a_folder_others_may_enter_is_narrowed_when_the_ca_is_made() {
    let (clock, _) = Clock::by_hand();
    let folder = Folder::new();
    fs::create_dir(folder.certs()).unwrap();
    fs::set_permissions(folder.certs(), fs::Permissions::from_mode(0o755)).unwrap();
    files::open_or_create(&folder.certs(), &clock).unwrap();
    assert_eq!(mode(&folder.certs()), 0o700);
}

#[test]
fn a_folder_others_may_write_in_is_closed_to_them_and_stays_readable() {
    let (clock, _) = Clock::by_hand();
    let folder = Folder::new();
    files::open_or_create(&folder.certs(), &clock).unwrap();
    fs::set_permissions(folder.certs(), fs::Permissions::from_mode(0o777)).unwrap();
    files::open_or_create(&folder.certs(), &clock).unwrap();
    assert_eq!(mode(&folder.certs()), 0o755);
}

#[test]
fn a_key_others_may_read_is_refused_and_says_what_to_do() {
    let (clock, _) = Clock::by_hand();
    let folder = Folder::new();
    files::open_or_create(&folder.certs(), &clock).unwrap();
    for open in [0o640, 0o604, 0o666] {
        let key = folder.certs().join(KEY_FILE);
        fs::set_permissions(&key, fs::Permissions::from_mode(open)).unwrap();
        let why = files::open_or_create(&folder.certs(), &clock).unwrap_err();
        assert!(matches!(why, RootError::Readable { .. }));
        assert!(why.to_string().contains("chmod 600"), "{why}");
    }
}

#[test]
fn processes_that_start_at_once_agree_on_one_ca() {
    let (clock, _) = Clock::by_hand();
    let folder = Folder::new();
    let prints: Vec<String> = std::thread::scope(|threads| {
        let open = || files::open_or_create(&folder.certs(), &clock).unwrap().root.fingerprint();
        let starts: Vec<_> = (0..8).map(|_| threads.spawn(open)).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    assert!(prints.iter().all(|print| *print == prints[0]), "{prints:?}");
}

#[test]
fn half_a_ca_is_refused_and_never_written_over() {
    let (clock, _) = Clock::by_hand();
    let folder = Folder::new();
    let (certs, key) = (folder.certs(), folder.certs().join(KEY_FILE));
    files::open_or_create(&certs, &clock).unwrap();
    let whole = fs::read(&key).unwrap();

    fs::remove_file(certs.join(CERTIFICATE_FILE)).unwrap();
    files::open_or_create(&certs, &clock).unwrap();
    assert!(certs.join(CERTIFICATE_FILE).exists(), "the copy for clients comes back");

    fs::write(&key, b"").unwrap();
    let why = files::open_or_create(&certs, &clock).unwrap_err();
    assert!(matches!(why, RootError::Unusable { why: NotACa::NoKey, .. }), "{why}");
    fs::write(&key, &whole[..whole.len() / 8]).unwrap();
    files::open_or_create(&certs, &clock).unwrap_err();

    fs::remove_file(&key).unwrap();
    let why = files::open_or_create(&certs, &clock).unwrap_err();
    assert!(matches!(why, RootError::KeyMissing { .. }), "{why}");
    assert!(!key.exists());

    let other = Root::generate(clock.wall()).unwrap();
    fs::write(&key, other.key_pem()).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let why = files::open_or_create(&certs, &clock).unwrap_err();
    assert!(matches!(why, RootError::Unusable { why: NotACa::OtherKey, .. }), "{why}");
    fs::remove_file(certs.join(CERTIFICATE_FILE)).unwrap();
    let why = files::open_or_create(&certs, &clock).unwrap_err();
    assert!(matches!(why, RootError::CertificateMissing { .. }), "{why}");
}

#[test]
fn an_expired_ca_is_refused_with_its_day() {
    let (clock, hand) = Clock::by_hand();
    let folder = Folder::new();
    files::open_or_create(&folder.certs(), &clock).unwrap();
    hand.advance(DAY * 3651);
    let why = files::open_or_create(&folder.certs(), &clock).unwrap_err();
    assert!(matches!(why, RootError::Unusable { why: NotACa::Expired(_), .. }));
    assert!(why.to_string().contains("it expired on 2037-01-"), "{why}");
}

#[test]
fn a_ca_from_elsewhere_signs_leaves_with_its_chain() {
    use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
    let (clock, _) = Clock::by_hand();
    let company = |name: &str, constraint| {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.distinguished_name.push(DnType::OrganizationName, "Example Company");
        params.is_ca = IsCa::Ca(constraint);
        params
    };
    let top_key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384).unwrap();
    let top = company("Top", BasicConstraints::Unconstrained);
    let top_certificate = top.self_signed(&top_key).unwrap();
    let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384).unwrap();
    let middle = company("Proxies", BasicConstraints::Constrained(0));
    let middle = middle.signed_by(&key, &Issuer::new(top, top_key)).unwrap();

    let key_pem = key.serialize_pem();
    let root = Root::from_pem(middle.pem().as_bytes(), key_pem.as_bytes(), clock.wall()).unwrap();
    let keyring = Keyring::new(root, clock.clone()).unwrap();
    let client = Client::trusting(top_certificate.der(), clock.wall());
    let server = keyring.server_config(&host("shop.example")).unwrap();
    client.shake("shop.example", server).unwrap();
}

#[test]
fn a_certificate_that_may_not_sign_is_refused() {
    let (clock, _) = Clock::by_hand();
    let plain = rcgen::generate_simple_self_signed(["shop.example".to_owned()]).unwrap();
    let (certificate, key) = (plain.cert.pem(), plain.signing_key.serialize_pem());
    let why = Root::from_pem(certificate.as_bytes(), key.as_bytes(), clock.wall()).unwrap_err();
    assert_eq!(why, NotACa::MayNotSign);
    let encrypted = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let why = Root::from_pem(certificate.as_bytes(), encrypted.as_bytes(), clock.wall());
    assert_eq!(why.unwrap_err(), NotACa::EncryptedKey);
}

#[test]
fn the_ca_lives_in_certs_if_there_is_one_and_else_in_the_users_data_folder() {
    let folder = Folder::new();
    let place = |data: Option<&str>, home: Option<&str>| {
        default_folder(&folder.0, data.map(AsRef::as_ref), home.map(AsRef::as_ref))
    };
    assert_eq!(place(Some("/data"), Some("/home/a")), Some("/data/pacegate".into()));
    assert_eq!(place(Some("data"), Some("/home/a")), Some("/home/a/.local/share/pacegate".into()));
    assert_eq!(place(None, Some("/home/a")), Some("/home/a/.local/share/pacegate".into()));
    assert_eq!(place(None, None), None);
    fs::create_dir(folder.certs()).unwrap();
    assert_eq!(place(Some("/data"), None), Some(folder.certs()));
}
