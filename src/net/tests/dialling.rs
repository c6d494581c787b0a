//! Names, addresses, and the race between them.

use super::world::{fetch, get, ok, origin, pool_with, reach, send, target};
use crate::judge::outcome::{FaultKind, Sent};
use crate::net::race::race;
use crate::net::settings::Override;
use crate::net::target::Target;
use crate::pace::scope::Host;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::net::TcpListener;

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn named(name: &str, port: u16) -> Target {
    Target { secure: false, host: Host::parse(name).expect("host"), port }
}

#[tokio::test]
async fn overridden_and_loopback_names_ask_no_resolver() {
    let shop = origin(|peer| peer.always(HELLO)).await;
    let mut reach = reach();
    let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let elsewhere = Override { address: here, port: Some(shop.port) };
    reach.resolve.names.insert(Host::parse("shop.test").expect("host"), elsewhere);
    let pool = pool_with(&reach);
    assert_eq!(fetch(&pool, &named("shop.test", 80), &get()).await, ok(200, "hello", false));
    let local = named("a.localhost", shop.port);
    assert_eq!(fetch(&pool, &local, &get()).await, ok(200, "hello", false));
}

#[tokio::test]
async fn what_may_not_be_reached_is_not_connected_to() {
    let shop = origin(|peer| peer.always(HELLO)).await;
    let mut reach = reach();
    reach.destinations.deny_private = true;
    for name in ["127.0.0.1", "shop.localhost"] {
        let to = named(name, shop.port);
        let fault = fetch(&pool_with(&reach), &to, &get()).await.expect_err("private");
        assert!(matches!(fault.kind, FaultKind::Prohibited(_)), "{fault:?}");
        assert_eq!(fault.sent, Sent::Nothing);
    }
    reach.destinations.allow = vec!["127.0.0.0/8".parse().expect("network")];
    fetch(&pool_with(&reach), &target(shop.port), &get()).await.expect("allowed");
    assert_eq!(shop.connections(), 1);
}

#[tokio::test]
async fn our_own_listener_is_no_destination_however_it_is_named() {
    let shop = origin(|peer| peer.always(HELLO)).await;
    for own in ["127.0.0.1", "0.0.0.0"] {
        let mut reach = reach();
        reach.destinations.own = vec![SocketAddr::new(own.parse().expect("ip"), shop.port)];
        for name in ["127.0.0.1", "self.localhost", "0.0.0.0"] {
            let fault = fetch(&pool_with(&reach), &named(name, shop.port), &get()).await;
            assert_eq!(fault.expect_err(name).kind, FaultKind::OwnListener, "{name} on {own}");
        }
    }
    assert_eq!(shop.requests(), 0);
}

/// A listener nobody accepts from, with its queue full: what is sent to it is dropped.
async fn black_hole() -> (SocketAddr, Vec<tokio::task::JoinHandle<()>>, socket2::Socket) {
    let address: SocketAddr = "127.0.0.1:0".parse().expect("address");
    let socket =
        socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("socket");
    socket.bind(&address.into()).expect("bind");
    socket.listen(0).expect("listen");
    let address = socket.local_addr().expect("address").as_socket().expect("inet");
    let fill = (0..3).map(|_| {
        tokio::spawn(async move {
            if let Ok(stream) = tokio::net::TcpStream::connect(address).await {
                std::future::pending::<()>().await;
                drop(stream);
            }
        })
    });
    let fill = fill.collect();
    tokio::time::sleep(Duration::from_millis(30)).await;
    (address, fill, socket)
}

#[tokio::test]
async fn a_dead_address_costs_a_quarter_of_a_second() {
    let (dead, _fill, _socket) = black_hole().await;
    let alive = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let address = alive.local_addr().expect("address");
    let began = crate::clock::Clock::runtime();
    let start = began.now();
    let stream = race(vec![dead, address], None).await.expect("the other one");
    let took = began.now().since(start);
    assert_eq!(stream.peer_addr().expect("peer"), address);
    assert!(took >= Duration::from_millis(250) && took < Duration::from_secs(2), "{took:?}");
    assert!(stream.nodelay().expect("option"));
}

#[tokio::test]
async fn a_refusal_is_followed_by_the_next_address_at_once() {
    let gone = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let refusing = gone.local_addr().expect("address");
    drop(gone);
    let alive = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let address = alive.local_addr().expect("address");
    let clock = crate::clock::Clock::runtime();
    let start = clock.now();
    race(vec![refusing, address], None).await.expect("the other one");
    assert!(clock.now().since(start) < Duration::from_secs(2));
    let error = race(vec![refusing], None).await.expect_err("nobody");
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn a_connection_that_does_not_come_about_in_time_is_a_connect_timeout() {
    let (dead, _fill, _socket) = black_hole().await;
    let mut reach = reach();
    reach.connect_timeout = Duration::from_millis(100);
    let fault = send(&pool_with(&reach), &target(dead.port()), &get()).await.expect_err("dead");
    assert_eq!((fault.kind, fault.sent), (FaultKind::ConnectTimeout, Sent::Nothing));
}
