//! Series that are looked up once, series that show 0 from the start, and the buckets.

use crate::judge::hints::{Field, HintResult};
use crate::metrics::labels::Source;
use crate::pace::rules::Ladder;
use http::StatusCode;
use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec};
use std::sync::OnceLock;
use std::time::Duration;

/// `responses_total`, each series looked up once.
pub struct Responses {
    family: IntCounterVec,
    slots: Vec<OnceLock<IntCounter>>,
}

impl Responses {
    pub fn new(family: IntCounterVec) -> Responses {
        let slots = (0..CODES * Source::ALL.len()).map(|_| OnceLock::new()).collect();
        Responses { family, slots }
    }

    pub fn count(&self, code: StatusCode, source: Source) {
        // A StatusCode lies in 100..=999.
        let slot = usize::from(code.as_u16()) - 100 + source as usize * CODES;
        let resolve = || self.family.with_label_values(&[code.as_str(), source.word()]);
        self.slots[slot].get_or_init(resolve).inc();
    }
}

/// The words of an enum's values.
pub fn words<T: Copy>(all: &[T], word: fn(T) -> &'static str) -> Vec<&'static str> {
    all.iter().map(|value| word(*value)).collect()
}

/// Shows every known value as 0 from the start, so that `rate()` sees the first one.
pub fn started(
    family: IntCounterVec,
    values: impl IntoIterator<Item = &'static str>,
) -> IntCounterVec {
    for value in values {
        family.with_label_values(&[value]);
    }
    family
}

/// The same for what servers' fields come to.
pub fn hints(family: IntCounterVec) -> IntCounterVec {
    for field in Field::ALL {
        for result in HintResult::ALL {
            family.with_label_values(&[field.word(), result.word()]);
        }
    }
    family
}

/// Each value's histogram, looked up once.
pub fn resolved<T: Copy>(
    family: &HistogramVec,
    all: &[T],
    word: fn(T) -> &'static str,
) -> Vec<Histogram> {
    all.iter().map(|value| family.with_label_values(&[word(*value)])).collect()
}

/// The ladder's paces, something below its first, and the windows above its top.
pub fn wait_buckets(ladder: &Ladder) -> Vec<f64> {
    let paces = ladder.paces().iter().map(Duration::as_secs_f64).filter(|pace| *pace > 0.0);
    let mut buckets: Vec<f64> = paces.chain([0.5, 1.0, 120.0, 300.0, 600.0, 3600.0]).collect();
    buckets.sort_by(f64::total_cmp);
    buckets.dedup();
    buckets
}

/// Statuses there can be: 100 to 999.
const CODES: usize = 900;

/// From a fast page to the longest window.
pub const LONG: [f64; 15] =
    [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 3600.0];
/// From a timer's error to `retry.connect_timeout`.
pub const SHORT: [f64; 11] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0];
/// Of one request.
pub const ATTEMPTS: [f64; 9] = [0.0, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0];
