//! What a row of the register is, and the macro that makes a table of rows and a test of each.

use crate::play::Play;

/// One statement of the register.
pub struct Row {
    /// From 1 to 121.
    pub number: u16,
    /// What is asked, in short.
    pub says: &'static str,
    /// Who asks it.
    pub reference: &'static str,
    /// How we stand to it.
    pub stand: Stand,
    /// Each panics where the statement doesn't hold for the proxy in the play.
    pub probes: &'static [Probe],
}

/// Plays a scene before a proxy and judges it, by panicking.
pub type Probe = fn(&Play);

/// How we stand to a statement.
pub enum Stand {
    /// The probes hold for us.
    Met,
    /// A documented decision says otherwise; what we do instead is probed as well.
    Deviates { decision: Decision, instead: &'static [Probe] },
    /// What it is about doesn't exist yet.
    NotBuilt(&'static str),
}

/// The closed list of decisions by which we depart from a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Via,
    RawTargets,
    ConnectBody,
    ConnectPorts,
    Trace,
    Interim,
    Private,
    Keys,
}

impl Decision {
    /// All of them, as the page lists them.
    pub const ALL: [Decision; 8] = [
        Decision::Via,
        Decision::RawTargets,
        Decision::ConnectBody,
        Decision::ConnectPorts,
        Decision::Trace,
        Decision::Interim,
        Decision::Private,
        Decision::Keys,
    ];

    /// What was decided.
    pub const fn text(self) -> &'static str {
        match self {
            Decision::Via => {
                "`Via` is off by default: people who scrape don't want to announce a proxy. With \
                 `via: both` the statement holds. Loops are also found by comparing the resolved \
                 target with our own listeners."
            }
            Decision::RawTargets => {
                "A fragment in a target is cut off and never forwarded, instead of being refused. \
                 What the HTTP library can't carry in a target (bytes that aren't UTF-8, `<`, `>`) \
                 is a 400 that says so."
            }
            Decision::ConnectBody => "A CONNECT with a body is refused with 400.",
            Decision::ConnectPorts => {
                "CONNECT's ports are denied by a list (25), not allowed by one."
            }
            Decision::Trace => "TRACE is forwarded once, never repeated.",
            Decision::Interim => {
                "Interim answers are relayed between HTTP/1 peers, not over HTTP/2, where the \
                 library gives no way."
            }
            Decision::Private => {
                "A destination that may not be reached is a 403, and private ones are denied by \
                 default only where we don't listen on loopback."
            }
            Decision::Keys => {
                "A request that isn't idempotent is repeated only if nothing of it was sent, or if \
                 a rule or its `Idempotency-Key` says that it may be."
            }
        }
    }
}

/// The number at the end of a row's name.
pub const fn number_of(name: &str) -> u16 {
    let digits = name.as_bytes();
    let mut number = 0;
    let mut place = digits.len() - 3;
    while place < digits.len() {
        assert!(digits[place].is_ascii_digit(), "a row's name ends in three digits");
        number = number * 10 + (digits[place] - b'0') as u16;
        place += 1;
    }
    number
}

/// A table of rows (`ROWS`) and one test for each: `name "reference" "statement" stand [probes];`
/// where the stand is `met`, `not_built(what)`, or `deviates(Decision, [what holds instead])`.
macro_rules! rows {
    ($($test:ident $reference:literal $says:literal
       $stand:ident $(($($how:tt)*))? [$($probe:ident),* $(,)?];)*) => {
        pub const ROWS: &[$crate::row::Row] = &[$($crate::row::Row {
            number: $crate::row::number_of(stringify!($test)),
            says: $says,
            reference: $reference,
            stand: stand!($stand $(($($how)*))?),
            probes: &[$($probe),*],
        }),*];
        $(#[test]
        fn $test() {
            $crate::play::hold(ROWS, $crate::row::number_of(stringify!($test)));
        })*
    };
}

macro_rules! stand {
    (met) => {
        $crate::row::Stand::Met
    };
    (not_built($what:literal)) => {
        $crate::row::Stand::NotBuilt($what)
    };
    (deviates($decision:ident, [$($probe:ident),* $(,)?])) => {
        $crate::row::Stand::Deviates {
            decision: $crate::row::Decision::$decision,
            instead: &[$($probe),*],
        }
    };
}
