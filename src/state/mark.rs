//! What a failed request remembers of its scope's counts, to see later how the others fared.

use crate::judge::page::Others;

/// How far the counts of a row had come when an attempt taught it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    row: u64,
    counts: Others,
}

impl Mark {
    /// The counts of a row (its cell's number) as they are now.
    pub(crate) fn new(row: u64, counts: Others) -> Mark {
        Mark { row, counts }
    }

    /// What a row has counted since. Another row than then: a failure makes a row, and it goes when
    /// somebody was served.
    pub(crate) fn since(self, row: u64, counts: Others) -> Others {
        if row != self.row {
            return counts.and(Others { served: 1, stalled: 0 });
        }
        Others {
            served: counts.served.saturating_sub(self.counts.served),
            stalled: counts.stalled.saturating_sub(self.counts.stalled),
        }
    }
}
