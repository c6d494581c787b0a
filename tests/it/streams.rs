//! Clients that leave over HTTP/2: one stream is reset, the connection goes on.

use crate::world::answer::{Answer, Then};
use crate::world::authority::Authority;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use bytes::Bytes;
use h2::client::SendRequest;
use http::Request;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

const ATTEMPTS: &str = "pacegate_attempts_total";

/// A site behind TLS, a proxy that trusts it, and a client's HTTP/2 connection through a tunnel.
struct Play {
    origin: Origin,
    world: World,
    runtime: tokio::runtime::Runtime,
    client: SendRequest<Bytes>,
    _authority: Authority,
}

fn play(config: &str) -> Play {
    let authority = Authority::new();
    let origin = Origin::https(&authority, &["shop.localhost"]);
    origin.on("/hang", [Answer::nothing(Then::Hang)]);
    origin.on("/stall", [Answer::status(500)]);
    let roots = authority.file().display();
    let world = World::start(&format!("tls: {{roots: {roots}}}\n{config}"));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let client = runtime.block_on(connect(&world, origin.port()));
    Play { origin, world, runtime, client, _authority: authority }
}

async fn connect(world: &World, port: u16) -> SendRequest<Bytes> {
    let mut socket = TcpStream::connect(world.proxy()).await.expect("the proxy listens");
    let to = format!("shop.localhost:{port}");
    let head = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n");
    socket.write_all(head.as_bytes()).await.expect("it takes a CONNECT");
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(socket.read_u8().await.expect("it answers"));
    }
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{answer:?}");
    let name = "shop.localhost".try_into().expect("a name");
    let connector = TlsConnector::from(world.trust_with(&[b"h2"]));
    let tls = connector.connect(name, socket).await.expect("our leaf is good");
    let (client, connection) = h2::client::handshake(tls).await.expect("HTTP/2");
    tokio::spawn(connection);
    client
}

impl Play {
    /// Sends a request; what resets its stream, and what gives its answer's status.
    fn say(&mut self, path: &str, field: (&str, &str)) -> (h2::SendStream<Bytes>, Answering) {
        let uri = format!("https://shop.localhost:{}{path}", self.origin.port());
        let request = Request::get(uri).header(field.0, field.1).body(()).expect("a request");
        self.runtime.block_on(async {
            self.client = self.client.clone().ready().await.expect("the connection stands");
            let (answer, stream) = self.client.send_request(request, true).expect("a stream");
            (stream, answer)
        })
    }

    fn status(&self, answer: Answering) -> u16 {
        self.runtime.block_on(answer).expect("an answer").status().as_u16()
    }
}

type Answering = h2::client::ResponseFuture;

#[test]
fn a_reset_stream_ends_its_hold_and_no_other() {
    let mut play = play("pace: {ladder: [0, 1.5]}\n");
    let (_, answer) = play.say("/stall", ("pace-retry", "0"));
    assert_eq!(play.status(answer), 500);
    let (mut leaving, _) = play.say("/leaving", ("x-a", "b"));
    let (_stays, stays) = play.say("/stays", ("x-a", "b"));
    play.world.await_held(2);
    leaving.send_reset(h2::Reason::CANCEL);
    play.world.await_held(1);
    play.world.await_metric("pacegate_client_gone_total", &[("phase", "held")], 1.0);
    assert_eq!(play.status(stays), 200);
    assert!(play.origin.arrivals_for("/leaving").is_empty());
    play.world.await_exactly("pacegate_requests_in_flight", &[], 0.0);
}

#[test]
fn a_stream_reset_in_flight_cancels_its_attempt_and_counts_if_the_shop_hung() {
    let mut play = play("retry: {abandoned_after: 400ms}\n");
    for (patience, class, rung) in [(0, "client_gone", 0.0), (500, "abandoned", 1.0)] {
        let (mut leaving, _) = play.say("/hang", ("x-a", "b"));
        play.origin.await_arrivals(1 + usize::from(rung > 0.0));
        std::thread::sleep(Duration::from_millis(patience));
        leaving.send_reset(h2::Reason::CANCEL);
        play.world.await_metric(ATTEMPTS, &[("class", class)], 1.0);
        play.world.await_exactly("pacegate_host_rung", &[("host", "shop.localhost")], rung);
    }
    play.origin.await_departures(2);
    let gone = play.world.metrics().count("pacegate_client_gone_total", &[("phase", "attempt")]);
    assert_eq!(gone, 2.0);
    let (_stream, answer) = play.say("/", ("x-a", "b"));
    assert_eq!(play.status(answer), 200, "the connection goes on");
}
