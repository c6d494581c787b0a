//! `warn.held`: a line when more wait than anybody expected, once each time.

use crate::world::client::Client;
use crate::world::origin::Origin;
use crate::world::proxy::World;

fn lines(world: &World) -> usize {
    world.log().iter().filter(|line| line.contains("more requests wait than warn.held")).count()
}

/// So many that wait, and go.
fn crowd(world: &World, origin: &Origin, count: usize) {
    let mut waiting: Vec<Client> = Vec::new();
    for already in 1..=count {
        let mut client = world.client();
        client.say("GET", &origin.url("shop", "/page"), "", "");
        world.await_held(already);
        waiting.push(client);
    }
    waiting.into_iter().for_each(Client::reset);
    world.await_held(0);
}

#[test]
fn a_crowd_that_waits_is_said_once_each_time_it_comes() {
    let origin = Origin::http();
    for limit in [1, 4] {
        let world = World::start(&format!("warn: {{held: {limit}}}\n"));
        world.await_held(0);
        let host = world.admin();
        let target = "/api/hosts/shop.localhost/pause?seconds=500";
        let mut client = Client::connect(host);
        client.send(format!("POST {target} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert_eq!(client.response().status, 200);
        crowd(&world, &origin, limit);
        assert_eq!(lines(&world), 0, "as many as may wait");
        crowd(&world, &origin, limit + 4);
        world.await_log(&["more requests wait than warn.held", &format!("\"limit\":{limit}")]);
        assert_eq!(lines(&world), 1);
        crowd(&world, &origin, limit + 4);
        assert_eq!(lines(&world), 2);
    }
}
