//! How many descriptors clients may take, so that dials always find some: without one a request
//! that was accepted could not be sent.
//!
//! When all places are taken nobody is accepted: newcomers wait in the system's line, at no cost.
//! Connections between two requests then make room, and so they do when the process ends.

use crate::net::crowd::{Crowd, Member, Share};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// The places for clients. Clones are the same ones.
#[derive(Clone, Debug)]
pub struct Room {
    places: Arc<Semaphore>,
    most: usize,
    crowd: Crowd,
    full: Arc<watch::Sender<bool>>,
    closed: Arc<AtomicBool>,
}

/// A client's place; free when dropped.
#[derive(Debug)]
#[expect(dead_code, reason = "held for as long as the socket")]
pub struct Place {
    one: OwnedSemaphorePermit,
    whose: Option<Member>,
}

impl Room {
    /// The places there are with so many descriptors: a quarter, and at least 64, is for others.
    pub fn of(descriptors: u64) -> Room {
        let descriptors = usize::try_from(descriptors).unwrap_or(usize::MAX);
        let others = (descriptors / 4).max(FOR_OTHERS);
        let most = descriptors.saturating_sub(others).clamp(FEWEST, Semaphore::MAX_PERMITS);
        let full = Arc::new(watch::Sender::new(false));
        let places = Arc::new(Semaphore::new(most));
        Room { places, most, crowd: Crowd::default(), full, closed: Arc::default() }
    }

    /// Waits for a place.
    pub async fn place(&self) -> Place {
        let place = match self.places.clone().try_acquire_owned() {
            Ok(place) => place,
            Err(_none) => {
                if !self.full.send_replace(true) {
                    tracing::warn!(
                        clients = self.most,
                        "as many clients as descriptors allow: newcomers wait, and connections end \
                         with their answer; raise the limit of open files (ulimit -n)"
                    );
                }
                let place = self.places.clone().acquire_owned().await;
                let one = place.expect("the places are never closed");
                return Place { one, whose: None };
            }
        };
        let roomy = self.places.available_permits() > self.most / 4;
        if *self.full.borrow() && roomy && !self.closed.load(Relaxed) {
            self.full.send_replace(false);
        }
        Place { one: place, whose: None }
    }

    /// Gives a place to an address, unless it has its [share](Share): then how many that are.
    pub fn give(&self, place: Place, to: IpAddr, share: Share) -> Result<Place, usize> {
        let whose = self.crowd.join(to, share, self.most)?;
        Ok(Place { whose: Some(whose), ..place })
    }

    /// There is no room any more.
    pub fn close(&self) {
        self.closed.store(true, Relaxed);
        self.full.send_replace(true);
    }

    /// Tells when there is no place left.
    pub fn watch(&self) -> watch::Receiver<bool> {
        self.full.subscribe()
    }
}

/// Waits until there is no place left and `ready` says yes, which is asked at every change.
pub async fn full(watch: &mut watch::Receiver<bool>, ready: &impl Fn() -> bool) {
    if watch.wait_for(|full| *full && ready()).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// For listeners, logs, the resolver and the first dials.
const FOR_OTHERS: usize = 64;
const FEWEST: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::timeout;

    #[test]
    fn clients_get_three_quarters_and_never_all() {
        let check = |descriptors, places| assert_eq!(Room::of(descriptors).most, places);
        check(256, 192);
        check(20_000, 15_000);
        check(100, 36);
        check(10, FEWEST);
        check(u64::MAX, Semaphore::MAX_PERMITS);
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_place_it_is_told_until_a_quarter_is_free() {
        let room = Room::of(80);
        let mut watch = room.watch();
        let mut taken = Vec::new();
        for _ in 0..16 {
            taken.push(room.place().await);
        }
        assert!(!*watch.borrow());
        assert!(timeout(Duration::from_secs(9), room.place()).await.is_err());
        full(&mut watch, &|| true).await;
        taken.truncate(13);
        drop(room.place().await);
        assert!(*watch.borrow(), "two places are few");
        taken.truncate(10);
        drop(room.place().await);
        assert!(!*watch.borrow());
    }
}
