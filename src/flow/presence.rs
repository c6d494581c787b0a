//! Is the client still there? What a hang-up means while its request is held or in flight.
//!
//! A reset means it left. A FIN says the same for a close and a half-close: one interim answer
//! tells them apart, for the machine of a client that closed answers it with a reset (spec 2.4).

use crate::net::speak::Aside;
use crate::net::wire::{HangUp, Watch};
use std::pin::Pin;

/// The client's end of one request.
#[derive(Clone, Debug)]
pub enum Presence {
    /// HTTP/1: we look ourselves.
    Watched { watch: Watch, aside: Aside },
    /// HTTP/2: the library drops the request when its stream is reset or its connection is gone.
    Dropped,
}

/// Whether a FIN may still be a half-close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fin {
    /// It may: HTTP/1.1, and the whole request has arrived.
    Probe,
    /// It is a departure: an unfinished body never comes, and HTTP/1.0 knows no interim answer.
    Departure,
}

impl Presence {
    /// The same client, spoken to through another layer (TLS in a tunnel).
    pub fn through(self, layer: Aside) -> Presence {
        match self {
            Presence::Watched { watch, .. } => Presence::Watched { watch, aside: layer },
            Presence::Dropped => Presence::Dropped,
        }
    }

    /// Waits for a reset while an answer flows; `None` where the library sees to it. A FIN says
    /// nothing then: the answer's own bytes find out.
    pub fn reset(&self) -> Option<Pin<Box<dyn Future<Output = ()> + Send>>> {
        let Presence::Watched { watch, .. } = self else { return None };
        let watch = watch.clone();
        Some(Box::pin(async move { watch.reset().await }))
    }

    /// Waits until the client has left. `fin` is asked once it has sent a FIN.
    pub async fn left(&self, fin: impl Future<Output = Fin>) {
        let Presence::Watched { watch, aside } = self else {
            return std::future::pending().await;
        };
        match watch.hang_up().await {
            HangUp::Reset => {}
            HangUp::Finished => match fin.await {
                Fin::Departure => {}
                Fin::Probe => {
                    aside.probe();
                    watch.reset().await;
                }
            },
        }
    }
}
