//! Corners where clients and the HTTP library's readers part ways.

use crate::world::answer::Answer;
use crate::world::authority::Authority;
use crate::world::client::Client;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::resolve;
use crate::world::streams::{Streams, block_on, bytes, empty};
use http::{Request, StatusCode, Version};
use std::net::TcpListener;
use std::sync::Arc;

fn shop() -> (Origin, World) {
    let origin = Origin::http();
    let world = World::start(&resolve(&[("shop.test", origin.address())]));
    (origin, world)
}

#[test]
fn a_body_in_broken_chunks_is_the_clients_fault() {
    let (origin, world) = shop();
    let chunks = [
        "zz\r\nbody\r\n0\r\n\r\n",
        "0x4\r\nbody\r\n0\r\n\r\n",
        "-4\r\nbody\r\n0\r\n\r\n",
        "1_0\r\nbody\r\n0\r\n\r\n",
        "ffffffffffffffffff\r\nbody\r\n0\r\n\r\n",
        "4\r\nbodyX\r\n0\r\n\r\n",
        "4;a\nb\r\nbody\r\n0\r\n\r\n",
        "4\r\nbody\r\n0\r\nbad trailer\r\n\r\n",
    ];
    for text in chunks {
        let mut client = world.client();
        client.send(format!(
            "POST http://shop.test/ HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n\
             {text}GET http://shop.test/smuggled HTTP/1.1\r\nHost: shop.test\r\n\r\n"
        ));
        let answer = client.response_to("POST").unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!(answer.status, 400, "{text:?}: {}", answer.text());
        assert_eq!(client.rest().unwrap_or_default(), b"", "{text:?}: closed");
    }
    assert!(origin.arrivals().is_empty(), "{:#?}", origin.arrivals());
    world.await_idle();
    let climbed = world.metrics().count("pacegate_rung_changes_total", &[]);
    assert_eq!(climbed, 0.0, "not the site's");
}

#[test]
fn a_leaf_is_for_the_name_the_handshake_asks_for() {
    let authority = Authority::new();
    let origin = Origin::https(&authority, &["shop.test", "other.test"]);
    let roots = format!("tls: {{roots: {}}}\n", authority.file().display());
    let names = [("shop.test", origin.address()), ("other.test", origin.address())];
    let world = World::start(&(resolve(&names) + &roots));
    let tunnel = |name: &str, protocols: &[&[u8]]| {
        let mut client = world.client();
        assert_eq!(client.connect_to("shop.test:443").status, 200);
        client.secure(name, world.trust_with(protocols))
    };
    let mut client = tunnel("other.test", &[]).expect("a leaf for other.test");
    assert_eq!(client.get_path("other.test", "/").status, 200);
    assert_eq!(origin.await_arrivals(1)[0].headers("host"), ["other.test"]);
    let mut client = tunnel("shop.test", &[b"http/1.0", b"http/1.1"]).expect("a common protocol");
    assert_eq!(client.get_path("shop.test", "/").status, 200);
}

#[test]
fn a_tunnels_requests_may_leave_their_host_out_where_they_may() {
    let (origin, world) = shop();
    let mut client = world.client();
    assert_eq!(client.connect_to("shop.test:80").status, 200);
    client.send("GET /old HTTP/1.0\r\n\r\n");
    assert_eq!(client.response().status, 200);
    assert_eq!(origin.arrivals()[0].headers("host"), ["shop.test"]);
    let mut client = world.client();
    assert_eq!(client.connect_to("shop.test:80").status, 200);
    client.send("OPTIONS * HTTP/1.1\r\nHost: shop.test\r\n\r\n");
    assert_eq!(client.response().status, 200);
    assert_eq!(origin.arrivals()[1].target, "*");
    client.send("GET /x HTTP/1.1\r\n\r\n");
    assert_eq!(client.response().status, 400);
}

#[test]
fn an_answer_with_a_head_too_large_is_a_502_that_says_so() {
    let (origin, world) = shop();
    origin.on("/", [Answer::page("x").header("X-Long", &"x".repeat(70 * 1024))]);
    origin.on("/fits", [Answer::page("x").header("X-Long", &"x".repeat(50 * 1024))]);
    let many = (0..250).fold(Answer::page("x"), |answer, n| answer.header(&format!("X-{n}"), "y"));
    origin.on("/many", [many]);
    let mut client = world.client();
    assert_eq!(client.get("http://shop.test/fits").status, 200);
    for url in ["http://shop.test/", "http://shop.test/many"] {
        let answer = client.get(url);
        assert_eq!(answer.status, 502, "{}", answer.text());
        let line = answer.header("proxy-status").expect("ours");
        assert!(line.contains("http_response_header_section_size"), "{line}");
    }
}

#[test]
fn http2_answers_without_a_body_have_none() {
    let authority = Authority::new();
    let origin = Origin::https(&authority, &["shop.test"]);
    origin.on("/204", [Answer::raw("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n")]);
    origin.on("/304", [Answer::raw("HTTP/1.1 304 Not Modified\r\nContent-Length: 628\r\n\r\n")]);
    origin.on("/hop", [Answer::page("x").header("Connection", "X-Hop").header("X-Hop", "1")]);
    origin.on("/close", [Answer::page("").until_close("page")]);
    let roots = format!("tls: {{roots: {}}}\n", authority.file().display());
    let world = World::start(&(resolve(&[("shop.test", origin.address())]) + &roots));
    block_on(async {
        let mut streams = Streams::open(&world, "shop.test:443").await;
        for (method, path, status, length) in [
            ("GET", "204", 204, 0),
            ("GET", "304", 304, 0),
            ("HEAD", "x", 200, 0),
            ("GET", "hop", 200, 1),
            ("GET", "close", 200, 4),
        ] {
            let url = format!("https://shop.test/{path}");
            let request = Request::builder().method(method).uri(url).body(empty()).unwrap();
            let answer = streams.send(request).await.unwrap_or_else(|e| panic!("{path}: {e:?}"));
            assert_eq!((answer.status().as_u16(), answer.body().len()), (status, length), "{path}");
            assert!(!answer.headers().contains_key("x-hop"));
        }
        let request = Request::builder().method("HEAD").uri("https://shop.test/x");
        let answer = streams.send(request.body(empty()).unwrap()).await.unwrap();
        assert_eq!(answer.headers()["content-length"], "10");
    });
}

/// An origin that speaks HTTP/2 only and answers nobody before two have asked (but for `/warm`); says
/// on which connection.
async fn second_only(authority: &Authority, listener: TcpListener) {
    let mut config = (*authority.certify(&["shop.test"])).clone();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    listener.set_nonblocking(true).expect("a listener takes options");
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
    let both = Arc::new(tokio::sync::Barrier::new(2));
    let mut number = 0;
    while let Ok((socket, _)) = listener.accept().await {
        number += 1;
        let (acceptor, both) = (acceptor.clone(), both.clone());
        tokio::spawn(async move {
            let Ok(tls) = acceptor.accept(socket).await else { return };
            let service =
                hyper::service::service_fn(move |request: Request<hyper::body::Incoming>| {
                    let both = both.clone();
                    async move {
                        if request.uri().path() != "/warm" {
                            both.wait().await;
                        }
                        let text = format!(
                            "{number} {:?} {} {}",
                            request.version(),
                            request.uri(),
                            request.headers().len()
                        );
                        let body = http_body_util::Full::new(bytes::Bytes::from(text));
                        Ok::<_, std::convert::Infallible>(http::Response::new(body))
                    }
                });
            let io = hyper_util::rt::TokioIo::new(tls);
            let executor = hyper_util::rt::TokioExecutor::new();
            hyper::server::conn::http2::Builder::new(executor)
                .serve_connection(io, service)
                .await
                .ok();
        });
    }
}

#[test]
fn an_http2_origin_gets_its_streams_on_one_connection() {
    let authority = Authority::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let roots = format!("tls: {{roots: {}}}\n", authority.file().display());
    let world = World::start(&(resolve(&[("shop.test", address)]) + &roots));
    block_on(async {
        tokio::spawn(async move { second_only(&authority, listener).await });
        let streams = Streams::open(&world, "shop.test:443").await;
        let ask = || streams.begin(Request::get("https://shop.test/p?q").body(empty()).unwrap());
        let warm = Request::get("https://shop.test/warm").body(empty()).unwrap();
        assert_eq!(streams.begin(warm).await.unwrap().status(), StatusCode::OK);
        for _ in 0..3 {
            let (one, two) = tokio::join!(ask(), ask());
            for answer in [one.unwrap(), two.unwrap()] {
                assert_eq!((answer.status(), answer.version()), (StatusCode::OK, Version::HTTP_2));
                let text = String::from_utf8_lossy(answer.body()).into_owned();
                assert_eq!(text, "1 HTTP/2.0 https://shop.test/p?q 0");
            }
        }
        // And HTTP/1.1 clients meet it too, one with a body.
        let second =
            streams.begin(Request::post("https://shop.test/b").body(bytes(&["x"])).unwrap());
        let first = tokio::task::spawn_blocking({
            let (proxy, trust) = (world.proxy(), world.trust());
            move || {
                let mut client = Client::connect(proxy);
                assert_eq!(client.connect_to("shop.test:443").status, 200);
                let mut client = client.secure("shop.test", trust).expect("our certificate");
                client.get_path("shop.test", "/old")
            }
        });
        let (first, second) = tokio::join!(first, second);
        assert_eq!(first.unwrap().text(), "1 HTTP/2.0 https://shop.test/old 0");
        assert!(second.unwrap().body().starts_with(b"1 HTTP/2.0 https://shop.test/b"));
    });
}

#[test]
fn bodies_travel_with_every_method() {
    let (origin, world) = shop();
    origin.decide("/", |arrival| Answer::page(&arrival.body));
    let mut client = world.client();
    for method in ["GET", "DELETE", "OPTIONS", "PATCH", "REPORT"] {
        for framed in [
            "Content-Length: 4\r\n\r\nbody",
            "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
        ] {
            client.send(format!(
                "{method} http://shop.test/ HTTP/1.1\r\nHost: shop.test\r\n{framed}"
            ));
            assert_eq!(client.response().text(), "body", "{method} {framed}");
        }
    }
}

#[test]
fn a_name_is_one_host_however_it_is_spelt() {
    let (origin, world) = shop();
    for name in ["shop.test", "SHOP.test", "shop.test.", "Shop.Test:80"] {
        assert_eq!(world.client().get(&format!("http://{name}/")).status, 200, "{name}");
    }
    assert_eq!(origin.arrivals().len(), 4);
    let served = world.metrics().count("pacegate_requests_total", &[("host", "shop.test")]);
    assert_eq!(served, 4.0, "{}", world.metrics().text());
}

#[test]
fn streams_opened_and_reset_in_masses_leave_nothing_behind() {
    let authority = Authority::new();
    let origin = Origin::https(&authority, &["shop.test"]);
    let roots = format!("tls: {{roots: {}}}\n", authority.file().display());
    let delay = "scopes: {shop.test: {delay: 1h}}\n";
    let world = World::start(&(resolve(&[("shop.test", origin.address())]) + &roots + delay));
    block_on(async {
        for _ in 0..10 {
            let streams = Streams::open(&world, "shop.test:443").await;
            for _ in 0..10 {
                let begun: Vec<_> = (0..20)
                    .map(|_| {
                        let request = Request::get("https://shop.test/").body(empty()).unwrap();
                        tokio::spawn(streams.begin(request))
                    })
                    .collect();
                tokio::task::yield_now().await;
                begun.into_iter().for_each(|stream| stream.abort());
            }
        }
    });
    world.await_idle();
    assert!(!world.log().join("\n").contains("panicked"));
}
