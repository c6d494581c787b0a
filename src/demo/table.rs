//! The rest of what is shown: the rung over time, the shop's log beside the gate's, what the story
//! claims, and what to do next.
//!
//! Pure, like the drawing. Must not print.

use crate::clock::Tick;
use crate::demo::draw::{self, Canvas, Ink};
use crate::demo::record::{Run, Start, Story};
use crate::demo::scene::{Kind, Scene};
use crate::pace::rules::Ladder;
use std::time::Duration;

/// What the demonstration says before it begins.
pub fn opening(scene: &Scene) -> String {
    let paces: Vec<String> =
        scene.ladder.paces().iter().map(|pace| pace.as_secs_f64().to_string()).collect();
    format!(
        "A shop with {} workers, {} a page, that accepts everything, hangs when it is\n\
         full and goes on working for clients that left. A crawler that wants {} pages,\n\
         {} at once. The same four times, each with a shop of its own.\n\
         Scaled down: ladder {} s, attempts of {}, window {}.\n",
        scene.trade.workers,
        draw::seconds(scene.trade.service),
        scene.pages,
        scene.at_once,
        paces.join(", "),
        draw::seconds(scene.response_timeout),
        draw::seconds(scene.patience),
    )
}

/// Everything there is to show once the story is told, after the [`opening`].
pub fn whole(story: &Story, canvas: Canvas) -> String {
    let paced = story.run(Kind::Paced);
    let parts = [
        draw::board(&story.runs, canvas),
        rungs(&story.runs, &story.scene.ladder, canvas),
        starts(paced, canvas),
        advice(story.run(Kind::Hasty), canvas),
        claims(story, canvas),
        next_steps(canvas),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The rung over time, a line for each crawl that had one.
pub fn rungs(runs: &[Run], ladder: &Ladder, canvas: Canvas) -> String {
    let mut lines = vec![heading("The rung over time", canvas)];
    let drawn: Vec<(&Run, Vec<Option<u8>>)> =
        runs.iter().filter(|run| run.top().is_some()).map(|run| (run, looks(run))).collect();
    let longest = drawn.iter().map(|(_, looks)| looks.len()).max().unwrap_or(0);
    // One scale of time for all.
    let stretch = longest.div_ceil(canvas.columns() - TITLE - 2).max(1);
    for (run, looks) in drawn {
        let title = run.kind.title().join(" ");
        let line = sparkline(&looks, stretch, ladder.top());
        lines.push(format!("  {title:<TITLE$}{}", Ink::Rung.paint(line.trim_end(), canvas)));
    }
    let top = draw::seconds(ladder.pace(ladder.top()));
    let level = ladder.top();
    lines.push(format!("  ▁ rung 0   █ rung {level}: a start every {top}   blank: no row"));
    lines.join("\n") + "\n"
}

/// What was seen of the rung while the crawl lasted.
fn looks(run: &Run) -> Vec<Option<u8>> {
    let during = run.rungs.iter().filter(|look| run.ended.is_none_or(|end| look.at <= end));
    during.map(|look| look.rung).collect()
}

/// A character for so many looks at the rung: the highest of them.
fn sparkline(looks: &[Option<u8>], stretch: usize, top: u8) -> String {
    let highest = looks.chunks(stretch).map(|stretch| stretch.iter().copied().flatten().max());
    let level =
        |rung: u8| usize::from(rung.min(top)) * (LEVELS.len() - 1) / usize::from(top.max(1));
    highest.map(|rung| rung.map_or(' ', |rung| LEVELS[level(rung)])).collect()
}

/// The shop's log beside the gate's: the first starts that were held back, and a sum of all.
fn starts(run: &Run, canvas: Canvas) -> String {
    let starts = run.starts();
    if starts.is_empty() {
        return String::new();
    }
    let late = |start: &Start| start.arrived.since(start.allowed.at);
    let moment = |at: Tick| format!("{:.4} s", at.since(run.began).as_secs_f64());
    let mut lines = vec![
        heading("The shop's log beside the gate's (pacegate, client waits)", canvas),
        format!(
            "  {:>7}{:>6}{:>14}{:>14}{:>14}",
            "start", "rung", "allowed", "arrived", "later by"
        ),
    ];
    let held = starts.iter().enumerate().filter(|(_, start)| start.allowed.rung > 0);
    for (place, start) in held.take(STARTS) {
        let difference = match start.early() {
            true => "EARLY".to_string(),
            false => format!("{:.1} ms", late(start).as_secs_f64() * 1000.0),
        };
        lines.push(format!(
            "  {:>7}{:>6}{:>14}{:>14}{difference:>14}",
            place + 1,
            start.allowed.rung,
            moment(start.allowed.at),
            moment(start.arrived),
        ));
    }
    let early = starts.iter().filter(|start| start.early()).count();
    let closest = starts.iter().map(late).min().unwrap_or(Duration::ZERO);
    lines.push(format!(
        "  {} starts, {early} early; the closest came {:.2} ms after it was allowed.",
        starts.len(),
        closest.as_secs_f64() * 1000.0
    ));
    lines.join("\n") + "\n"
}

fn advice(run: &Run, canvas: Canvas) -> String {
    if run.advice.is_empty() {
        return String::new();
    }
    let mut lines = vec![heading("What the log says about the client that hurries", canvas)];
    let width = canvas.columns() - 2;
    let wrapped = run.advice.iter().take(ADVICE).flat_map(|line| wrap(line, width));
    lines.extend(wrapped.map(|line| format!("  {line}")));
    lines.join("\n") + "\n"
}

/// Lines of at most `width` characters, broken at spaces where there are any.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        let fits = lines[last].chars().count() + word.chars().count() < width;
        match lines[last].is_empty() {
            true => lines[last].push_str(word),
            false if fits => lines[last] += &format!(" {word}"),
            false => lines.push(word.to_string()),
        }
    }
    lines
}

fn claims(story: &Story, canvas: Canvas) -> String {
    let mut lines = vec![heading("The story", canvas)];
    for claim in story.claims() {
        let mark = match claim.kept {
            true => Ink::Good.paint("✓", canvas),
            false => Ink::Bad.paint("✗ not so:", canvas),
        };
        lines.push(format!("  {mark} {}", claim.says));
    }
    lines.join("\n") + "\n"
}

fn next_steps(canvas: Canvas) -> String {
    heading("What to do next", canvas) + "\n" + NEXT
}

fn heading(text: &str, canvas: Canvas) -> String {
    Ink::Bold.paint(text, canvas)
}

const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Of the crawls' titles, gap included.
const TITLE: usize = 26;
/// Starts shown.
const STARTS: usize = 12;
/// Lines of advice shown.
const ADVICE: usize = 3;
/// Time-outs as the clients have them when nothing is said (README, *Clients*).
const NEXT: &str = "  \
  pacegate run -- python crawl.py   a proxy for one command, environment set
  pacegate                          a proxy for all; then, in their shell:
  eval \"$(pacegate env)\"
  Let the client wait: a time-out as long as the window (10 min), or none.
  If not told, httpx waits 5 s, Colly 10 s, Scrapy 180 s, aiohttp 300 s; curl
  and requests wait for ever.
  README.md has the rest: configuration, metrics, clients, limits.
";
