//! Reading certificates and keys, ours or somebody else's, from PEM and DER.
//!
//! This file must not know what they are used for.

use crate::ca::root::NotACa;
use rcgen::KeyPair;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use x509_parser::prelude::{FromDer, X509Certificate};

/// What we need to know of a certificate.
pub(crate) struct Facts {
    pub spki: Vec<u8>,
    pub subject: Vec<u8>,
    pub not_before: SystemTime,
    pub not_after: SystemTime,
    pub may_sign: bool,
    pub self_signed: bool,
}

impl Facts {
    pub fn read(certificate: &CertificateDer<'_>) -> Result<Facts, NotACa> {
        let (_, parsed) = X509Certificate::from_der(certificate).map_err(unreadable)?;
        let usage = parsed.key_usage().map_err(unreadable)?;
        let validity = parsed.validity();
        Ok(Facts {
            spki: parsed.public_key().raw.to_vec(),
            subject: parsed.subject().as_raw().to_vec(),
            not_before: moment(validity.not_before.timestamp()),
            not_after: moment(validity.not_after.timestamp()),
            may_sign: parsed.is_ca() && usage.is_none_or(|usage| usage.value.key_cert_sign()),
            self_signed: parsed.subject().as_raw() == parsed.issuer().as_raw(),
        })
    }
}

/// The certificates of a PEM text, in order.
pub(crate) fn certificates_in(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, NotACa> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    read.map_err(unreadable)
}

/// The first key of a PEM text, if it is one we can sign with.
pub(crate) fn key_in(pem: &[u8]) -> Result<KeyPair, NotACa> {
    let Ok(key) = PrivateKeyDer::from_pem_slice(pem) else {
        let encrypted = pem.windows(ENCRYPTED.len()).any(|window| window == ENCRYPTED);
        return Err(if encrypted { NotACa::EncryptedKey } else { NotACa::NoKey });
    };
    let PrivateKeyDer::Pkcs8(_) = &key else {
        return Err(NotACa::NoKey);
    };
    KeyPair::try_from(&key).map_err(|_| NotACa::UnusableKey)
}

fn moment(seconds: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

/// The error of a certificate that can't be read.
pub(crate) fn unreadable(why: impl fmt::Display) -> NotACa {
    NotACa::Unreadable(why.to_string())
}

const ENCRYPTED: &[u8] = b"ENCRYPTED PRIVATE KEY";
