//! Origins whose TLS does not hold: each is a 502 inside the tunnel that says why, and not a byte
//! of the request has gone out.

use crate::world::authority::{Authority, server};
use crate::world::client::Client;
use crate::world::door::{greeting, saying};
use crate::world::folder::Folder;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::response::Response;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, GeneralSubtree, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, NameConstraints, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;

/// A leaf as it should be, to be spoilt.
fn leaf(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names).expect("the names are valid");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.distinguished_name.push(DnType::CommonName, "a test's server");
    params
}

fn authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// Who signs what is shown here: the root that the proxy trusts, and those it doesn't know.
struct Signers {
    trusted: Authority,
}

impl Signers {
    /// A server with this certificate, signed by the root.
    fn signed(&self, params: CertificateParams) -> Arc<ServerConfig> {
        let key = KeyPair::generate().expect("a key can be made");
        let leaf = self.trusted.sign(&params, &key);
        server(vec![leaf], key.serialize_der())
    }

    /// A good leaf below an issuer that the root has signed; `shown`: the issuer comes along.
    fn below(
        &self,
        issuer: CertificateParams,
        leaf: CertificateParams,
        shown: bool,
    ) -> Arc<ServerConfig> {
        let (middle, key) = (KeyPair::generate(), KeyPair::generate());
        let (middle, key) = (middle.expect("a key"), key.expect("a key"));
        let shown_issuer = self.trusted.sign(&issuer, &middle);
        let signer = Issuer::new(issuer, middle);
        let end = leaf.signed_by(&key, &signer).expect("the issuer can sign").der().clone();
        let chain = if shown { vec![end, shown_issuer] } else { vec![end] };
        server(chain, key.serialize_der())
    }
}

/// A chain of this folder, made by `certificates/make.sh`.
fn kept(chain: &'static [u8]) -> Arc<ServerConfig> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("certificates/server.key"));
    let key = key.expect("a key").secret_der().to_vec();
    server(chain.expect("certificates"), key)
}

struct Case {
    name: &'static str,
    config: Arc<ServerConfig>,
    /// What the answer's text says.
    why: &'static str,
}

const fn case(name: &'static str, config: Arc<ServerConfig>, why: &'static str) -> Case {
    Case { name, config, why }
}

fn cases(signers: &Signers) -> Vec<Case> {
    let mut cases = bad_leaves(signers);
    cases.extend(bad_issuers(signers));
    cases
}

/// Signed by the root, and not good for all that.
fn bad_leaves(signers: &Signers) -> Vec<Case> {
    let spoilt = |spoil: &dyn Fn(&mut CertificateParams)| {
        let mut params = leaf(&["shop.test"]);
        spoil(&mut params);
        signers.signed(params)
    };
    let named = |names: &[&str]| signers.signed(leaf(names));
    let clients = ExtendedKeyUsagePurpose::ClientAuth;
    let old = |it: &mut CertificateParams| it.not_after = date_time_ymd(2020, 1, 1);
    let new = |it: &mut CertificateParams| {
        it.not_before = date_time_ymd(2190, 1, 1);
        it.not_after = date_time_ymd(2191, 1, 1);
    };
    let subject = |it: &mut CertificateParams| {
        it.subject_alt_names.clear();
        it.distinguished_name.push(DnType::CommonName, "shop.test");
    };
    vec![
        case("expired", spoilt(&old), "has expired"),
        case("future", spoilt(&new), "is not valid yet"),
        case("wrong name", named(&["other.test"]), "for other names (other.test)"),
        case("wildcard above", named(&["*.shop.test"]), "for other names (*.shop.test)"),
        case("wildcard too deep", named(&["*.test.test"]), "for other names"),
        case("an address", named(&["127.0.0.1"]), "for other names"),
        case("a common name only", spoilt(&subject), "has no host's name in it"),
        case(
            "for clients",
            spoilt(&|it| it.extended_key_usages = vec![clients.clone()]),
            "not one for servers",
        ),
    ]
}

/// Good, but for who signed them.
fn bad_issuers(signers: &Signers) -> Vec<Case> {
    let alone = |mut params: CertificateParams| {
        params.subject_alt_names = leaf(&["shop.test"]).subject_alt_names;
        let key = KeyPair::generate().expect("a key can be made");
        let own = params.self_signed(&key).expect("valid parameters").der().clone();
        server(vec![own], key.serialize_der())
    };
    let below = |issuer, shown| signers.below(issuer, leaf(&["shop.test"]), shown);
    let name = |name: &str| vec![GeneralSubtree::DnsName(name.into())];
    let constrained = |permitted: &str, excluded: &str| {
        let mut issuer = authority("for some names only");
        let some = |text: &str| if text.is_empty() { vec![] } else { name(text) };
        let constraints = NameConstraints {
            permitted_subtrees: some(permitted),
            excluded_subtrees: some(excluded),
        };
        issuer.name_constraints = Some(constraints);
        below(issuer, true)
    };
    let nobody = "signed by nobody trusted here, or an intermediate is missing";
    let unsafe_now = "signed in a way that is no longer safe";
    let mut plain = authority("no authority");
    plain.is_ca = IsCa::ExplicitNoCa;
    vec![
        case("self-signed", alone(leaf(&[])), nobody),
        case("self-signed authority", alone(authority("itself")), "is an authority's"),
        case("unknown root", Authority::new().certify(&["shop.test"]), "signature is wrong"),
        case("missing intermediate", below(authority("left out"), false), nobody),
        case("issuer that is none", below(plain, true), "is no authority's"),
        case("not permitted", constrained("other.test", ""), "may not sign for this name"),
        case("excluded", constrained("", "shop.test"), "may not sign for this name"),
        case("SHA-1", kept(include_bytes!("certificates/sha1.pem")), unsafe_now),
        case("MD5", kept(include_bytes!("certificates/md5.pem")), unsafe_now),
        case("RSA of 1024 bits", kept(include_bytes!("certificates/short.pem")), "too short"),
    ]
}

fn world() -> (Signers, World, Folder) {
    let (signers, folder) = (Signers { trusted: Authority::new() }, Folder::new());
    let own = std::fs::read_to_string(signers.trusted.file()).expect("it was just written");
    let kept = include_str!("certificates/root.pem");
    let roots = folder.write("roots.pem", &(own + kept));
    let config = format!(
        "tls: {{roots: {}}}\nresolve: {{shop.test: 127.0.0.1}}\npace: {{ladder: [0, 0.05]}}\n\
         retry: {{window: 20s, connect_timeout: 2s, response_timeout: 5s}}\n",
        roots.display()
    );
    let world = World::start(&config);
    (signers, world, folder)
}

fn ask(world: &World, host: &str, port: u16) -> Response {
    let mut client: Client = world.tunnel(&format!("{host}:{port}"));
    client.send(format!("GET /secret HTTP/1.1\r\nHost: {host}\r\nPace-Retry: 0\r\n\r\n"));
    client.response_to("GET").unwrap_or_else(|error| panic!("{host}:{port}: {error}"))
}

/// A 502 of this kind, with the reason in `Proxy-Status` and in the text.
#[track_caller]
fn check(name: &str, answer: &Response, error: &str, why: &str) {
    let text = answer.text();
    assert_eq!(answer.status, 502, "{name}: {text}");
    let said = answer.header("proxy-status").expect("an answer of ours says so");
    assert!(said.starts_with(&format!("pacegate; error={error}; details=\"")), "{name}: {said}");
    assert!(said.contains(why), "{name}: {said}");
    assert!(text.contains(why), "{name}: {text}");
    assert!(text.contains("(target_unavailable)"), "{name}: {text}");
}

#[test]
fn a_certificate_that_does_not_hold_is_a_502_that_says_why_and_nothing_is_sent() {
    let (signers, world, _folder) = world();
    let cases = cases(&signers);
    let count = cases.len();
    for Case { name, config, why } in cases {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let origin = Origin::behind(listener, Some(config));
        let answer = ask(&world, "shop.test", origin.port());
        check(name, &answer, "tls_certificate_error", why);
        assert_eq!(origin.connections(), 1, "{name}: asked once");
        assert!(origin.arrivals().is_empty(), "{name}: {:?}", origin.arrivals());
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let origin = Origin::behind(listener, Some(signers.signed(leaf(&["10.0.0.1", "a.test"]))));
    let answer = ask(&world, "127.0.0.1", origin.port());
    check("another address", &answer, "tls_certificate_error", "for other names");
    assert!(origin.arrivals().is_empty());
    let counted = world.metrics().count("pacegate_attempts_total", &[("class", "tls")]);
    assert_eq!(counted, count as f64 + 1.0);
    assert_eq!(world.metrics().count("pacegate_rung_changes_total", &[]), 0.0, "no climb");
}

#[test]
fn what_is_sound_is_let_through() {
    let (signers, world, _folder) = world();
    let sound = [
        signers.signed(leaf(&["shop.test"])),
        signers.signed(leaf(&["*.test", "shop.test"])),
        signers.below(authority("between"), leaf(&["shop.test"]), true),
        kept(include_bytes!("certificates/good.pem")),
    ];
    for config in sound {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let origin = Origin::behind(listener, Some(config));
        assert_eq!(ask(&world, "shop.test", origin.port()).text(), "unscripted");
    }
}

#[test]
fn tls_insecure_lets_its_host_pass_and_no_other_and_says_so() {
    let signers = Signers { trusted: Authority::new() };
    let config = format!(
        "tls: {{roots: {}, insecure: [shop.test]}}\n\
         resolve: {{shop.test: 127.0.0.1, other.test: 127.0.0.1}}\n",
        signers.trusted.file().display()
    );
    let world = World::start(&config);
    world.await_log(&["shop.test", "tls.insecure", "need not hold"]);
    let expired = || {
        let mut params = leaf(&["shop.test", "other.test"]);
        params.not_after = date_time_ymd(2020, 1, 1);
        signers.signed(params)
    };
    let open = |config| {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        Origin::behind(listener, Some(config))
    };
    let origin = open(expired());
    assert_eq!(ask(&world, "shop.test", origin.port()).text(), "unscripted");
    world.await_log(&["shop.test", "does not hold and is accepted"]);
    assert_eq!(world.metrics().count("pacegate_origin_unverified_total", &[]), 1.0);
    let answer = ask(&world, "other.test", origin.port());
    check("another host", &answer, "tls_certificate_error", "has expired");
    assert_eq!(origin.arrivals().len(), 1);
    // One that holds is nothing to count.
    let sound = open(signers.signed(leaf(&["shop.test"])));
    assert_eq!(ask(&world, "shop.test", sound.port()).text(), "unscripted");
    assert_eq!(world.metrics().count("pacegate_origin_unverified_total", &[]), 1.0);
    // What is too old is too old for everybody.
    let (door, _) = saying(&HELLO_1_1);
    assert_eq!(ask(&world, "shop.test", door.port()).status, 502);
}

#[test]
fn secrets_are_written_down_only_where_both_file_and_setting_say_so() {
    let authority = Authority::new();
    let origin = Origin::https(&authority, &["shop.test"]);
    for (setting, written) in [("", false), (", key_log: true", true)] {
        let folder = Folder::new();
        let secrets = folder.path().join("secrets");
        let roots = authority.file().display();
        let config =
            format!("tls: {{roots: {roots}{setting}}}\nresolve: {{shop.test: 127.0.0.1}}\n");
        let world = World::start_with_variables(&config, &[("SSLKEYLOGFILE", &secrets)]);
        assert_eq!(ask(&world, "shop.test", origin.port()).text(), "unscripted");
        let text = std::fs::read_to_string(&secrets).unwrap_or_default();
        assert_eq!(text.contains("CLIENT_TRAFFIC_SECRET_0"), written, "{setting}: {text}");
        let warned = world.log().iter().any(|line| line.contains("tls.key_log"));
        assert_eq!(warned, written, "{setting}");
    }
}

#[test]
fn a_handshake_that_goes_wrong_is_a_502_that_says_how() {
    let (_signers, world, _folder) = world();
    let protocol = "tls_protocol_error";
    let plain = greeting("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n").port();
    let doors: [(&str, &'static [u8], &str, &str); 6] = [
        ("only TLS 1.1", &HELLO_1_1, protocol, "no version or cipher that is still safe"),
        ("only TLS 1.0", &HELLO_1_0, protocol, "no version or cipher that is still safe"),
        (
            "version refused",
            &[21, 3, 1, 0, 2, 2, 70],
            "tls_alert_received",
            "another version of TLS",
        ),
        ("alert", &[21, 3, 3, 0, 2, 2, 40], "tls_alert_received", "refused the handshake"),
        (
            "half a hello",
            &[22, 3, 3, 0, 80, 2, 0, 0, 76, 3, 3],
            "connection_terminated",
            "while TLS",
        ),
        ("nothing", &[], "connection_terminated", "while TLS was set up"),
    ];
    for (name, bytes, error, why) in doors {
        let (door, heard) = saying(bytes);
        check(name, &ask(&world, "shop.test", door.port()), error, why);
        let heard = heard.lock().expect("no test panicked with it").clone();
        assert!(!heard.windows(7).any(|bytes| bytes == b"/secret"), "{name}");
        assert_eq!(heard.first(), Some(&22), "{name}: a handshake and nothing else");
    }
    check("no TLS", &ask(&world, "shop.test", plain), protocol, "does not speak TLS here");
}

/// A ServerHello that chooses a version, and a suite that existed in it.
const fn hello(minor: u8) -> [u8; 47] {
    let mut hello = [7; 47];
    let start = [22, 3, minor, 0, 42, 2, 0, 0, 38, 3, minor];
    let mut place = 0;
    while place < start.len() {
        hello[place] = start[place];
        place += 1;
    }
    // No session; TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA; no compression.
    hello[43] = 0;
    hello[44] = 0xc0;
    hello[45] = 0x13;
    hello[46] = 0;
    hello
}

const HELLO_1_0: [u8; 47] = hello(1);
const HELLO_1_1: [u8; 47] = hello(2);
