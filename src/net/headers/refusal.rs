//! Why a request is refused before anything is done for it.

use http::StatusCode;
use std::borrow::Cow;

/// A status of ours and a sentence that says what is wrong. No secrets in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub status: StatusCode,
    pub detail: Cow<'static, str>,
}

impl Refusal {
    /// 400.
    pub fn bad(detail: impl Into<Cow<'static, str>>) -> Refusal {
        Refusal { status: StatusCode::BAD_REQUEST, detail: detail.into() }
    }

    /// Another status of the 4xx or 5xx.
    pub fn of(status: StatusCode, detail: impl Into<Cow<'static, str>>) -> Refusal {
        Refusal { status, detail: detail.into() }
    }
}
