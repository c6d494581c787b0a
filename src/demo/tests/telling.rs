//! The story on the stand-in, in virtual time.

use crate::clock::Clock;
use crate::demo::draw::Canvas;
use crate::demo::scene::Scene;
use crate::demo::tests::pacer::Pacer;
use crate::demo::{story, table};

#[tokio::test(start_paused = true)]
async fn the_whole_story_comes_out_as_it_is_claimed() {
    let clock = Clock::runtime();
    let mut frames = 0;
    let told = story::tell(Scene::default(), &clock, Pacer::start, |_| frames += 1).await.unwrap();
    let shown = table::whole(&told, Canvas { width: 80, colour: false });
    assert!(told.told(), "{shown}");
    assert!(!shown.contains("not so"), "{shown}");
    assert!(told.runs.iter().all(|run| run.took().is_some_and(|took| took.as_secs() < 20)));
    assert!(frames > 10, "there was something to watch");
}
