//! How much may be remembered and held at once.

/// Bounds on holds and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests held at once, in all.
    pub held: usize,
    /// Requests held at once in one scope.
    pub held_per_scope: usize,
    /// Requests held at once for one client address; its labels share it.
    pub held_per_client: usize,
    /// Attempts under way at once, in all; holds don't count.
    pub attempts: Option<usize>,
    /// Rows at once. When all are active, newcomers share one.
    pub scopes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            held: 10_000,
            held_per_scope: 10_000,
            held_per_client: 5_000,
            attempts: None,
            scopes: 100_000,
        }
    }
}
