//! How requests are counted whose answer goes out while it arrives.

use crate::world::answer::Answer;
use crate::world::origin::Origin;
use crate::world::proxy::World;

#[track_caller]
fn check(config: &str, size: usize) {
    let origin = Origin::http();
    origin.on("/page", [Answer::page("x".repeat(size))]);
    let world = World::start(config);
    let answer = world.get(&origin.url("shop", "/page"));
    assert_eq!((answer.status, answer.body.len()), (200, size));
    world.await_metric("pacegate_requests_total", &[("outcome", "served")], 1.0);
    assert_eq!(world.metrics().sum("pacegate_client_gone_total", &[]), Some(0.0));
}

#[test]
fn an_answer_passed_on_whole_without_pacing_is_served() {
    check("preset: off", 5);
}

#[test]
fn an_answer_too_large_to_be_read_first_is_served() {
    check("limits: {response_buffer: 1KiB}", 300_000);
}
