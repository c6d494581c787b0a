//! The TLS set-ups we accept clients with: one leaf per host, kept while it is fresh, minted once
//! however many ask at the same time, in bounded memory.
//!
//! Everything but the leaf is shared by all set-ups: key, session tickets, provider. A lookup is one
//! short lock of one of [`SHARDS`]; minting happens under it, for it takes some 25 µs, and that is
//! what makes sure that a name is minted once.

use crate::ca::leaf::{Leaf, LeafError};
use crate::ca::root::Root;
use crate::clock::Clock;
use crate::pace::scope::Host;
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256};
use rustls::ServerConfig;
use rustls::crypto::ring::{Ticketer, default_provider, sign::any_ecdsa_type};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::ResolvesServerCertUsingSni;
use rustls::sign::{CertifiedKey, SigningKey, SingleCertAndKey};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// Leaves by host, and the set-ups that show them.
pub struct Keyring {
    root: Root,
    leaf_key: KeyPair,
    signing_key: Arc<dyn SigningKey>,
    /// What every set-up shares; its own leaf is put in on a copy.
    pattern: ServerConfig,
    above: Vec<CertificateDer<'static>>,
    clock: Clock,
    shards: Vec<Mutex<Shard>>,
}

impl Keyring {
    /// A keyring of one CA. Makes the key all its leaves share.
    pub fn new(root: Root, clock: Clock) -> Result<Keyring, LeafError> {
        let leaf_key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(signing)?;
        let der = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(leaf_key.serialize_der()));
        let signing_key = any_ecdsa_type(&der).map_err(signing)?;
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        let above = root.sent_with_leaves();
        Ok(Keyring { root, leaf_key, signing_key, pattern: pattern()?, above, clock, shards })
    }

    /// The set-up for a client that asked for `connect_host` and says `sni` in its hello: the leaf is
    /// for the name it says, if that is a DNS name, for it checks the leaf against that; else for the
    /// host it connected to.
    pub fn accept_config(
        &self,
        connect_host: &Host,
        sni: Option<&str>,
    ) -> Result<Arc<ServerConfig>, LeafError> {
        let said = sni.filter(|sni| !connect_host.is_written(sni));
        match said.and_then(|sni| Host::parse(sni).ok()).filter(|host| host.ip().is_none()) {
            Some(host) => self.server_config(&host),
            None => self.server_config(connect_host),
        }
    }

    /// The set-up whose leaf is for `host`.
    pub fn server_config(&self, host: &Host) -> Result<Arc<ServerConfig>, LeafError> {
        let now = self.clock.wall();
        let mut shard = self.shard(host);
        if let Some(config) = shard.fresh(host, now) {
            return Ok(config);
        }
        let leaf = Leaf::mint(host, &self.root, &self.leaf_key, now)?;
        let entry = Entry {
            host: host.clone(),
            config: Arc::new(self.showing(&leaf)),
            usable_from: leaf.usable_from,
            renew_at: leaf.renew_at,
            asked_again: false,
        };
        let config = entry.config.clone();
        shard.issued += 1;
        shard.put(entry);
        Ok(config)
    }

    /// Leaves minted since the start.
    pub fn issued(&self) -> u64 {
        self.shards.iter().map(|shard| lock(shard).issued).sum()
    }

    /// Leaves kept at the moment: at most [`Keyring::MOST`].
    pub fn kept(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).entries.len()).sum()
    }

    /// The CA.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Most leaves kept.
    pub const MOST: usize = SHARDS * SHARD_ENTRIES;

    fn showing(&self, leaf: &Leaf) -> ServerConfig {
        let mut chain = Vec::with_capacity(1 + self.above.len());
        chain.push(leaf.certificate.clone());
        chain.extend(self.above.iter().cloned());
        let shown = CertifiedKey::new(chain, self.signing_key.clone());
        let mut config = self.pattern.clone();
        config.cert_resolver = Arc::new(SingleCertAndKey::from(shown));
        config
    }

    fn shard(&self, host: &Host) -> MutexGuard<'_, Shard> {
        lock(&self.shards[host.hash() as usize % SHARDS])
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyring").field("root", &self.root).finish_non_exhaustive()
    }
}

/// A part of the leaves, bounded: the one that goes is one nobody asked for twice lately, so that a
/// spray of names passes through without driving out those in use (second chance).
#[derive(Default)]
struct Shard {
    places: HashMap<Host, usize>,
    entries: Vec<Entry>,
    hand: usize,
    issued: u64,
}

struct Entry {
    host: Host,
    config: Arc<ServerConfig>,
    usable_from: SystemTime,
    renew_at: SystemTime,
    asked_again: bool,
}

impl Shard {
    fn fresh(&mut self, host: &Host, now: SystemTime) -> Option<Arc<ServerConfig>> {
        let entry = &mut self.entries[*self.places.get(host)?];
        if now < entry.usable_from || entry.renew_at <= now {
            return None;
        }
        entry.asked_again = true;
        Some(entry.config.clone())
    }

    fn put(&mut self, entry: Entry) {
        if let Some(&place) = self.places.get(&entry.host) {
            self.entries[place] = entry;
            return;
        }
        if self.entries.len() < SHARD_ENTRIES {
            self.places.insert(entry.host.clone(), self.entries.len());
            self.entries.push(entry);
            return;
        }
        let place = self.next_to_go();
        self.places.remove(&self.entries[place].host);
        self.places.insert(entry.host.clone(), place);
        self.entries[place] = entry;
    }

    /// Ends: a round of the hand clears every mark it meets.
    fn next_to_go(&mut self) -> usize {
        loop {
            let place = self.hand;
            self.hand = (self.hand + 1) % SHARD_ENTRIES;
            if !std::mem::take(&mut self.entries[place].asked_again) {
                return place;
            }
        }
    }
}

fn pattern() -> Result<ServerConfig, LeafError> {
    let mut pattern = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(signing)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(ResolvesServerCertUsingSni::new()));
    pattern.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    pattern.ticketer = Ticketer::new().map_err(signing)?;
    Ok(pattern)
}

/// A panic under the lock leaves a shard that is still whole: every change to it is two steps that
/// don't panic.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

fn signing(why: impl fmt::Display) -> LeafError {
    LeafError::Signing(why.to_string())
}

/// So many that two cores seldom meet at one.
const SHARDS: usize = 16;
/// 1,024 names in all: some 2 KiB each.
const SHARD_ENTRIES: usize = 64;
