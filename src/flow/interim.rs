//! Interim answers (1xx) of origins: kept until the answer they came before is delivered, so that
//! an attempt that is discarded leaves no trace at the client (spec 2.2).
//!
//! This room must not know what they say.

use crate::flow::presence::Presence;
use crate::net::headers::response::forward_interim;
use crate::net::outbound::Informational;
use http::header::{HeaderMap, USER_AGENT};
use http::{StatusCode, Version};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What an origin said before its answer.
#[derive(Clone, Debug, Default)]
pub struct Interim {
    said: Arc<Mutex<Said>>,
}

#[derive(Debug, Default)]
struct Said {
    bytes: Vec<u8>,
    times: usize,
}

impl Interim {
    /// For a client that can hear interim answers: HTTP/1.1, and none that takes them for the final
    /// one.
    pub fn heard_by(presence: &Presence, version: Version, headers: &HeaderMap) -> Option<Interim> {
        let agent = headers.get(USER_AGENT).map_or(&b""[..], |agent| agent.as_bytes());
        let deaf = DEAF.iter().any(|name| {
            agent.get(..name.len()).is_some_and(|agent| agent.eq_ignore_ascii_case(name))
        });
        match presence {
            Presence::Watched { .. } if version == Version::HTTP_11 && !deaf => {
                Some(Interim::default())
            }
            Presence::Watched { .. } | Presence::Dropped => None,
        }
    }

    /// Who is told of them by the connection to the origin.
    pub fn listener(&self) -> Informational {
        let interim = self.clone();
        Arc::new(move |status, headers| interim.hear(status, headers))
    }

    /// Another attempt begins.
    pub fn forget(&self) {
        *self.lock() = Said::default();
    }

    /// Passes them on, right before the answer.
    pub fn tell(&self, presence: &Presence) {
        let said = std::mem::take(&mut *self.lock());
        if let (Presence::Watched { aside, .. }, false) = (presence, said.bytes.is_empty()) {
            aside.say(&said.bytes);
        }
    }

    fn hear(&self, status: StatusCode, headers: &HeaderMap) {
        let mut said = self.lock();
        if status == StatusCode::CONTINUE || said.times == TIMES {
            return;
        }
        let mut headers = headers.clone();
        forward_interim(&mut headers);
        let reason = status.canonical_reason().unwrap_or_default();
        let mut head = format!("HTTP/1.1 {} {reason}\r\n", status.as_u16()).into_bytes();
        for (name, value) in &headers {
            head.extend_from_slice(&[name.as_str().as_bytes(), b": ", value.as_bytes()].concat());
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"\r\n");
        if said.bytes.len() + head.len() <= BYTES {
            said.bytes.append(&mut head);
            said.times += 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// They take any 1xx but 100 for the answer (clients measured: CPython's http.client and all on it).
const DEAF: [&[u8]; 3] = [b"python-requests", b"python-urllib", b"urllib3"];
/// Go's client bears so many.
const TIMES: usize = 5;
const BYTES: usize = 16 * 1024;
