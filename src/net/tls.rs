//! TLS towards origins: whom we trust, what we offer. Never the proxy's own CA, never TLS 1.1.
//!
//! It must not know about sockets: a client configuration and a name come out.

use crate::net::fault;
use crate::net::lenient::Lenient;
use crate::net::settings::Roots;
use crate::net::target::Target;
use crate::pace::scope::Host;
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tokio_rustls::TlsConnector;

use crate::judge::outcome::Fault;

/// TLS as a client.
#[derive(Clone)]
pub struct ClientTls {
    any: TlsConnector,
    http1: TlsConnector,
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientTls")
    }
}

/// Why there is nobody to trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RootsError {
    /// The file can't be read; the text is the system's.
    Unreadable(String),
    /// The file has no certificate that can be trusted as a root.
    Empty,
    /// The TLS library refused its configuration; the text is its own.
    Library(String),
}

impl fmt::Display for RootsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RootsError::Unreadable(why) => write!(f, "the roots can't be read: {why}"),
            RootsError::Empty => f.write_str("the file has no root certificate"),
            RootsError::Library(why) => write!(f, "TLS can't be set up: {why}"),
        }
    }
}

impl std::error::Error for RootsError {}

/// What is not as strict as it should be.
#[derive(Clone, Debug, Default)]
pub struct Lenience {
    /// Hosts whose certificates need not hold.
    pub insecure: Vec<Host>,
    /// Secrets go to the file that `SSLKEYLOGFILE` names.
    pub key_log: bool,
    /// How many certificates did not hold and were accepted.
    pub accepted: Arc<AtomicU64>,
}

impl Lenience {
    fn soften(
        &self,
        config: &mut ClientConfig,
        store: &Arc<RootCertStore>,
    ) -> Result<(), RootsError> {
        if self.key_log {
            config.key_log = Arc::new(rustls::KeyLogFile::new());
        }
        if !self.insecure.is_empty() {
            let provider = config.crypto_provider().clone();
            let strict = WebPkiServerVerifier::builder_with_provider(store.clone(), provider);
            let strict = strict.build().map_err(|why| RootsError::Library(why.to_string()))?;
            let hosts = self.insecure.iter().map(|host| host.as_str().to_owned()).collect();
            let lenient = Lenient::new(strict, hosts, self.accepted.clone());
            config.dangerous().set_certificate_verifier(Arc::new(lenient));
        }
        Ok(())
    }
}

/// Which protocols are offered in the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// HTTP/2, or HTTP/1.1.
    Any,
    /// HTTP/1.1 only: for upgrades, and origins that asked for it.
    Http1,
}

impl ClientTls {
    /// TLS that trusts `roots`, except what has a key of `never`: our own CA.
    ///
    /// # Errors
    ///
    /// The named file can't be read or holds no root.
    pub fn new(roots: &Roots, never: &[CertificateDer<'static>]) -> Result<ClientTls, RootsError> {
        ClientTls::with(roots, never, &Lenience::default())
    }

    /// The same with exceptions.
    ///
    /// # Errors
    ///
    /// As [`ClientTls::new`].
    pub fn with(
        roots: &Roots,
        never: &[CertificateDer<'static>],
        lenience: &Lenience,
    ) -> Result<ClientTls, RootsError> {
        let store = Arc::new(load(roots, never)?);
        let resumption = Resumption::in_memory_sessions(SESSIONS);
        let connector = |protocols: &[&[u8]]| {
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let mut config = ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .map_err(|error| RootsError::Library(error.to_string()))?
                .with_root_certificates(store.clone())
                .with_no_client_auth();
            lenience.soften(&mut config, &store)?;
            config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
            config.resumption = resumption.clone();
            Ok(TlsConnector::from(Arc::new(config)))
        };
        Ok(ClientTls { any: connector(&[H2, HTTP1])?, http1: connector(&[HTTP1])? })
    }

    /// The connector for an offer.
    pub fn connector(&self, offer: Offer) -> &TlsConnector {
        match offer {
            Offer::Any => &self.any,
            Offer::Http1 => &self.http1,
        }
    }
}

/// The name the origin's certificate must have, which is also its SNI; an address needs an IP SAN.
///
/// # Errors
///
/// The host can't stand in a certificate.
pub fn server_name(target: &Target) -> Result<ServerName<'static>, Fault> {
    ServerName::try_from(target.host.as_str().to_owned())
        .map_err(|_| fault::not_a_server_name(target))
}

/// Whether a protocol chosen by the origin is HTTP/2.
pub fn is_h2(protocol: Option<&[u8]>) -> bool {
    protocol == Some(H2)
}

fn load(roots: &Roots, never: &[CertificateDer<'static>]) -> Result<RootCertStore, RootsError> {
    match roots {
        Roots::File(path) => {
            let mut store = RootCertStore::empty();
            store.add_parsable_certificates(read(path)?);
            without(&mut store, never);
            if store.is_empty() { Err(RootsError::Empty) } else { Ok(store) }
        }
        Roots::Auto => {
            let mut store = RootCertStore::empty();
            store.add_parsable_certificates(system());
            without(&mut store, never);
            if store.is_empty() {
                store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
            }
            Ok(store)
        }
    }
}

fn read(path: &Path) -> Result<Vec<CertificateDer<'static>>, RootsError> {
    let unreadable = |error: &dyn fmt::Display| RootsError::Unreadable(error.to_string());
    let pem = std::fs::read(path).map_err(|error| unreadable(&error))?;
    CertificateDer::pem_slice_iter(&pem).collect::<Result<_, _>>().map_err(|e| unreadable(&e))
}

/// The system's roots, from where it keeps them. `SSL_CERT_FILE` is not asked: in a pod, and in
/// what `pacegate run` starts, it names our own CA.
fn system() -> Vec<CertificateDer<'static>> {
    let overridden = ["SSL_CERT_FILE", "SSL_CERT_DIR"].map(std::env::var_os);
    if overridden.iter().all(Option::is_none) {
        return rustls_native_certs::load_native_certs().certs;
    }
    let bundle = BUNDLES.iter().map(Path::new).find(|path| path.exists());
    match bundle {
        Some(_) => rustls_native_certs::load_certs_from_paths(bundle, None).certs,
        None => Vec::new(),
    }
}

/// Leaves out every root with a key of `never`, whatever its certificate's dates and serial.
fn without(store: &mut RootCertStore, never: &[CertificateDer<'static>]) {
    let mut shunned = RootCertStore::empty();
    shunned.add_parsable_certificates(never.iter().cloned());
    store.roots.retain(|root| {
        let key = &root.subject_public_key_info;
        !shunned.roots.iter().any(|shunned| &shunned.subject_public_key_info == key)
    });
}

const H2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";
/// rustls keeps 256 by default; a crawl visits more hosts. Some 1 KiB each.
const SESSIONS: usize = 2048;
/// Where Debian, Fedora, SUSE, RHEL and Alpine keep theirs.
const BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
