//! What can be controlled, and under which names.

/// A control: a field and an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    Preset,
    Deadline,
    Window,
    Timeout,
    Retry,
    Tag,
    Debug,
    Delay,
    Track,
    Bypass,
    Scope,
    Priority,
}

impl Control {
    /// All of them.
    pub const ALL: [Control; 12] = [
        Control::Preset,
        Control::Deadline,
        Control::Window,
        Control::Timeout,
        Control::Retry,
        Control::Tag,
        Control::Debug,
        Control::Delay,
        Control::Track,
        Control::Bypass,
        Control::Scope,
        Control::Priority,
    ];

    /// The request field.
    pub const fn field(self) -> &'static str {
        match self {
            Control::Preset => "pace-preset",
            Control::Deadline => "pace-deadline",
            Control::Window => "pace-window",
            Control::Timeout => "pace-timeout",
            Control::Retry => "pace-retry",
            Control::Tag => "pace-tag",
            Control::Debug => "pace-debug",
            Control::Delay => "pace-delay",
            Control::Track => "pace-track",
            Control::Bypass => "pace-bypass",
            Control::Scope => "pace-scope",
            Control::Priority => PRIORITY,
        }
    }

    /// The option of a proxy user.
    pub fn option(self) -> &'static str {
        self.field().trim_start_matches("pace-")
    }
}

/// RFC 9218 §5. Others than we read it as well.
pub const PRIORITY: &str = "priority";
