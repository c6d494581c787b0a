//! How many connections each address has, so that one of many can't take all places.
//!
//! A scraper that holds thousands of requests over HTTP/1 needs a connection for each: what is kept
//! from it is only the rest that others need.

use crate::pace::scope::Client;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many connections an address (IPv6: its /64) may have: `clients.connections`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Share {
    /// Three quarters of the places there are; all of them on loopback, where all programs of the
    /// machine are one address.
    #[default]
    Auto,
    /// All places.
    All,
    /// So many, loopback included.
    Most(usize),
}

impl Share {
    /// How many of so many places.
    fn of(self, places: usize, address: IpAddr) -> usize {
        match self {
            Share::Auto if !address.to_canonical().is_loopback() => (places - places / 4).max(1),
            Share::Auto | Share::All => usize::MAX,
            Share::Most(most) => most,
        }
    }
}

/// The connections by address. Clones are the same ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Crowd {
    by_address: Arc<Mutex<HashMap<u64, usize>>>,
}

/// One connection of an address; counted no more when dropped.
#[derive(Debug)]
pub(super) struct Member {
    address: u64,
    crowd: Crowd,
}

impl Crowd {
    /// One connection more for an address, or how many it has that may not have another.
    pub(super) fn join(
        &self,
        address: IpAddr,
        share: Share,
        places: usize,
    ) -> Result<Member, usize> {
        let (most, key) = (share.of(places, address), Client::new(address, None).origin);
        let mut by_address = self.lock();
        let count = by_address.entry(key).or_default();
        if *count >= most {
            return Err(*count);
        }
        *count += 1;
        Ok(Member { address: key, crowd: self.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, usize>> {
        self.by_address.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut by_address = self.crowd.lock();
        let count = by_address.get_mut(&self.address).expect("a member is counted");
        *count -= 1;
        if *count == 0 {
            by_address.remove(&self.address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(share: Share, address: &str, places: usize, most: usize) {
        let (crowd, address) = (Crowd::default(), address.parse().unwrap());
        let mut members: Vec<_> = (0..most)
            .map(|_| crowd.join(address, share, places).expect("it may have so many"))
            .collect();
        assert_eq!(crowd.join(address, share, places).err(), Some(most));
        let other = "2001:db8::1".parse().unwrap();
        assert!(crowd.join(other, share, places).is_ok(), "others have theirs");
        drop(members.pop());
        assert!(crowd.join(address, share, places).is_ok(), "who left is not counted");
        drop(members);
        assert!(crowd.lock().is_empty(), "nothing is kept of who left");
    }

    #[test]
    fn an_address_leaves_a_quarter_to_others_or_has_what_is_configured() {
        check(Share::Auto, "10.1.2.3", 192, 144);
        check(Share::Auto, "2001:db8:1::1", 16, 12);
        check(Share::Most(3), "10.1.2.3", 192, 3);
        check(Share::Most(3), "127.0.0.1", 192, 3);
    }

    #[test]
    fn the_programs_of_this_machine_may_have_all_places() {
        let (crowd, places) = (Crowd::default(), 16);
        for address in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            let member = || crowd.join(address.parse().unwrap(), Share::Auto, places);
            let all: Result<Vec<_>, _> = (0..places * 2).map(|_| member()).collect();
            assert!(all.is_ok(), "{address}");
        }
        let all =
            (0..places * 2).map(|_| crowd.join("10.1.2.3".parse().unwrap(), Share::All, places));
        assert!(all.collect::<Result<Vec<_>, _>>().is_ok());
    }

    #[test]
    fn addresses_of_one_v6_network_share() {
        let (crowd, share) = (Crowd::default(), Share::Most(1));
        let _one = crowd.join("2001:db8::1".parse().unwrap(), share, 9).unwrap();
        assert_eq!(crowd.join("2001:db8::2".parse().unwrap(), share, 9).err(), Some(1));
    }
}
