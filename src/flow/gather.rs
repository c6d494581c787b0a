//! Reads an answer's body before its head goes out: whole, if it is small, soon there, and there is
//! memory for it.
//!
//! This file must not know what the answer means.

use crate::flow::job::Share;
use crate::judge::outcome::Fault;
use crate::net::body::Budget;
use crate::net::headers::response::forward_trailers;
use crate::net::inbound::Inbound;
use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body_util::BodyExt;
use std::pin::pin;
use std::time::Duration;
use tokio::time::timeout;

/// How far it was read.
pub enum Gathered {
    Whole {
        body: Bytes,
        trailers: Option<HeaderMap>,
        share: Option<Share>,
    },
    /// What was read, and what is still coming.
    Part(Bytes, Inbound),
}

/// Reads a body until its end, until `most` bytes, for `patience`, or until `budget` is spent.
pub async fn gather(
    mut body: Inbound,
    most: usize,
    patience: Duration,
    budget: &Budget,
) -> Result<Gathered, Fault> {
    let mut all = Gathering::default();
    let ended = {
        let mut reading = pin!(all.read(&mut body, most, budget));
        timeout(patience, reading.as_mut()).await.ok().transpose()?
    };
    let (trailers, share) = (all.trailers.take(), all.share.take());
    Ok(match (ended, share) {
        (Some(true), share) => Gathered::Whole { body: all.bytes(), trailers, share },
        (Some(false) | None, Some(share)) => Gathered::Part(share.with(all.bytes()), body),
        (Some(false) | None, None) => Gathered::Part(all.bytes(), body),
    })
}

#[derive(Default)]
struct Gathering {
    first: Bytes,
    more: BytesMut,
    trailers: Option<HeaderMap>,
    /// Of the budget, from [`FREE`] bytes on.
    share: Option<Share>,
}

impl Gathering {
    /// Whether the body ended.
    async fn read(
        &mut self,
        body: &mut Inbound,
        most: usize,
        budget: &Budget,
    ) -> Result<bool, Fault> {
        while let Some(frame) = body.frame().await.transpose()? {
            match frame.into_data() {
                Ok(data) => self.push(data),
                Err(frame) => {
                    self.trailers = frame.into_trailers().ok();
                    self.trailers.iter_mut().for_each(forward_trailers);
                }
            }
            if self.len() > most || !self.is_paid_for(budget) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A body of one piece, the common case, is not copied.
    fn push(&mut self, data: Bytes) {
        if self.len() == 0 {
            self.first = data;
        } else {
            if self.more.is_empty() {
                self.more.extend_from_slice(&self.first);
            }
            self.more.extend_from_slice(&data);
        }
    }

    fn is_paid_for(&mut self, budget: &Budget) -> bool {
        let size = self.len();
        match &mut self.share {
            _ if size <= FREE => true,
            Some(share) => share.grow_to(size),
            share @ None => {
                *share = Share::take(budget, size);
                share.is_some()
            }
        }
    }

    fn len(&self) -> usize {
        self.first.len().max(self.more.len())
    }

    fn bytes(self) -> Bytes {
        if self.more.is_empty() { self.first } else { self.more.freeze() }
    }
}

/// The system takes as much of an answer at once, and most pages are smaller: their memory is not
/// counted.
const FREE: usize = 64 * 1024;
