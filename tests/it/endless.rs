//! What never ends by itself: interim answers, bodies in drips, clients and connections that have
//! gone quiet. None of it may keep a request, a slot or anybody else for good.

use crate::world::answer::Answer;
use crate::world::origin::Origin;
use crate::world::proxy::World;

#[test]
fn interim_answers_without_end_are_no_answer() {
    let flood = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(200_000);
    let origin = Origin::http();
    origin.on("/flood", [Answer::page("late").interim(&flood)]);
    origin.on("/few", [Answer::page("soon").interim(&flood[..41 * 2000])]);
    let world = World::start("");
    for (method, fields) in [("GET", ""), ("POST", ""), ("GET", UPGRADE)] {
        let answer = world.ask(method, &origin.url("shop", "/flood"), fields, "");
        let status = answer.header("proxy-status").unwrap_or_default();
        assert_eq!(answer.status, 502, "{method}: {}", answer.text());
        assert!(status.contains("http_protocol_error") && status.contains("interim"), "{status}");
    }
    assert_eq!(origin.arrivals_for("/flood").len(), 3, "nothing is repeated");
    let few = world.get(&origin.url("shop", "/few"));
    assert_eq!((few.status, few.text().as_str()), (200, "soon"));
}

const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
