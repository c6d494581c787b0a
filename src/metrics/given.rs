//! A histogram that another room counts: its buckets are shown as they are given.

use crate::metrics::table::{Kind, options};
use prometheus::core::{Collector, Desc, Describer};
use prometheus::proto;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Counts by upper bound, the last for all above, and the sum of all; totals since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    pub bounds: Vec<Duration>,
    /// One more than bounds. Fewer read as 0.
    pub counts: Vec<u64>,
    pub sum: Duration,
}

/// The family; clones show the same.
#[derive(Clone)]
pub struct GivenHistogram {
    description: Arc<Desc>,
    spread: Arc<Mutex<Spread>>,
}

impl GivenHistogram {
    /// The family of the table with that name, which has no labels.
    pub fn new(name: &str) -> prometheus::Result<GivenHistogram> {
        let description = Arc::new(options(name, Kind::Histogram).0.describe()?);
        Ok(GivenHistogram { description, spread: Arc::default() })
    }

    /// What is shown from now on.
    pub fn set(&self, spread: Spread) {
        *self.spread.lock().unwrap_or_else(PoisonError::into_inner) = spread;
    }
}

impl Collector for GivenHistogram {
    fn desc(&self) -> Vec<&Desc> {
        vec![&self.description]
    }

    fn collect(&self) -> Vec<proto::MetricFamily> {
        let spread = self.spread.lock().unwrap_or_else(PoisonError::into_inner);
        let mut below = 0;
        let mut buckets = Vec::with_capacity(spread.bounds.len());
        for (index, bound) in spread.bounds.iter().enumerate() {
            below += spread.counts.get(index).copied().unwrap_or(0);
            let mut bucket = proto::Bucket::default();
            bucket.set_upper_bound(bound.as_secs_f64());
            bucket.set_cumulative_count(below);
            buckets.push(bucket);
        }
        let mut histogram = proto::Histogram::default();
        histogram.set_bucket(buckets);
        histogram.set_sample_count(spread.counts.iter().sum());
        histogram.set_sample_sum(spread.sum.as_secs_f64());
        let mut metric = proto::Metric::default();
        metric.set_histogram(histogram);
        let mut family = proto::MetricFamily::default();
        family.set_name(self.description.fq_name.clone());
        family.set_help(self.description.help.clone());
        family.set_field_type(proto::MetricType::HISTOGRAM);
        family.set_metric(vec![metric]);
        vec![family]
    }
}
