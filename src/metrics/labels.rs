//! The words that label values may be. They are a promise to dashboards: they don't change.

use std::time::Duration;

/// An enum whose variants are label words, with all of them in order.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$about])* $variant,)+
        }

        impl $name {
            /// Every one, in order of declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            /// The word for metrics and logs.
            pub const fn word(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }
        }
    };
}

words! {
    /// What a request came to (spec section 13).
    RequestOutcome {
        /// The origin's answer, at the first attempt.
        Served = "served",
        /// The origin's answer, after a repeat.
        Repeated = "repeated",
        /// The origin's last answer, which was not a served one.
        OriginError = "origin_error",
        /// No answer of the origin in time.
        GaveUp = "gave_up",
        /// Refused by us: rules, bounds, bad requests, shutting down.
        Refused = "refused",
        /// Its client left.
        ClientGone = "client_gone",
    }
}

words! {
    /// What a request waited for (spec section 13).
    Reason {
        Pace = "pace",
        Pause = "pause",
        Concurrency = "concurrency",
        Delay = "delay",
        Quota = "quota",
        Account = "account",
        Request = "request",
    }
}

/// Waiting: one place a [`Reason`].
pub type Waits = [Duration; Reason::ALL.len()];

words! {
    /// Who an answer's status came from.
    Source {
        Origin = "origin",
        Proxy = "proxy",
    }
}

words! {
    /// Which way a rung changed.
    Direction {
        Up = "up",
        Down = "down",
    }
}

words! {
    /// How far a request had come when its client left.
    Phase {
        /// Waiting for its claim.
        Held = "held",
        /// An attempt under way, no byte of an answer sent.
        Attempt = "attempt",
        /// While the answer was sent.
        Answer = "answer",
    }
}

words! {
    /// What became of a CONNECT.
    TunnelMode {
        /// TLS, read by us.
        Intercepted = "intercepted",
        /// Plain HTTP inside the tunnel, read by us.
        PlainHttp = "plain_http",
        /// A name that the configuration passes through unread.
        Passthrough = "passthrough",
        /// Other bytes, copied.
        Opaque = "opaque",
        /// Refused.
        Denied = "denied",
    }
}

words! {
    /// Why a client's TLS with us failed.
    TlsFailure {
        /// It does not know our CA.
        UnknownCa = "unknown_ca",
        /// It dislikes the certificate otherwise.
        BadCertificate = "bad_certificate",
        /// It closed before its first request: mostly a silent `unknown_ca`.
        Closed = "closed",
        /// No common version or cipher, or not TLS.
        Protocol = "protocol",
        Timeout = "timeout",
        Other = "other",
    }
}

words! {
    /// Which way bytes went, seen from us towards origins.
    Flow {
        /// Request bodies, to origins.
        Sent = "sent",
        /// Answers' bodies, from origins.
        Received = "received",
    }
}

words! {
    /// What became of the bytes of an attempt.
    Final {
        /// They are part of what the client got.
        Yes = "true",
        /// The attempt was discarded.
        No = "false",
    }
}

/// The `kind`s of our own answers (spec section 9).
pub const KINDS: [&str; 19] = [
    "target_timeout",
    "target_unavailable",
    "provider_unavailable",
    "deadline_infeasible",
    "line_full",
    "shutting_down",
    "target_rate_limited",
    "rate_limited",
    "concurrency_limit",
    "invalid_request",
    "denied",
    "url_not_allowed",
    "response_too_large",
    "too_many_redirects",
    "bad_request",
    "proxy_auth",
    "loop",
    "internal_error",
    "other",
];
