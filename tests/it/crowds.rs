//! How many connections one address may have (`clients.connections`, http.md A5).

use crate::world::client::Client;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::until;

#[test]
fn an_address_with_its_share_is_told_so_and_comes_in_again_when_one_has_left() {
    let origin = Origin::http();
    let url = origin.url("shop", "/");
    let world = World::start("clients: {connections: 3}\n");
    let mut crowd: Vec<Client> = (0..3).map(|_| world.client()).collect();
    for client in &mut crowd {
        assert_eq!(client.get(&url).status, 200);
    }
    let mut fourth = world.client();
    let answer = fourth.response();
    assert_eq!((answer.status, answer.header("retry-after").as_deref()), (503, Some("5")));
    let why = answer.header("proxy-status").expect("it is ours");
    assert!(why.contains("error=connection_limit_reached"), "{why}");
    assert!(answer.text().contains("`clients.connections`"), "{}", answer.text());
    world.await_log(&["turned away", "clients.connections"]);
    world.await_exactly("pacegate_early_answers_total", &[("kind", "line_full")], 1.0);
    assert_eq!(crowd[0].get(&url).status, 200, "those that are in stay in");
    drop(crowd.pop());
    let served = || {
        let mut client = world.client();
        client.try_send(format!("GET {url} HTTP/1.1\r\nHost: shop\r\n\r\n")).ok()?;
        client.response_to("GET").ok().filter(|answer| answer.status == 200)
    };
    until(served).expect("one has left");
}

#[test]
fn the_programs_of_one_machine_have_no_limit_by_default() {
    let origin = Origin::http();
    let world = World::start_within(256, "");
    let mut crowd: Vec<Client> = (0..190).map(|_| world.client()).collect();
    for client in &mut crowd {
        assert_eq!(client.get(&origin.url("shop", "/")).status, 200);
    }
}
