//! From a name to its addresses: overrides, loopback names, then the system's resolver, which is
//! asked once for all who wait for the same name.
//!
//! It must not know what the addresses are used for, or whether they may be.

use crate::clock::{Clock, Tick};
use crate::judge::outcome::Fault;
use crate::net::fault;
use crate::net::settings::Resolve;
use crate::net::target::Target;
use crate::pace::scope::Host;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OnceCell, Semaphore};

/// Knows addresses of names.
#[derive(Debug)]
pub struct Resolver {
    overrides: Resolve,
    clock: Clock,
    known: Mutex<HashMap<Host, Arc<Entry>>>,
    lookups: Arc<Semaphore>,
}

#[derive(Debug)]
struct Entry {
    asked: Tick,
    answer: OnceCell<Result<Arc<[IpAddr]>, Fault>>,
}

impl Resolver {
    /// A resolver that knows nothing but the overrides.
    pub fn new(overrides: Resolve, clock: Clock) -> Resolver {
        let lookups = Arc::new(Semaphore::new(MOST_LOOKUPS));
        Resolver { overrides, clock, known: Mutex::default(), lookups }
    }

    /// Where `target` is, in the resolver's order of preference.
    ///
    /// # Errors
    ///
    /// The name has no address, or the resolver can't say now.
    pub async fn addresses(&self, target: &Target) -> Result<Vec<SocketAddr>, Fault> {
        let port = target.port;
        if let Some(elsewhere) = self.overrides.names.get(&target.host) {
            return Ok(vec![(elsewhere.address, elsewhere.port.unwrap_or(port)).into()]);
        }
        if let Some(address) = target.host.ip() {
            return Ok(vec![(address, port).into()]);
        }
        if target.host.is_localhost_name() {
            return Ok(LOOPBACK.map(|address| (address, port).into()).to_vec());
        }
        let entry = self.entry(&target.host);
        let answer = entry.answer.get_or_init(|| self.look_up(&target.host)).await;
        let addresses = answer.as_ref().map_err(Fault::clone)?;
        Ok(addresses.iter().map(|address| (*address, port).into()).collect())
    }

    /// Forgets a name none of whose addresses could be reached: the next one asks anew.
    pub fn forget(&self, host: &Host) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(host);
    }

    fn entry(&self, host: &Host) -> Arc<Entry> {
        let now = self.clock.now();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = known.get(host).filter(|entry| entry.is_good(now)) {
            return entry.clone();
        }
        if known.len() >= MOST_NAMES {
            known.retain(|_, entry| entry.is_good(now));
        }
        if known.len() >= MOST_NAMES {
            known.clear();
        }
        let entry = Arc::new(Entry { asked: now, answer: OnceCell::new() });
        known.insert(host.clone(), entry.clone());
        entry
    }

    async fn look_up(&self, host: &Host) -> Result<Arc<[IpAddr]>, Fault> {
        let slot = self.lookups.clone().acquire_owned().await.expect("never closed");
        let name = host.clone();
        // The slot is given back when the resolver is done, not when its asker has left: a dead
        // resolver can't use up the threads that way.
        let asked = tokio::task::spawn_blocking(move || {
            let found = (name.as_str(), 0).to_socket_addrs();
            drop(slot);
            found.map(|found| found.map(|address| address.ip().to_canonical()).collect())
        });
        let found: io::Result<Vec<IpAddr>> = asked.await.unwrap_or_else(|end| Err(end.into()));
        match found {
            Ok(found) if found.is_empty() => Err(fault::no_address(host)),
            Ok(found) => {
                let mut addresses: Vec<IpAddr> = Vec::new();
                for address in found {
                    if addresses.len() < MOST_ADDRESSES && !addresses.contains(&address) {
                        addresses.push(address);
                    }
                }
                Ok(addresses.into())
            }
            Err(error) => Err(fault::lookup(host, &error)),
        }
    }
}

impl Entry {
    fn is_good(&self, now: Tick) -> bool {
        let kept = match self.answer.get() {
            None => return true,
            Some(Ok(_)) => FOUND_KEPT,
            Some(Err(_)) => FAILED_KEPT,
        };
        now < self.asked + kept
    }
}

/// Most servers of a test listen on the first of them only.
const LOOPBACK: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
const MOST_NAMES: usize = 1000;
const MOST_ADDRESSES: usize = 16;
/// Each takes a thread of the runtime's 512 while the system's resolver is at it: half of them, so that
/// a crawl with hundreds of names whose servers are silent still finds the others.
const MOST_LOOKUPS: usize = 256;
/// getaddrinfo tells no TTL. Half a minute is below nearly every TTL in use, and a crawl of one
/// host then asks twice a minute.
const FOUND_KEPT: Duration = Duration::from_secs(30);
/// So that a burst asks once, and a name that comes to life is seen at once.
const FAILED_KEPT: Duration = Duration::from_secs(1);
