//! A scrape of the proxy's metrics, to look things up in.

/// All samples of one scrape.
#[derive(Clone, Debug)]
pub struct Metrics {
    text: String,
}

impl Metrics {
    /// Reads the text format.
    pub fn new(text: String) -> Metrics {
        Metrics { text }
    }

    /// The sum of the samples of this name that carry all these labels; `None` if there is none.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let mut found = None;
        for line in self.text.lines().filter(|line| !line.starts_with('#')) {
            let Some((sample, value)) = line.rsplit_once(' ') else { continue };
            let (sample_name, set) = sample.split_once('{').unwrap_or((sample, ""));
            let carries = |(key, value): &(&str, &str)| {
                let set = format!(",{}", set.trim_end_matches('}'));
                let pair = format!(",{key}=\"{value}\"");
                set.contains(&pair)
            };
            if sample_name == name && labels.iter().all(carries) {
                let value: f64 = value.parse().expect("a sample ends with a number");
                found = Some(found.unwrap_or(0.0) + value);
            }
        }
        found
    }

    /// As [`Metrics::sum`], and 0 if there is no such sample.
    pub fn count(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.sum(name, labels).unwrap_or(0.0)
    }

    /// The scrape itself.
    pub fn text(&self) -> &str {
        &self.text
    }
}
