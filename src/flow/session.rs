//! A client's connection, as far as its requests must know it.

use crate::flow::presence::Presence;
use crate::net::headers::refusal::Refusal;
use crate::net::headers::target::{Known, RequestTarget, Tunnel};
use crate::pace::scope::Client;
use crate::pace::turn::Weight;
use crate::policy::wishes::Wishes;
use crate::sync::{Mutex, lock};
use std::net::SocketAddr;
use std::sync::Arc;

/// What all requests of one client connection have in common.
#[derive(Clone, Debug)]
pub struct Session {
    pub peer: SocketAddr,
    /// The address of ours it came in on.
    pub local: SocketAddr,
    pub presence: Presence,
    /// The tunnel the requests come through, if they do.
    pub inside: Option<Inside>,
    pub recent: Recent,
}

/// Where the last request of the connection went. A copy of the connection's words begins anew.
#[derive(Debug, Default)]
pub struct Recent(Mutex<Option<Known>>);

impl Clone for Recent {
    fn clone(&self) -> Recent {
        Recent::default()
    }
}

impl Recent {
    /// Reads a target with the help of the last one, which it then is.
    pub fn read(
        &self,
        read: impl FnOnce(Option<&Known>) -> Result<RequestTarget, Refusal>,
    ) -> Result<RequestTarget, Refusal> {
        let mut known = lock(&self.0);
        let target = read(known.as_ref())?;
        if !known.as_ref().is_some_and(|known| target.is(known)) {
            *known = Some(target.known());
        }
        Ok(target)
    }
}

/// The tunnel that requests come through.
#[derive(Clone, Debug)]
pub struct Inside {
    pub tunnel: Tunnel,
    /// Who the CONNECT said it was, and what it wished for: its requests inherit both.
    pub caller: Caller,
}

/// Who asks, and what it wishes for all its requests.
#[derive(Clone, Debug)]
pub struct Caller {
    pub client: Client,
    /// Of its turns, among other clients'.
    pub weight: Weight,
    pub label: Option<Arc<str>>,
    pub wishes: Arc<Wishes>,
}

impl Session {
    /// Whether the client is on this machine: its wishes are trusted by default.
    pub fn is_local(&self) -> bool {
        self.peer.ip().to_canonical().is_loopback()
    }
}
