//! Rows 75 to 85: CONNECT and what goes through it.

use crate::play::{Cannot, Play};
use crate::world::client::Client;
use crate::world::door::closed_port;
use crate::world::{PATIENCE, until};
use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::panic::panic_any;

rows! {
    row_075 "RFC 9112 §3.2.3" "CONNECT is for host:port: no path, user, port 0 or missing port"
        met [connect_takes_host_and_port];
    row_076 "RFC 9110 §9.3.6" "a 2xx to CONNECT has no Content-Length and no Transfer-Encoding"
        met [a_tunnels_200_is_bare];
    row_077 "RFC 9110 §9.3.6" "content sent with CONNECT is the tunnel's, never a body"
        deviates(ConnectBody, [a_connect_with_a_body_is_refused, bytes_behind_connect_are_the_tunnels])
        [a_connects_length_is_ignored];
    row_078 "RFC 9110 §9.3.6" "ports like 25 are denied before any connect: 403"
        deviates(ConnectPorts, [port_25_is_denied]) [port_25_is_denied];
    row_079 "RFC 9110 §9.3.6" "a tunnel that can't be: an answer on the CONNECT or to the first request"
        met [a_dead_end_is_told];
    row_080 "RFC 9110 §9.3.6" "a blind tunnel flushes what the closing side sent; half-closes work"
        met [half_closes_work];
    row_081 "RFC 8446 §5.1" "a ClientHello that comes byte by byte is still seen as TLS"
        met [a_hello_in_drops_is_a_hello];
    row_082 "RFC 9110 §15.5.9" "a client that never finishes its ClientHello is closed within 20 s"
        met [a_silent_tunnel_ends];
    row_083 "RFC 9110 §11.7" "credentials for the proxy end at it, in the open and inside tunnels"
        met [credentials_end_here];
    row_084 "RFC 9113 §8.5" "CONNECT over HTTP/2: refused on its stream, or reset if TCP fails"
        met [connect_over_http2_is_refused];
    row_085 "RFC 8441 §3" "extended CONNECT is announced only if it is bridged"
        met [extended_connect_is_not_announced];
}

fn connect_takes_host_and_port(play: &Play) {
    for target in [
        "localhost",
        "localhost:",
        "localhost:0",
        "localhost:65536",
        "localhost:x",
        "u@localhost:443",
        "http://localhost:443",
        "localhost:443/path",
        "/",
        ":443",
    ] {
        let said = play.say(format!("CONNECT {target} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        let status = said.answer().status;
        assert_eq!(status, 400, "CONNECT {target}");
    }
}

fn a_tunnels_200_is_bare(play: &Play) {
    let mut client = play.client();
    let answer = client.connect_to(&play.safe_host());
    assert_eq!(answer.status, 200);
    for name in ["content-length", "transfer-encoding"] {
        assert_eq!(answer.header(name), None, "{name}");
    }
    // Nor has an old client's.
    let said = play.say("CONNECT {safe} HTTP/1.0\r\n\r\n");
    assert_eq!(said.answer().status, 200);
    assert_eq!(said.answer().header("content-length"), None);
}

fn bytes_behind_connect_are_the_tunnels(play: &Play) {
    // The first request comes in one piece with the CONNECT.
    let mut client = play.client();
    client.send(play.fill(
        "CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\nGET /inside HTTP/1.1\r\nHost: {host}\r\n\r\n",
    ));
    assert_eq!(client.response_to("CONNECT").expect("an answer").status, 200);
    assert_eq!(client.response().text(), "unscripted");
    assert_eq!(play.arrival().target, "/inside");
}

/// A tunnel whose CONNECT announced so many bytes: they are the first of the tunnel.
fn a_connects_length_is_ignored(play: &Play) {
    let mut client = play.client();
    assert_eq!(client.connect_to(&play.host()).status, 200);
    client.send(play.fill("GET /inside HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    if client.response_to("GET").is_err() {
        panic_any(Cannot(ONLY_TLS));
    }
    let mut client = play.client();
    let inside = play.fill("GET /inside HTTP/1.1\r\nHost: {host}\r\n\r\n");
    client.send(play.fill(format!(
        "CONNECT {{host}} HTTP/1.1\r\nHost: {{host}}\r\nContent-Length: {}\r\n\r\n",
        inside.len()
    )));
    client.send(inside);
    assert_eq!(client.response_to("CONNECT").expect("an answer").status, 200);
    assert_eq!(client.response().text(), "unscripted");
}

fn a_connect_with_a_body_is_refused(play: &Play) {
    for field in ["Content-Length: 4", "Transfer-Encoding: chunked"] {
        let said =
            play.say(format!("CONNECT {{host}} HTTP/1.1\r\nHost: {{host}}\r\n{field}\r\n\r\nbody"));
        assert_eq!(said.answer().status, 400, "{field}");
    }
    // No body at all is none.
    let said = play.say("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(said.answer().status, 200);
}

fn port_25_is_denied(play: &Play) {
    let mut client = play.client();
    assert_eq!(client.connect_to("localhost:25").status, 403);
}

fn a_dead_end_is_told(play: &Play) {
    let shut = format!("localhost:{}", closed_port().port());
    let mut client = play.client();
    let answer = client.connect_to(&shut);
    if answer.status == 200 {
        let mut client =
            client.secure("localhost", play.trust(&[b"http/1.1"])).expect("a handshake");
        let status = client.get_path(&shut, "/").status;
        assert!((502..=504).contains(&status), "answered {status} inside");
    } else {
        assert!((502..=504).contains(&answer.status), "answered {}", answer.status);
    }
}

/// A server that reads all, and says how much that was once the other side is done.
fn counting() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener.local_addr().expect("a bound socket has an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let count = std::io::copy(&mut stream, &mut std::io::sink()).unwrap_or(0);
                stream.write_all(format!("{count} bytes\n").as_bytes()).ok();
                stream.shutdown(Shutdown::Write).ok();
            });
        }
    });
    address
}

const ONLY_TLS: &str = "it tunnels nothing but TLS";

fn half_closes_work(play: &Play) {
    let server = counting();
    let mut client = play.client();
    assert_eq!(client.connect_to(&format!("localhost:{}", server.port())).status, 200);
    // No TLS and no HTTP.
    client.send(vec![0; 300_000]);
    client.finish();
    let rest = client.rest().unwrap_or_default();
    if rest.is_empty() && !play.is_ours() {
        panic_any(Cannot(ONLY_TLS));
    }
    assert_eq!(String::from_utf8_lossy(&rest), "300000 bytes\n");
}

fn a_hello_in_drops_is_a_hello(play: &Play) {
    let mut client = play.client();
    assert_eq!(client.connect_to(&play.safe_host()).status, 200);
    let trust = play.trust(&[b"http/1.1"]);
    let mut client =
        client.secure_in_drops("localhost", trust).expect("the proxy's own certificate");
    assert_eq!(client.get_path(&play.safe_host(), "/").text(), "unscripted");
}

fn a_silent_tunnel_ends(play: &Play) {
    // Half a ClientHello: it is TLS, and it never goes on.
    let mut client: Client = play.client();
    assert_eq!(client.connect_to(&play.safe_host()).status, 200);
    client.send([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]);
    match client.rest() {
        Ok(_) => {}
        Err(error) => {
            let waits = error.kind() == std::io::ErrorKind::WouldBlock;
            assert!(!waits, "it is open after {PATIENCE:?}");
        }
    }
}

fn credentials_end_here(play: &Play) {
    let user = "Proxy-Authorization: Basic dXNlcjpzZWNyZXQ=\r\n";
    let get = format!("GET http://{{host}}/ HTTP/1.1\r\nHost: {{host}}\r\n{user}\r\n");
    assert_eq!(play.ask(get).status, 200);
    assert_eq!(play.arrival().header("proxy-authorization"), None, "in the open");
    let mut client = play.client();
    let safe = play.safe_host();
    client.send(format!("CONNECT {safe} HTTP/1.1\r\nHost: {safe}\r\n{user}\r\n"));
    assert_eq!(client.response_to("CONNECT").expect("an answer").status, 200);
    let mut client = client.secure("localhost", play.trust(&[b"http/1.1"])).expect("a handshake");
    client.send(format!("GET / HTTP/1.1\r\nHost: {safe}\r\n{user}\r\n"));
    assert_eq!(client.response().status, 200);
    let arrivals = until(|| Some(play.safe.arrivals()).filter(|all| !all.is_empty()));
    let arrival = arrivals.expect("it came").remove(0);
    assert_eq!(arrival.header("proxy-authorization"), None, "inside the tunnel");
}

fn connect_over_http2_is_refused(play: &Play) {
    let mut frames = play.frames();
    let shut = format!("localhost:{}", closed_port().port());
    frames.head(1, &[(":method", "CONNECT"), (":authority", &shut)], false);
    let fate = frames.fate(1);
    assert_ne!(fate, crate::frames::Fate::Answered(200), "a tunnel to nowhere");
    // With a scheme or a path it isn't one.
    let mut frames = play.frames();
    let host = play.safe_host();
    let fields =
        [(":method", "CONNECT"), (":scheme", "https"), (":path", "/"), (":authority", &host)];
    frames.head(1, &fields, false);
    assert_ne!(frames.fate(1), crate::frames::Fate::Answered(200), "a CONNECT with a path");
}

fn extended_connect_is_not_announced(play: &Play) {
    const ENABLE_CONNECT_PROTOCOL: u16 = 8;
    let mut frames = play.frames();
    let announced = frames.settings.contains(&(ENABLE_CONNECT_PROTOCOL, 1));
    let host = play.safe_host();
    let fields = [
        (":method", "CONNECT"),
        (":protocol", "websocket"),
        (":scheme", "https"),
        (":path", "/chat"),
        (":authority", &host),
    ];
    frames.head(1, &fields, false);
    let bridged = frames.fate(1) == crate::frames::Fate::Answered(200);
    assert!(announced || !bridged, "bridged though not announced");
    assert!(!announced || bridged, "announced and not bridged");
}
