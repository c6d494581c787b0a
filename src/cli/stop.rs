//! The order to stop, from whoever supervises us or from the keyboard.

use std::io;
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Hears every SIGTERM and SIGINT from its making on. Who says that it is ready must have one
/// already: an order that comes before anybody listens would be lost, or end the process unasked.
pub struct Stop {
    #[cfg(unix)]
    terminate: Signal,
    #[cfg(unix)]
    interrupt: Signal,
}

impl Stop {
    /// Listens from now on. The error is the system's.
    pub fn listen() -> io::Result<Stop> {
        Ok(Stop {
            #[cfg(unix)]
            terminate: signal(SignalKind::terminate())?,
            #[cfg(unix)]
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next order.
    #[cfg(unix)]
    pub async fn ordered(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// Waits for the next order.
    #[cfg(not(unix))]
    pub async fn ordered(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}
