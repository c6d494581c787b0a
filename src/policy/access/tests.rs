//! Spellings of addresses, from the text a client writes to the answer.

use super::*;
use crate::pace::scope::Host;

const OPEN: Option<Special> = None;

/// The text, as the host of a target, is refused as a host (`Err`), or is an address of this kind.
#[track_caller]
fn check(text: &str, want: Result<Option<Special>, ()>) {
    let got = Host::parse(text).map_err(drop).map(|host| {
        let address = host.ip().unwrap_or_else(|| panic!("{text} passes as a name"));
        let to = SocketAddr::new(address, 80);
        let denies = Destinations { deny_private: true, allow: vec![], own: vec![] };
        match denies.check(to) {
            Ok(()) => None,
            Err(Refusal::NotPublic(special)) => Some(special),
            Err(Refusal::OwnListener) => panic!("{text} is no listener"),
        }
    });
    assert_eq!(got, want, "{text}");
}

#[test]
fn public_addresses_are_open() {
    for text in [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "[2606:4700::1111]",
        "[2a00:1450:4001:800::200e]",
        "[64:ff9b::1.1.1.1]",
        "[::ffff:1.1.1.1]",
        "[2001:4860:4860::8888]",
    ] {
        check(text, Ok(OPEN));
    }
}

#[test]
fn everything_that_is_not_public_is_refused_by_its_kind() {
    for (text, kind) in [
        ("0.0.0.0", Special::ThisHost),
        ("0.1.2.3", Special::ThisHost),
        ("[::]", Special::ThisHost),
        ("127.0.0.1", Special::Loopback),
        ("127.0.0.1.", Special::Loopback),
        ("127.255.255.254", Special::Loopback),
        ("[::1]", Special::Loopback),
        ("::1", Special::Loopback),
        ("[0:0:0:0:0:0:0:1]", Special::Loopback),
        ("[::ffff:127.0.0.1]", Special::Loopback),
        ("[::FFFF:7f00:1]", Special::Loopback),
        ("[0:0:0:0:0:ffff:7f00:0001]", Special::Loopback),
        ("[64:ff9b::127.0.0.1]", Special::Loopback),
        ("10.0.0.1", Special::Private),
        ("10.255.255.255", Special::Private),
        ("172.16.0.0", Special::Private),
        ("172.31.255.255", Special::Private),
        ("192.168.1.1", Special::Private),
        ("[::ffff:192.168.1.1]", Special::Private),
        ("[64:ff9b::a00:1]", Special::Private),
        ("[fc00::1]", Special::Private),
        ("[fd12:3456:789a::1]", Special::Private),
        ("[fec0::1]", Special::Private),
        ("[2606:4700::5efe:10.0.0.1]", Special::Private),
        ("[2606:4700::200:5efe:10.0.0.1]", Special::Private),
        ("169.254.169.254", Special::LinkLocal),
        ("169.254.0.1", Special::LinkLocal),
        ("[fe80::1]", Special::LinkLocal),
        ("[febf::1]", Special::LinkLocal),
        ("[::ffff:169.254.169.254]", Special::LinkLocal),
        ("[64:ff9b::169.254.169.254]", Special::LinkLocal),
        ("100.64.0.1", Special::Shared),
        ("100.127.255.255", Special::Shared),
        ("192.0.0.1", Special::Reserved),
        ("192.0.0.192", Special::Reserved),
        ("192.0.2.1", Special::Documentation),
        ("198.51.100.1", Special::Documentation),
        ("203.0.113.1", Special::Documentation),
        ("[2001:db8::1]", Special::Documentation),
        ("[3fff::1]", Special::Documentation),
        ("192.88.99.1", Special::Transition),
        ("198.18.0.1", Special::Benchmark),
        ("198.19.255.255", Special::Benchmark),
        ("[2001:2::1]", Special::Benchmark),
        ("224.0.0.1", Special::Multicast),
        ("239.255.255.255", Special::Multicast),
        ("[ff02::1]", Special::Multicast),
        ("240.0.0.1", Special::Reserved),
        ("255.255.255.255", Special::Reserved),
        ("[100::1]", Special::Reserved),
        ("[2001:10::1]", Special::Reserved),
        ("[2001:20::1]", Special::Reserved),
        ("[5f00::1]", Special::Reserved),
        ("[::127.0.0.1]", Special::Transition),
        ("[::8.8.8.8]", Special::Transition),
        ("[::ffff:0:127.0.0.1]", Special::Transition),
        ("[64:ff9b:1::7f00:1]", Special::Transition),
        ("[2001::1]", Special::Transition),
        ("[2001:0:4136:e378:8000:63bf:3fff:fdd2]", Special::Transition),
        ("[2002:7f00:1::]", Special::Transition),
        ("[2002:a9fe:a9fe::1]", Special::Transition),
    ] {
        check(text, Ok(Some(kind)));
    }
}

#[test]
fn other_spellings_of_an_address_are_no_hosts() {
    for text in [
        "2130706433",
        "017700000001",
        "0x7f000001",
        "0X7F000001",
        "0x7f.1",
        "127.1",
        "127.0.1",
        "0177.0.0.1",
        "127.0.0.01",
        "0x7f.0.0.1",
        "0x7f.0x0.0x0.0x1",
        "0",
        "0x",
        "127.0.0.0x1",
        "256.1.1.1",
        "1.1.1.1.1",
        "127.0.0.1..",
        "[127.0.0.1]",
        "[::1",
        "::1]",
        "[fe80::1%25eth0]",
        "[fe80::1%eth0]",
        "%31%32%37.0.0.1",
        "１２７.0.0.1",
        "127。0。0。1",
        "[::ffff:0x7f.1]",
        "127.0.0.1%00",
        "127.0.0.1 ",
        " 127.0.0.1",
        "+127.0.0.1",
        "127.0.0.1/",
        "[[::1]]",
        "4294967297",
        "a.0x7f",
        "host.123",
        "localhost.1",
    ] {
        check(text, Err(()));
    }
}

#[test]
fn a_name_that_only_looks_numeric_is_a_name() {
    for text in ["1.example", "0x7f.example", "127.0.0.1.example", "1e100.net", "a.0xg", "3com.com"]
    {
        assert_eq!(Host::parse(text).map(|host| host.ip()), Ok(None), "{text}");
    }
}

#[test]
fn what_is_allowed_is_reached_and_without_denying_all_is() {
    let allow = vec!["10.1.0.0/16".parse().unwrap(), "fd00::/8".parse().unwrap()];
    let some = Destinations { deny_private: true, allow, own: vec![] };
    assert_eq!(some.check("10.1.2.3:80".parse().unwrap()), Ok(()));
    assert_eq!(some.check("[::ffff:10.1.2.3]:80".parse().unwrap()), Ok(()));
    assert_eq!(some.check("[fd00::1]:80".parse().unwrap()), Ok(()));
    let denied = Err(Refusal::NotPublic(Special::Private));
    assert_eq!(some.check("10.2.2.3:80".parse().unwrap()), denied);
    let all = Destinations { deny_private: false, allow: vec![], own: vec![] };
    assert_eq!(all.check("127.0.0.1:80".parse().unwrap()), Ok(()));
    for address in LOCALHOST {
        assert_eq!(special(address), Some(Special::Loopback));
    }
}

#[test]
fn our_own_listeners_are_never_a_destination() {
    let check = |own: &str, to: &str, is_own: bool| {
        let own = vec![own.parse().unwrap()];
        let allow = vec!["0.0.0.0/0".parse().unwrap(), "::/0".parse().unwrap()];
        let to: SocketAddr = to.parse().unwrap();
        for deny_private in [false, true] {
            let rules = Destinations { deny_private, allow: allow.clone(), own: own.clone() };
            let want = if is_own { Err(Refusal::OwnListener) } else { Ok(()) };
            assert_eq!(rules.check(to), want, "{own:?} {to}");
        }
    };
    check("127.0.0.1:3128", "127.0.0.1:3128", true);
    check("127.0.0.1:3128", "[::ffff:127.0.0.1]:3128", true);
    check("127.0.0.1:3128", "0.0.0.0:3128", true);
    check("127.0.0.1:3128", "[::]:3128", true);
    check("127.0.0.1:3128", "127.0.0.1:3129", false);
    check("127.0.0.1:3128", "127.0.0.2:3128", false);
    check("0.0.0.0:3128", "127.9.9.9:3128", true);
    check("0.0.0.0:3128", "[::1]:3128", true);
    check("[::]:3128", "127.0.0.1:3128", true);
    check("0.0.0.0:3128", "192.0.2.1:3128", false);
    check("192.0.2.1:3128", "192.0.2.1:3128", true);
    check("192.0.2.1:3128", "0.0.0.0:3128", false);
}

#[test]
fn only_the_admitted_and_this_machine_use_us() {
    let private = Admission::parse(["private", "203.0.113.7", "2001:db8::/32"]).unwrap();
    for (peer, want) in [
        ("127.0.0.1", true),
        ("::1", true),
        ("::ffff:127.0.0.1", true),
        ("10.1.2.3", true),
        ("::ffff:172.20.0.1", true),
        ("192.168.0.1", true),
        ("169.254.1.1", true),
        ("fd00::1", true),
        ("fe80::1", true),
        ("203.0.113.7", true),
        ("2001:db8::1", true),
        ("203.0.113.8", false),
        ("100.64.0.1", false),
        ("8.8.8.8", false),
    ] {
        assert_eq!(private.admits(peer.parse().unwrap()), want, "{peer}");
    }
    let nobody = Admission::parse([]).unwrap();
    assert!(nobody.is_empty() && nobody.admits("127.0.0.1".parse().unwrap()));
    assert!(!nobody.admits("10.0.0.1".parse().unwrap()));
    assert_eq!(Admission::parse(["10.0.0.0/8", "privat"]), Err("privat"));
}
