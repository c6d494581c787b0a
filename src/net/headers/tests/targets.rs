//! Rows 1 to 8, 10 to 18, 75, 77 and 92 to 95 of http.md.

use super::map;
use crate::net::headers::target::{Known, RequestTarget, Scheme, Tunnel};
use http::{Method, Uri, Version};

/// What a target came to: `scheme host port authority path`, or the status of its refusal.
fn read(version: Version, line: &str, headers: &str, inside: Option<&Tunnel>) -> String {
    let (method, uri) = line.split_once(' ').expect("a method and a target");
    let method: Method = method.parse().unwrap();
    let uri: Uri = match uri.parse() {
        Ok(uri) => uri,
        Err(_) => return "unparsed".to_owned(),
    };
    match RequestTarget::of(&method, &uri, version, &map(headers), inside, None) {
        Ok(target) => format!(
            "{} {} {} {} {}",
            target.scheme.word(),
            target.host,
            target.port,
            target.authority.to_str().unwrap(),
            Uri::from(target.path),
        ),
        Err(refusal) => {
            assert!(!refusal.detail.is_empty());
            refusal.status.as_str().to_owned()
        }
    }
}

fn tunnel() -> Tunnel {
    let uri: Uri = "shop.test:8443".parse().unwrap();
    Tunnel::of(&uri, &map("Host: shop.test:8443"), Scheme::Https).unwrap()
}

#[track_caller]
fn check(line: &str, headers: &str, want: &str) {
    assert_eq!(read(Version::HTTP_11, line, headers, None), want, "{line} {headers}");
}

#[track_caller]
fn check_inside(version: Version, line: &str, headers: &str, want: &str) {
    assert_eq!(read(version, line, headers, Some(&tunnel())), want, "{line} {headers}");
}

#[test]
fn an_absolute_target_names_the_host_whatever_the_host_field_says() {
    check("GET http://a.test/x?y", "Host: a.test", "http a.test 80 a.test /x?y");
    check("GET http://a.test/x", "Host: evil.test", "http a.test 80 a.test /x");
    check("GET HTTP://A.Test./", "Host: a", "http a.test 80 A.Test. /");
    check("GET http://a.test:8080/", "Host: a", "http a.test 8080 a.test:8080 /");
    check("GET http://a.test:/", "Host: a", "http a.test 80 a.test: /");
    check("GET https://a.test/", "Host: a", "https a.test 443 a.test /");
    check("GET http://[2001:DB8::1]:81/", "Host: a", "http 2001:db8::1 81 [2001:DB8::1]:81 /");
}

#[test]
fn a_path_is_not_touched_and_an_empty_one_is_the_root() {
    check("GET http://a.test/a/../%41//b?", "Host: a", "http a.test 80 a.test /a/../%41//b?");
    check("GET http://a.test", "Host: a", "http a.test 80 a.test /");
    // A fragment, which the URI type drops, leaves it a path of no characters.
    check("GET http://a.test#x", "Host: a", "http a.test 80 a.test /");
    check("GET http://a.test#x", "Host: a.test", "http a.test 80 a.test /");
    check("OPTIONS http://a.test#x", "Host: a", "http a.test 80 a.test *");
    check("GET http://a.test?q=1", "Host: a", "http a.test 80 a.test /?q=1");
    check("OPTIONS http://a.test/", "Host: a", "http a.test 80 a.test /");
    check("OPTIONS http://a.test", "Host: a", "http a.test 80 a.test *");
    check("OPTIONS http://a.test?q", "Host: a", "http a.test 80 a.test /?q");
}

#[test]
fn there_is_one_host_field_and_it_is_valid() {
    check("GET http://a.test/", "", "400");
    check("GET http://a.test/", "Host: a.test|Host: a.test", "400");
    for bad in [
        "",
        "a b",
        "a@b",
        "u:p@a",
        "a,b",
        "a/b",
        "a:b",
        "a:99999",
        "a:0",
        "[::1",
        "a..b",
        "::1",
        "2001:db8::1:443",
    ] {
        check("GET http://a.test/", &format!("Host: {bad}"), "400");
    }
    let without = read(Version::HTTP_10, "GET http://a.test/", "", None);
    assert_eq!(without, "http a.test 80 a.test /");
}

#[test]
fn what_a_proxy_cannot_fetch_is_refused() {
    check("GET /x", "Host: a.test", "400");
    check("OPTIONS *", "Host: a.test", "400");
    check("GET ftp://a.test/", "Host: a.test", "400");
    check("GET a.test:80", "Host: a.test", "400");
    check("GET http://u:p@a.test/", "Host: a.test", "400");
    check("GET http://u@a.test/", "Host: a.test", "400");
    check("GET http://a.test:0/", "Host: a.test", "400");
    check("GET http://2130706433/", "Host: a", "400");
    check("GET http://0x7f.1/", "Host: a", "400");
    check("GET http://a,b/", "Host: a", "400");
}

#[test]
fn a_fragment_never_travels_on() {
    check("GET http://a.test/x#y", "Host: a.test", "http a.test 80 a.test /x");
}

#[test]
fn inside_a_tunnel_the_inner_name_counts() {
    let h1 = Version::HTTP_11;
    check_inside(h1, "GET /x", "Host: shop.test:8443", "https shop.test 8443 shop.test:8443 /x");
    check_inside(h1, "GET /x", "Host: SHOP.test", "https shop.test 8443 SHOP.test /x");
    check_inside(h1, "GET /x", "Host: other.test", "https other.test 443 other.test /x");
    check_inside(h1, "OPTIONS *", "Host: shop.test", "https shop.test 8443 shop.test *");
    check_inside(h1, "GET *", "Host: shop.test", "400");
    check_inside(h1, "GET https://b.test/", "Host: shop.test", "https b.test 443 b.test /");
    check_inside(h1, "GET http://shop.test/", "Host: shop.test", "400");
    check_inside(h1, "GET /x", "", "400");
    let old = "https shop.test 8443 shop.test:8443 /x";
    check_inside(Version::HTTP_10, "GET /x", "", old);
}

#[test]
fn over_http_2_authority_and_host_agree() {
    let h2 = Version::HTTP_2;
    let want = "https shop.test 443 shop.test /";
    check_inside(h2, "GET https://shop.test/", "", want);
    check_inside(h2, "GET https://shop.test/", "Host: SHOP.test:443", want);
    check_inside(h2, "GET https://shop.test/", "Host: evil.test", "400");
    check_inside(h2, "GET https://shop.test/", "Host: shop.test:444", "400");
    check_inside(h2, "GET https://u@shop.test/", "", "400");
    check_inside(h2, "GET http://shop.test/", "", "400");
    check_inside(h2, "GET /x", "Host: shop.test", "https shop.test 8443 shop.test /x");
    assert_eq!(read(h2, "GET /x", "Host: a.test", None), "http a.test 80 a.test /x");
    assert_eq!(read(h2, "GET /x", "", None), "400");
}

#[test]
fn a_connect_is_a_host_and_a_port() {
    let check = |target: &str, headers: &str, want: Result<(&str, u16), u16>| {
        let uri: Uri = target.parse().unwrap();
        let got = Tunnel::of(&uri, &map(headers), Scheme::Https);
        let got = got.as_ref().map(|t| (t.host.as_str(), t.port)).map_err(|r| r.status.as_u16());
        assert_eq!(got, want, "{target}");
    };
    check("Shop.test:443", "", Ok(("shop.test", 443)));
    check("[::1]:8443", "", Ok(("::1", 8443)));
    check("shop.test:443", "Content-Length: 0", Ok(("shop.test", 443)));
    check("shop.test:443", "Content-Length: 5", Err(400));
    check("shop.test:443", "Transfer-Encoding: chunked", Err(400));
    check("shop.test", "", Err(400));
    check("shop.test:0", "", Err(400));
    check("shop.test:", "", Err(400));
    check("u@shop.test:443", "", Err(400));
    check("http://shop.test:443/", "", Err(400));
    check("/x", "", Err(400));
}

proptest::proptest! {
    #[test]
    fn no_target_panics_and_what_passes_is_a_host(text in "[ -~]{0,30}", host in "[ -~]{0,20}") {
        let headers = map(&format!("Host: {}", host.replace('|', "")));
        for text in [format!("http://{text}"), format!("/{text}"), text] {
            let Ok(uri) = text.parse::<Uri>() else { continue };
            for inside in [None, Some(tunnel())] {
                let read = |version| {
                    RequestTarget::of(&Method::GET, &uri, version, &headers, inside.as_ref(), None)
                };
                for version in [Version::HTTP_10, Version::HTTP_11, Version::HTTP_2] {
                    if let Ok(target) = read(version) {
                        let again = crate::pace::scope::Host::parse(target.host.as_str());
                        proptest::prop_assert_eq!(again, Ok(target.host));
                        proptest::prop_assert!(target.port != 0);
                    }
                }
            }
        }
    }
}

#[test]
fn what_was_read_before_changes_no_target() {
    let lines =
        ["GET http://shop.test/", "GET http://shop.test:8080/", "GET https://shop.test/", "GET /"];
    let hosts = ["Host: shop.test", "Host: shop.test:8080", "Host: SHOP.test", "Host: other.test"];
    let all = || lines.iter().flat_map(|line| hosts.iter().map(move |host| (line, host)));
    let read = |line: &str, host: &str, inside: Option<&Tunnel>, known: Option<&Known>| {
        let uri: Uri = line.split_once(' ').unwrap().1.parse().unwrap();
        RequestTarget::of(&Method::GET, &uri, Version::HTTP_11, &map(host), inside, known)
    };
    for inside in [None, Some(tunnel())] {
        for (line, host) in all() {
            let Ok(before) = read(line, host, inside.as_ref(), None) else { continue };
            assert!(before.is(&before.known()));
            for (line, host) in all() {
                let alone = read(line, host, inside.as_ref(), None);
                let after = read(line, host, inside.as_ref(), Some(&before.known()));
                assert_eq!(alone, after, "{line} {host} after {before:?}");
            }
        }
    }
}
