//! The drawing: crawls side by side, time running downwards, one column each.
//!
//! Pure: records in, text out; readable without colours. Must not know about terminals (the width,
//! and whether it has colours, is told) nor print.

use crate::clock::Tick;
use crate::demo::crawler::Fetched;
use crate::demo::record::Run;
use std::time::Duration;

/// What is drawn on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canvas {
    /// Columns of text; at least [`Canvas::NARROWEST`] are used.
    pub width: usize,
    /// Whether to colour with ANSI escapes.
    pub colour: bool,
}

impl Canvas {
    /// Narrower canvases get lines of this width.
    pub const NARROWEST: usize = 80;

    pub(crate) fn columns(self) -> usize {
        self.width.max(Canvas::NARROWEST)
    }
}

/// A colour's meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    Bold,
    Faint,
    Good,
    Bad,
    Rung,
}

impl Ink {
    /// `text` in this ink, if the canvas has colours.
    pub(crate) fn paint(self, text: &str, canvas: Canvas) -> String {
        let code = match self {
            Ink::Plain => return text.to_string(),
            Ink::Bold => "1",
            Ink::Faint => "2",
            Ink::Good => "32",
            Ink::Bad => "31",
            Ink::Rung => "33",
        };
        match canvas.colour && !text.is_empty() {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_string(),
        }
    }
}

/// The crawls side by side: titles, time-outs, what came when, and what it came to. Works for
/// crawls under way too.
pub fn board(runs: &[Run], canvas: Canvas) -> String {
    let grid = Grid::new(runs, canvas);
    let mut lines = Vec::new();
    for line in 0..2 {
        lines.push(grid.line("", |run| vec![(Ink::Bold, run.kind.title()[line].into())]));
    }
    lines.push(grid.line("client time-out", |run| plain(seconds(run.time_out))));
    lines.push(grid.rule());
    for row in 0..grid.rows {
        let label = format!("{:>5} s", (grid.bucket * row).as_secs());
        lines.push(grid.line(&label, |run| grid.bar(run, row)));
    }
    lines.push(grid.rule());
    lines.extend(totals(&grid));
    lines.push(String::new());
    lines.push(grid.legend());
    lines.join("\n") + "\n"
}

/// What a terminal is sent before the next frame: back to where `frame` began, and nothing below.
pub fn rewind(frame: &str) -> String {
    format!("\x1b[{}A\x1b[J", frame.lines().count())
}

fn totals(grid: &Grid<'_>) -> [String; 6] {
    [
        grid.line("pages served", |run| {
            let ink = if run.served() == run.wanted { Ink::Good } else { Ink::Plain };
            vec![(ink, format!("{} of {}", run.served(), run.wanted))]
        }),
        grid.line("pages lost", |run| {
            let ink = if run.lost() > 0 { Ink::Bad } else { Ink::Plain };
            vec![(ink, run.lost().to_string())]
        }),
        grid.line("took", |run| plain(run.took().map_or("…".into(), seconds))),
        grid.line("shop asked", |run| plain(format!("{} times", run.visits.len()))),
        grid.line("for nobody", |run| {
            let percent = (run.wasted() * 100).checked_div(run.visits.len()).unwrap_or(0);
            plain(format!("{} ({percent} %)", run.wasted()))
        }),
        grid.line("client_gone", |run| match run.rungs.is_empty() {
            true => plain("–".into()),
            false => plain(run.client_gone.to_string()),
        }),
    ]
}

type Cell = Vec<(Ink, String)>;

fn plain(text: String) -> Cell {
    vec![(Ink::Plain, text)]
}

/// Where things stand on the canvas, and how large a page is.
struct Grid<'a> {
    runs: &'a [Run],
    canvas: Canvas,
    /// Of one crawl's cell, without the gap after it.
    cell: usize,
    /// Of the part of a cell that has the bar.
    bar: usize,
    bucket: Duration,
    rows: u32,
    /// Pages a block stands for.
    block: usize,
}

impl<'a> Grid<'a> {
    fn new(runs: &'a [Run], canvas: Canvas) -> Grid<'a> {
        let cell = (canvas.columns() - LABEL) / runs.len().max(1) - GAP;
        let bar = cell - RUNG;
        let last = runs.iter().map(length).max().unwrap_or_default();
        let step = BUCKETS.into_iter().find(|step| last.as_secs() < step * u64::from(ROWS));
        let bucket = Duration::from_secs(step.unwrap_or(BUCKETS[BUCKETS.len() - 1]));
        let rows = (last.as_secs() / bucket.as_secs()) as u32 + 1;
        let mut grid = Grid { runs, canvas, cell, bar, bucket, rows: rows.min(ROWS), block: 1 };
        let pairs = (0..grid.rows).flat_map(|row| runs.iter().map(move |run| (run, row)));
        let counts = pairs.map(|(run, row)| grid.count(run, row));
        let most = counts.map(|(served, lost)| served + lost).max().unwrap_or(0);
        // One column is left for the half block between the two parts of a bar.
        grid.block = most.div_ceil(bar - 1).max(1);
        grid
    }

    fn line(&self, label: &str, cell: impl Fn(&Run) -> Cell) -> String {
        let mut line = format!("{label:<LABEL$}");
        for run in self.runs {
            let parts = cell(run);
            let used: usize = parts.iter().map(|(_, text)| text.chars().count()).sum();
            for (ink, text) in parts {
                line += &ink.paint(&text, self.canvas);
            }
            line += &" ".repeat((self.cell + GAP).saturating_sub(used));
        }
        line.trim_end().to_string()
    }

    fn rule(&self) -> String {
        let cells = format!("{}{}", "─".repeat(self.cell), " ".repeat(GAP));
        let line = " ".repeat(LABEL) + &cells.repeat(self.runs.len());
        Ink::Faint.paint(line.trim_end(), self.canvas)
    }

    /// One stretch of time of one crawl: pages served, pages lost, and its rung.
    fn bar(&self, run: &Run, row: u32) -> Cell {
        let (served, lost) = self.count(run, row);
        let halves = (served * 2).div_ceil(self.block);
        let good = "█".repeat(halves / 2) + if halves % 2 == 1 { "▌" } else { "" };
        let bad = "×".repeat(lost.div_ceil(self.block));
        let waits = served + lost == 0 && self.bucket * row <= length(run);
        let idle = if waits { "·" } else { "" };
        let used = good.chars().count() + bad.chars().count() + idle.chars().count();
        let rung = self.rung(run, row).map(|rung| format!("r{rung}"));
        let rung = rung.map_or(String::new(), |rung| {
            format!("{}{rung:>RUNG$}", " ".repeat(self.bar.saturating_sub(used)))
        });
        vec![(Ink::Good, good), (Ink::Bad, bad), (Ink::Faint, idle.to_string()), (Ink::Rung, rung)]
    }

    fn count(&self, run: &Run, row: u32) -> (usize, usize) {
        let ended = run.pages.iter().filter(|page| self.in_row(run, page.ended, row));
        let served = ended.clone().filter(|page| page.outcome == Fetched::Page).count();
        (served, ended.count() - served)
    }

    fn rung(&self, run: &Run, row: u32) -> Option<u8> {
        let within = |at: Tick| self.in_row(run, at, row) && run.ended.is_none_or(|end| at <= end);
        run.rungs.iter().filter(|sample| within(sample.at)).filter_map(|sample| sample.rung).max()
    }

    fn in_row(&self, run: &Run, at: Tick, row: u32) -> bool {
        let from = run.began + self.bucket * row;
        at >= from && (at < from + self.bucket || row + 1 == self.rows)
    }

    fn legend(&self) -> String {
        let pages = match self.block {
            1 => "1 page".to_string(),
            more => format!("{more} pages"),
        };
        let canvas = self.canvas;
        [
            format!("{} {pages} served", Ink::Good.paint("█", canvas)),
            format!("{} up to {pages} lost", Ink::Bad.paint("×", canvas)),
            format!("{} waiting", Ink::Faint.paint("·", canvas)),
            format!("{} highest rung", Ink::Rung.paint("r5", canvas)),
        ]
        .join("   ")
    }
}

/// How long a crawl took, or is under way by what is known of it.
fn length(run: &Run) -> Duration {
    let pages = run.pages.last().map(|page| page.ended);
    let looks = run.rungs.last().map(|sample| sample.at);
    let visits = run.visits.last().map(|visit| visit.arrived);
    let known = [pages, looks, visits].into_iter().flatten().max().unwrap_or(run.began);
    run.ended.unwrap_or(known).since(run.began)
}

/// A span for people: at most one digit after the point, two below a second.
pub(crate) fn seconds(span: Duration) -> String {
    let exact = span.as_secs_f64();
    let rounded = match exact < 1.0 {
        true => format!("{exact:.2}"),
        false => format!("{exact:.1}"),
    };
    let short = rounded.trim_end_matches('0').trim_end_matches('.');
    format!("{} s", if short.is_empty() { "0" } else { short })
}

/// Of the labels on the left, gap included.
const LABEL: usize = 16;
const GAP: usize = 2;
/// Of "r5" and a space before it.
const RUNG: usize = 3;
/// Stretches of time a line may stand for, in seconds.
const BUCKETS: [u64; 5] = [1, 2, 5, 10, 30];
/// So many of them at most.
const ROWS: u32 = 20;
