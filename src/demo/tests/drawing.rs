//! What the drawing says, as text.

use crate::clock::Tick;
use crate::demo::crawler::{Fetched, Page};
use crate::demo::draw::{Canvas, board, rewind};
use crate::demo::record::{Run, Sample, Story};
use crate::demo::scene::{Allowed, Kind, Scene};
use crate::demo::table;
use crate::demo::visits::Visit;
use std::time::Duration;

const PLAIN: Canvas = Canvas { width: 80, colour: false };

fn at(milliseconds: u64) -> Tick {
    Tick::ZERO + Duration::from_millis(milliseconds)
}

/// A crawl that asked for all its pages at once: when which of them ended, and how.
fn run(kind: Kind, ends: &[(u64, Fetched)]) -> Run {
    let pages = ends.iter().map(|(end, outcome)| Page {
        path: "/".into(),
        began: at(0),
        ended: at(*end),
        outcome: outcome.clone(),
        tries: 1,
    });
    let visits = ends.iter().map(|(end, outcome)| Visit {
        connection: 0,
        path: "/".into(),
        arrived: at(1),
        began: Some(at(1)),
        ended: Some(at(150)),
        left: (*outcome != Fetched::Page).then(|| at(*end)),
        refused: false,
    });
    Run {
        kind,
        time_out: Scene::default().time_out(kind),
        wanted: ends.len(),
        began: at(0),
        ended: ends.last().map(|(end, _)| at(*end)),
        pages: pages.collect(),
        visits: visits.collect(),
        rungs: Vec::new(),
        allowed: Vec::new(),
        client_gone: 0,
        advice: Vec::new(),
    }
}

fn looks(rungs: &[Option<u8>]) -> Vec<Sample> {
    let look =
        |(place, rung): (usize, &Option<u8>)| Sample { at: at(place as u64 * 500), rung: *rung };
    rungs.iter().enumerate().map(look).collect()
}

/// A direct crawl that loses, and a paced one that loses nothing.
fn pair() -> [Run; 2] {
    use Fetched::{Page, TimedOut};
    let direct = run(Kind::Direct, &[(150, Page), (300, Page), (1000, TimedOut), (1000, TimedOut)]);
    let mut paced = run(Kind::Paced, &[(150, Page), (300, Page), (2200, Page), (2300, Page)]);
    paced.rungs = looks(&[None, None, Some(5), Some(4), Some(0), None]);
    paced.allowed =
        [(0, 0), (0, 0), (1, 0), (1, 5)].map(|(ms, rung)| Allowed { at: at(ms), rung }).into();
    [direct, paced]
}

fn story() -> Story {
    use Fetched::{Page, Status, TimedOut};
    let [direct, paced] = pair();
    let unpaced = run(Kind::Unpaced, &[(150, Page), (1200, Status(504))]);
    let mut hasty = run(Kind::Hasty, &[(150, Page), (1000, TimedOut)]);
    hasty.client_gone = 1;
    hasty.advice = vec!["wait longer".into()];
    Story { scene: Scene::default(), runs: [direct, paced, unpaced, hasty] }
}

#[test]
fn crawls_stand_side_by_side_and_time_runs_down() {
    let want = "
                straight to                     pacegate,
                the shop                        client waits
client time-out 1 s                             30 s
                ──────────────────────────────  ──────────────────────────────
    0 s         ██                              ██
    1 s         ××                              ·                           r5
    2 s                                         ██                          r0
                ──────────────────────────────  ──────────────────────────────
pages served    2 of 4                          4 of 4
pages lost      2                               0
took            1 s                             2.3 s
shop asked      4 times                         4 times
for nobody      2 (50 %)                        0 (0 %)
client_gone     –                               0

█ 1 page served   × up to 1 page lost   · waiting   r5 highest rung
";
    let drawn = board(&pair(), PLAIN);
    assert_eq!(drawn, want[1..], "\n{drawn}");
}

#[test]
fn colours_add_nothing_but_colours() {
    let coloured = board(&pair(), Canvas { colour: true, ..PLAIN });
    let mut plain = String::new();
    for part in coloured.split("\x1b[") {
        plain += if plain.is_empty() { part } else { part.split_once('m').unwrap().1 };
    }
    assert_ne!(coloured, plain);
    let trimmed: Vec<&str> = plain.lines().map(str::trim_end).collect();
    assert_eq!(trimmed.join("\n") + "\n", board(&pair(), PLAIN));
}

#[test]
fn nothing_is_wider_than_the_canvas() {
    let mut crowded = story();
    let many = |ms, outcome: &Fetched| vec![(ms, outcome.clone()); 1000];
    let ends = [many(500, &Fetched::Page), many(999, &Fetched::TimedOut)].concat();
    crowded.runs[1] = Run { rungs: looks(&[Some(5); 500]), ..run(Kind::Paced, &ends) };
    crowded.runs[3].advice = vec!["many words ".repeat(40)];
    for width in [0, 80, 100, 132] {
        let shown = table::whole(&crowded, Canvas { width, colour: false });
        let widest = shown.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= width.max(80), "{widest} on {width}\n{shown}");
        let drawn = board(&crowded.runs, Canvas { width, colour: false });
        let widest = drawn.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= width.max(80), "{widest} on {width}\n{drawn}");
    }
}

#[test]
fn a_crawl_that_has_just_begun_can_be_drawn() {
    let mut begun = run(Kind::Paced, &[]);
    begun.wanted = 90;
    let drawn = board(&[begun], PLAIN);
    assert!(drawn.contains("0 of 90") && drawn.contains('…'), "{drawn}");
    assert!(board(&[], PLAIN).contains("pages served"));
    assert_eq!(rewind("a\nb\n"), "\x1b[2A\x1b[J");
}

#[test]
fn the_rung_is_a_line_from_none_to_the_top_and_back() {
    let drawn = table::rungs(&pair(), &Scene::default().ladder, PLAIN);
    assert!(drawn.contains("pacegate, client waits      █▆▁\n"), "{drawn}");
    assert!(drawn.contains("█ rung 5: a start every 3 s"), "{drawn}");
}

#[test]
fn a_story_that_goes_as_told_keeps_every_claim() {
    let story = story();
    assert!(story.told(), "{:#?}", story.claims());
    let shown = table::whole(&story, PLAIN);
    assert!(shown.contains("4 starts, 0 early"), "{shown}");
    assert!(shown.contains("✓ none of 4 starts is early"), "{shown}");
    assert!(shown.contains("pacegate run --"), "{shown}");
}

/// Changes the story and checks which claim breaks.
#[track_caller]
fn check(change: impl FnOnce(&mut Story), broken: &str) {
    let mut story = story();
    change(&mut story);
    let claims = story.claims();
    let lost: Vec<&str> =
        claims.iter().filter(|claim| !claim.kept).map(|claim| claim.says.as_str()).collect();
    assert_eq!(lost, [broken]);
    assert!(table::whole(&story, PLAIN).contains(&format!("✗ not so: {broken}")));
}

#[test]
fn each_claim_breaks_when_it_is_not_so() {
    let served = |run: &mut Run| {
        run.pages.iter_mut().for_each(|page| page.outcome = Fetched::Page);
    };
    check(|story| served(&mut story.runs[0]), "asked directly, the crawler loses 0 pages");
    check(
        |story| story.runs[1].pages[3].outcome = Fetched::Status(504),
        "through the proxy 3 of 4 are served",
    );
    check(|story| story.runs[1].rungs = looks(&[Some(4), None]), "the rung climbs to 4 of 5");
    let back = "it comes back to 0, and afterwards the row is gone";
    check(|story| story.runs[1].rungs = looks(&[Some(5), Some(0)]), back);
    check(|story| story.runs[1].allowed[3].at = at(2), "1 of 4 starts are early");
    check(|story| story.runs[1].allowed.truncate(3), "the gate noted 3 of 4 starts");
    check(|story| served(&mut story.runs[2]), "with pacing off it loses 0 pages");
    let gone = "with the short time-out it leaves before its answer: client_gone 0";
    check(|story| story.runs[3].client_gone = 0, gone);
    check(|story| story.runs[3].advice.clear(), "the log advises a longer time-out");
}
