//! One leaf: a certificate that says we are a host.
//!
//! This file must not know about caches, connections or who asks.

use crate::ca::root::{NotACa, Root, date, serial};
use crate::pace::scope::Host;
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls::pki_types::CertificateDer;
use std::fmt;
use std::time::{Duration, SystemTime};

/// A minted leaf and the span in which it is shown.
#[derive(Clone, Debug)]
pub struct Leaf {
    pub certificate: CertificateDer<'static>,
    /// Before this moment (the wall clock went back) another is minted.
    pub usable_from: SystemTime,
    /// From this moment on another is minted: two thirds of its life are over.
    pub renew_at: SystemTime,
}

/// Why there is no leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeafError {
    /// The CA has expired since the start.
    CaExpired(SystemTime),
    /// Signing failed; the text is for the log.
    Signing(String),
}

impl Leaf {
    /// Mints a leaf for `host`: 30 days, two of them in the past, never longer than the CA. `key` is
    /// the one key all leaves of a process share. Where the wall clock has gone back to before the
    /// CA, the leaf is of the CA's first days: its clients' clocks may be right.
    pub fn mint(
        host: &Host,
        root: &Root,
        key: &KeyPair,
        now: SystemTime,
    ) -> Result<Leaf, LeafError> {
        if now >= root.not_after() {
            return Err(LeafError::CaExpired(root.not_after()));
        }
        let not_before = (now - BACK_DATED).max(root.not_before());
        let not_after = (now.max(not_before) + AHEAD).min(root.not_after());
        let mut params = CertificateParams::default();
        params.distinguished_name = subject(host);
        params.subject_alt_names = vec![alternative_name(host)?];
        params.serial_number = Some(serial()?);
        params.not_before = date(not_before)?;
        params.not_after = date(not_after)?;
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let certificate = params.signed_by(key, root.issuer()).map_err(signing)?;
        let life = not_after.duration_since(not_before).unwrap_or_default();
        Ok(Leaf {
            certificate: certificate.into(),
            usable_from: not_before,
            renew_at: not_before + life * 2 / 3,
        })
    }
}

impl From<NotACa> for LeafError {
    fn from(why: NotACa) -> LeafError {
        LeafError::Signing(why.to_string())
    }
}

impl fmt::Display for LeafError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeafError::CaExpired(when) => {
                write!(f, "the CA expired on {}", crate::ca::root::day(*when))
            }
            LeafError::Signing(why) => write!(f, "no leaf could be signed: {why}"),
        }
    }
}

/// A name that doesn't fit a common name (64 characters, RFC 5280 appendix A.1) has an empty
/// subject, and rcgen then marks the alternative name critical, as §4.1.2.6 asks.
fn subject(host: &Host) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    if host.as_str().len() <= COMMON_NAME_BYTES {
        name.push(DnType::CommonName, host.as_str());
    }
    name
}

fn alternative_name(host: &Host) -> Result<SanType, LeafError> {
    match host.ip() {
        Some(address) => Ok(SanType::IpAddress(address)),
        None => Ok(SanType::DnsName(host.as_str().try_into().map_err(signing)?)),
    }
}

fn signing(why: impl fmt::Display) -> LeafError {
    LeafError::Signing(why.to_string())
}

const COMMON_NAME_BYTES: usize = 64;
/// For clients whose clock is behind. With [`AHEAD`] 30 days: under every client's limit (browsers'
/// falls to 47 days by 2029), and long enough that a leaf outlives most runs.
const BACK_DATED: Duration = Duration::from_secs(2 * 86_400);
const AHEAD: Duration = Duration::from_secs(28 * 86_400);
