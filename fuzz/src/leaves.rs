//! Names that ask for certificates: the text of a host or an SNI, or a whole ClientHello.
//!
//! Input: a byte of flags; then a name, or TLS records and how they are split.

use pacegate::ca::keyring::Keyring;
use pacegate::ca::leaf::Leaf;
use pacegate::ca::root::Root;
use pacegate::clock::Clock;
use pacegate::pace::scope::Host;
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256};
use rustls::server::Acceptor;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

pub fn body(data: &[u8]) {
    match data {
        [flags, step, records @ ..] if flags & 1 == 1 => hello(records, usize::from(*step) + 1),
        [_, name @ ..] => named(name),
        [] => {}
    }
}

/// What is made once.
struct Authority {
    root: Root,
    key: KeyPair,
    keyring: Keyring,
    connected: Host,
    now: SystemTime,
}

static AUTHORITY: LazyLock<Authority> = LazyLock::new(|| {
    let (clock, _) = Clock::by_hand();
    let now = clock.wall();
    let root = || Root::generate(now).expect("a CA");
    Authority {
        root: root(),
        key: KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).expect("a key"),
        keyring: Keyring::new(root(), clock).expect("a keyring"),
        connected: Host::parse("shop.test").expect("a host"),
        now,
    }
});

/// Whatever name is said, there is a set-up; and a leaf for a host is for that host.
fn named(name: &[u8]) {
    let authority = &*AUTHORITY;
    let text = String::from_utf8_lossy(name);
    let config = authority.keyring.accept_config(&authority.connected, Some(&text));
    let config = config.expect("a set-up");
    assert!(authority.keyring.kept() <= Keyring::MOST);
    let Ok(host) = Host::parse(&text) else {
        let plain = authority.keyring.accept_config(&authority.connected, None);
        return assert!(Arc::ptr_eq(&config, &plain.expect("a set-up")));
    };
    let Authority { root, key, now, .. } = authority;
    let leaf = Leaf::mint(&host, root, key, *now).expect("a leaf");
    assert!(leaf.usable_from < leaf.renew_at && *now < leaf.renew_at);
    assert!(leaf.renew_at.duration_since(*now).is_ok_and(|life| life < LONGEST));
    let (rest, certificate) = X509Certificate::from_der(&leaf.certificate).expect("a certificate");
    assert!(rest.is_empty() && !certificate.is_ca());
    let names = certificate.subject_alternative_name().expect("well formed").expect("there");
    let [name] = &names.value.general_names[..] else { panic!("one name: {:?}", names.value) };
    match (name, host.ip()) {
        (GeneralName::DNSName(name), None) => assert_eq!(*name, host.as_str()),
        (GeneralName::IPAddress(bytes), Some(address)) => {
            let octets = match address {
                std::net::IpAddr::V4(address) => address.octets().to_vec(),
                std::net::IpAddr::V6(address) => address.octets().to_vec(),
            };
            assert_eq!(*bytes, octets);
        }
        (name, address) => panic!("{name:?} for {address:?}"),
    }
}

/// As `flow::intercept` does it, without a socket.
fn hello(mut records: &[u8], step: usize) {
    let mut acceptor = Acceptor::default();
    while !records.is_empty() {
        let mut piece = &records[..step.min(records.len())];
        let Ok(count @ 1..) = acceptor.read_tls(&mut piece) else { return };
        records = &records[count..];
        match acceptor.accept() {
            Ok(None) => {}
            Err(_) => return,
            Ok(Some(accepted)) => {
                let authority = &*AUTHORITY;
                let hello = accepted.client_hello();
                let name = hello.server_name();
                let config = authority.keyring.accept_config(&authority.connected, name);
                drop(accepted.into_connection(config.expect("a set-up")));
                return;
            }
        }
    }
}

/// Leaves live for 30 days.
const LONGEST: Duration = Duration::from_secs(30 * 86_400);
