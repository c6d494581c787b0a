//! The CA itself: a certificate clients trust, and the key that signs leaves.
//!
//! This file must not know where the two are kept (`files` does), nor which names ask for leaves. The
//! key leaves it only as PEM for its own file, and never by `Debug` or an error.

use crate::ca::read::{Facts, certificates_in, key_in, unreadable};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PublicKeyData, SerialNumber,
};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use rustls::pki_types::CertificateDer;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use time::OffsetDateTime;
use x509_parser::prelude::{FromDer, X509Certificate};

/// A CA that can sign: its certificate, its key, and what people ask about it.
pub struct Root {
    certificate: CertificateDer<'static>,
    above: Vec<CertificateDer<'static>>,
    issuer: Issuer<'static, KeyPair>,
    spki_hash: [u8; 32],
    not_before: SystemTime,
    not_after: SystemTime,
    self_signed: bool,
}

/// Why a certificate and a key are no CA we can use. All are for the operator to put right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotACa {
    /// No certificate in the PEM text.
    NoCertificate,
    /// No key in the PEM text.
    NoKey,
    /// The key is encrypted; we have nobody to ask for its pass phrase.
    EncryptedKey,
    /// The key is of a kind that can't sign here.
    UnusableKey,
    /// The certificate can't be read.
    Unreadable(String),
    /// The certificate is of another key.
    OtherKey,
    /// The certificate may not sign others.
    MayNotSign,
    /// Its name can't be repeated in a leaf byte for byte, so no leaf would chain to it.
    Name,
    Expired(SystemTime),
    NotYetValid(SystemTime),
    /// The system's source of randomness, or the signing itself, failed.
    Signing(String),
}

impl Root {
    /// Makes a new CA: P-256, valid for ten years, may sign leaves and nothing that signs.
    pub fn generate(now: SystemTime) -> Result<Root, NotACa> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(signing)?;
        let mut name = [0; 4];
        fill(&mut name)?;
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        let common_name = format!("pacegate CA {:08x}", u32::from_be_bytes(name));
        params.distinguished_name.push(DnType::CommonName, common_name);
        params.serial_number = Some(serial()?);
        params.not_before = date(now - BACK_DATED)?;
        params.not_after = date(now + VALID)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key).map_err(signing)?;
        Root::assemble(vec![certificate.into()], key, now)
    }

    /// Reads a CA from PEM text: a certificate (those after it are the chain above it), and a key
    /// in PKCS#8: EC P-256 or P-384, RSA, Ed25519.
    pub fn from_pem(certificates: &[u8], key: &[u8], now: SystemTime) -> Result<Root, NotACa> {
        let chain = certificates_in(certificates)?;
        Root::assemble(chain, key_in(key)?, now)
    }

    fn assemble(
        mut chain: Vec<CertificateDer<'static>>,
        key: KeyPair,
        now: SystemTime,
    ) -> Result<Root, NotACa> {
        if chain.is_empty() {
            return Err(NotACa::NoCertificate);
        }
        let certificate = chain.remove(0);
        let facts = Facts::read(&certificate)?;
        if facts.spki != key.subject_public_key_info() {
            return Err(NotACa::OtherKey);
        }
        if !facts.may_sign {
            return Err(NotACa::MayNotSign);
        }
        if now >= facts.not_after {
            return Err(NotACa::Expired(facts.not_after));
        }
        if now < facts.not_before {
            return Err(NotACa::NotYetValid(facts.not_before));
        }
        let issuer = Issuer::from_ca_cert_der(&certificate, key).map_err(unreadable)?;
        let root = Root {
            certificate,
            above: chain,
            issuer,
            spki_hash: sha256(&facts.spki),
            not_before: facts.not_before,
            not_after: facts.not_after,
            self_signed: facts.self_signed,
        };
        root.repeats_its_name(&facts.subject)?;
        Ok(root)
    }

    /// Chains are built by comparing names byte for byte, and a foreign CA's name may be written in
    /// a way that is not the way we write it.
    fn repeats_its_name(&self, subject: &[u8]) -> Result<(), NotACa> {
        let probe = CertificateParams::default().signed_by(self.issuer.key(), &self.issuer);
        let probe = probe.map_err(signing)?;
        let (_, parsed) = X509Certificate::from_der(probe.der()).map_err(unreadable)?;
        match parsed.issuer().as_raw() == subject {
            true => Ok(()),
            false => Err(NotACa::Name),
        }
    }

    /// What signs leaves.
    pub(crate) fn issuer(&self) -> &Issuer<'static, KeyPair> {
        &self.issuer
    }

    /// The CA's certificate.
    pub fn der(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// The CA's certificate as PEM text: what a client is told to trust.
    pub fn pem(&self) -> String {
        pem_text("CERTIFICATE", &self.certificate)
    }

    /// The key as PEM text, for its own file only.
    pub(crate) fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// What a leaf is sent with: nothing for a self-signed CA, which the client has; else the CA's
    /// certificate and those above it.
    pub(crate) fn sent_with_leaves(&self) -> Vec<CertificateDer<'static>> {
        if self.self_signed {
            return Vec::new();
        }
        std::iter::once(&self.certificate).chain(&self.above).cloned().collect()
    }

    /// SHA-256 of the certificate, as browsers and OpenSSL show it: `5E:1F:…`.
    pub fn fingerprint(&self) -> String {
        sha256(&self.certificate).map(|byte| format!("{byte:02X}")).join(":")
    }

    /// SHA-256 of the public key in base64: what Chromium's SPKI list takes.
    pub fn spki_sha256(&self) -> String {
        let text = pem_text("X", &self.spki_hash);
        text.lines().filter(|line| !line.starts_with('-')).collect()
    }

    /// When the CA began to be valid.
    pub fn not_before(&self) -> SystemTime {
        self.not_before
    }

    /// When the CA ends to be valid.
    pub fn not_after(&self) -> SystemTime {
        self.not_after
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Root").field("fingerprint", &self.fingerprint()).finish_non_exhaustive()
    }
}

impl fmt::Display for NotACa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotACa::NoCertificate => f.write_str("there is no certificate in it"),
            NotACa::NoKey => f.write_str(
                "there is no PKCS#8 key in it (`openssl pkcs8 -topk8 -nocrypt -in OLD -out NEW` \
                 turns others into one)",
            ),
            NotACa::EncryptedKey => f.write_str(
                "the key is encrypted (`openssl pkcs8 -in OLD -out NEW` takes the pass phrase off)",
            ),
            NotACa::UnusableKey => {
                f.write_str("the key is not one we can sign with (P-256, P-384, RSA, Ed25519)")
            }
            NotACa::Unreadable(why) => write!(f, "the certificate can't be read: {why}"),
            NotACa::OtherKey => f.write_str("the certificate belongs to another key"),
            NotACa::MayNotSign => f.write_str("the certificate is not a CA's: it may not sign"),
            NotACa::Name => f.write_str("the CA's name is written in a way we can't repeat"),
            NotACa::Expired(when) => write!(f, "it expired on {}", day(*when)),
            NotACa::NotYetValid(when) => {
                write!(f, "it is not valid before {} (is the clock right?)", day(*when))
            }
            NotACa::Signing(why) => write!(f, "signing failed: {why}"),
        }
    }
}

/// A serial number: positive, 127 bits, 126 of them random (RFC 5280 §4.1.2.2 allows 159; browsers' rules
/// ask for 64 random ones).
pub(crate) fn serial() -> Result<SerialNumber, NotACa> {
    let mut bytes = [0; 16];
    fill(&mut bytes)?;
    bytes[0] = (bytes[0] & 0x3f) | 0x40;
    Ok(SerialNumber::from_slice(&bytes))
}

/// A moment as a certificate has it: whole seconds.
pub(crate) fn date(moment: SystemTime) -> Result<OffsetDateTime, NotACa> {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    OffsetDateTime::from_unix_timestamp(seconds).map_err(signing)
}

/// A date as people write it: `2036-11-27`.
pub fn day(moment: SystemTime) -> String {
    date(moment).map_or_else(|_| "?".to_owned(), |date| date.date().to_string())
}

fn fill(bytes: &mut [u8]) -> Result<(), NotACa> {
    SystemRandom::new().fill(bytes).map_err(|_| NotACa::Signing("no randomness".to_owned()))
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    digest(&SHA256, bytes).as_ref().try_into().expect("SHA-256 has 32 bytes")
}

fn pem_text(label: &str, der: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let sextet = |word: u32, shift: u32| ALPHABET[(word >> shift) as usize & 63] as char;
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in der.chunks(PEM_LINE) {
        for three in line.chunks(3) {
            let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
            let word = byte(0) << 16 | byte(1) << 8 | byte(2);
            text.push(sextet(word, 18));
            text.push(sextet(word, 12));
            text.push(if three.len() > 1 { sextet(word, 6) } else { '=' });
            text.push(if three.len() > 2 { sextet(word, 0) } else { '=' });
        }
        text.push('\n');
    }
    text + &format!("-----END {label}-----\n")
}

fn signing(why: impl fmt::Display) -> NotACa {
    NotACa::Signing(why.to_string())
}

/// Ten years without leap days: who trusts a CA by hand wants to do it once.
const VALID: Duration = Duration::from_secs(3650 * 86_400);
/// For clients whose clock is behind; as far as its leaves.
const BACK_DATED: Duration = Duration::from_secs(2 * 86_400);
/// Bytes in a line of 64 characters (RFC 7468 §2).
const PEM_LINE: usize = 48;
