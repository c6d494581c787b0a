//! Certificates that do not hold and are accepted all the same, for the hosts that `tls.insecure`
//! names and no other: said once a host, and counted.

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Checks as the library does, and lets named hosts pass.
#[derive(Debug)]
pub struct Lenient {
    strict: Arc<WebPkiServerVerifier>,
    hosts: HashSet<String>,
    accepted: Arc<AtomicU64>,
    said: Mutex<HashSet<String>>,
}

impl Lenient {
    /// Lets these hosts pass, and counts in `accepted` how often it had to.
    pub fn new(
        strict: Arc<WebPkiServerVerifier>,
        hosts: HashSet<String>,
        accepted: Arc<AtomicU64>,
    ) -> Lenient {
        Lenient { strict, hosts, accepted, said: Mutex::default() }
    }

    fn accept(&self, host: String, why: &Error) {
        self.accepted.fetch_add(1, Ordering::Relaxed);
        // One entry a host of `tls.insecure` at most.
        if self.said.lock().unwrap_or_else(PoisonError::into_inner).insert(host.clone()) {
            tracing::warn!(
                host,
                %why,
                "the certificate does not hold and is accepted: `tls.insecure` names the host"
            );
        }
    }
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let error = match self.strict.verify_server_cert(leaf, chain, name, ocsp, now) {
            Ok(verified) => return Ok(verified),
            Err(error) => error,
        };
        let host = name.to_str().into_owned();
        if !self.hosts.contains(&host) {
            return Err(error);
        }
        self.accept(host, &error);
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.strict.verify_tls12_signature(message, leaf, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.strict.verify_tls13_signature(message, leaf, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.strict.supported_verify_schemes()
    }
}
