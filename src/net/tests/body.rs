//! The tee: what is kept, and when it is given up.

use super::world::{Feed, fed, sized};
use crate::net::body::{Budget, Replay};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use http_body::{Body, Frame};
use http_body_util::BodyExt;

fn say(feed: &Feed, text: &'static str) {
    feed.send(Ok(Frame::data(Bytes::from_static(text.as_bytes())))).expect("wanted");
}

async fn all(replay: &Replay) -> String {
    let whole = replay.outgoing().collect().await.expect("whole").to_bytes();
    String::from_utf8(whole.to_vec()).expect("text")
}

#[tokio::test]
async fn what_fits_is_sent_as_often_as_asked() {
    let budget = Budget::new(1000);
    let (feed, replay) = fed(100, &budget);
    assert!(replay.untouched() && replay.repeatable());
    say(&feed, "one ");
    say(&feed, "two");
    drop(feed);
    assert_eq!(all(&replay).await, "one two");
    assert!(!replay.untouched() && replay.repeatable());
    assert_eq!(all(&replay).await, "one two");
    assert_eq!(budget.left(), 993);
    drop(replay);
    assert_eq!(budget.left(), 1000);
}

#[tokio::test]
async fn what_is_over_the_cap_is_sent_once_and_not_kept() {
    let budget = Budget::new(1000);
    let (feed, replay) = fed(5, &budget);
    say(&feed, "one ");
    say(&feed, "two");
    drop(feed);
    assert_eq!(all(&replay).await, "one two");
    assert!(!replay.repeatable());
    assert_eq!(budget.left(), 1000);
}

#[tokio::test]
async fn all_bodies_together_keep_no_more_than_the_budget() {
    let budget = Budget::new(5);
    let (feed, first) = fed(100, &budget);
    say(&feed, "1234");
    drop(feed);
    let (feed, second) = fed(100, &budget);
    say(&feed, "12");
    drop(feed);
    assert_eq!((all(&first).await.len(), all(&second).await.len()), (4, 2));
    assert_eq!((first.repeatable(), second.repeatable()), (true, false));
    drop((first, second));
    assert_eq!(budget.left(), 5);
}

#[tokio::test]
async fn a_known_length_stays_known_and_is_not_kept_in_vain() {
    let replay = sized(10, 100);
    let mut body = replay.outgoing();
    assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(10), false));
    body.frame().await.expect("frame").expect("data");
    assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(0), true));
    assert_eq!(replay.outgoing().size_hint().exact(), Some(10));
    let large = sized(101, 100);
    assert!(large.repeatable(), "nothing was read yet");
    large.outgoing().frame().await.expect("frame").expect("data");
    assert!(!large.repeatable());
}

#[tokio::test]
async fn no_body_is_at_its_end() {
    let none = Replay::new(http_body_util::Empty::<Bytes>::new(), 9, &Budget::new(9));
    assert!(none.is_none() && none.repeatable() && none.untouched());
    let mut body = none.outgoing();
    assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(0), true));
    assert!(body.frame().await.is_none());
}

#[tokio::test]
async fn an_attempt_that_was_given_up_reads_no_more() {
    let (feed, replay) = fed(100, &Budget::new(100));
    say(&feed, "one");
    let mut first = replay.outgoing();
    first.frame().await.expect("frame").expect("data");
    let mut second = replay.outgoing();
    say(&feed, "two");
    first.frame().await.expect("frame").expect_err("given up");
    assert_eq!(second.frame().await.expect("frame").expect("data").data_ref().unwrap(), "one");
    assert_eq!(second.frame().await.expect("frame").expect("data").data_ref().unwrap(), "two");
}

#[tokio::test]
async fn trailers_are_sent_again_too() {
    let (feed, replay) = fed(100, &Budget::new(100));
    say(&feed, "one");
    let mut trailers = HeaderMap::new();
    trailers.insert("x-sum", HeaderValue::from_static("1"));
    feed.send(Ok(Frame::trailers(trailers.clone()))).expect("wanted");
    for _ in 0..2 {
        let whole = replay.outgoing().collect().await.expect("whole");
        assert_eq!(whole.trailers(), Some(&trailers));
        assert_eq!(whole.to_bytes(), "one");
    }
}

#[tokio::test]
async fn a_client_that_breaks_off_is_told_apart() {
    let (feed, replay) = fed(100, &Budget::new(100));
    say(&feed, "one");
    feed.send(Err(std::io::ErrorKind::UnexpectedEof.into())).expect("wanted");
    replay.outgoing().collect().await.expect_err("broke");
    assert!(replay.broke() && !replay.repeatable());
}
