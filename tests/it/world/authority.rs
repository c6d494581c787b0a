//! A certificate authority of the test's own, for origins that speak TLS.

use super::folder::Folder;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    SubjectPublicKeyInfo,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Signs the certificates of a test's origins. Give [`Authority::file`] to the proxy as `tls.roots`.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    file: PathBuf,
    _folder: Folder,
}

impl Authority {
    /// A new authority with a key nobody else has.
    pub fn new() -> Authority {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.distinguished_name.push(DnType::CommonName, "the origins' test authority");
        let key = KeyPair::generate().expect("a key can be made");
        let certificate = params.self_signed(&key).expect("the parameters are valid");
        let folder = Folder::new();
        let file = folder.write("origins-ca.pem", &certificate.pem());
        Authority { issuer: Issuer::new(params, key), file, _folder: folder }
    }

    /// One that somebody keeps in files: certificate and key as PEM.
    pub fn kept(certificate: &Path, key: &Path) -> Authority {
        let read = |file: &Path| {
            std::fs::read_to_string(file)
                .unwrap_or_else(|error| panic!("{} can't be read: {error}", file.display()))
        };
        let key = KeyPair::from_pem(&read(key)).expect("a key as PEM");
        let issuer = Issuer::from_ca_cert_pem(&read(certificate), key).expect("a CA as PEM");
        Authority { issuer, file: certificate.to_owned(), _folder: Folder::new() }
    }

    /// The authority's certificate as PEM.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// What a server of these names (or IP addresses) needs.
    pub fn certify(&self, names: &[&str]) -> Arc<ServerConfig> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let params = CertificateParams::new(names).expect("the names are valid");
        let key = KeyPair::generate().expect("a key can be made");
        server(vec![self.sign(&params, &key)], key.serialize_der())
    }

    /// Signs for a key that somebody else keeps; the certificate as PEM.
    pub fn vouch(&self, params: &CertificateParams, key: &SubjectPublicKeyInfo) -> String {
        params.signed_by(key, &self.issuer).expect("the issuer can sign").pem()
    }

    /// Signs whatever it is asked to.
    pub fn sign(&self, params: &CertificateParams, key: &KeyPair) -> CertificateDer<'static> {
        let signed = params.signed_by(key, &self.issuer).expect("the issuer can sign");
        signed.der().clone()
    }
}

/// A server that shows this chain, whose first key (PKCS #8) it has.
pub fn server(chain: Vec<CertificateDer<'static>>, key: Vec<u8>) -> Arc<ServerConfig> {
    let secret = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key));
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .expect("ring has both versions")
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .expect("key and certificate belong together");
    Arc::new(config)
}

/// A TLS client that trusts the certificates in a PEM file and no others.
pub fn trusting(file: &Path, protocols: &[&[u8]]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    let found = CertificateDer::pem_file_iter(file)
        .unwrap_or_else(|error| panic!("{} can't be read: {error}", file.display()));
    for certificate in found {
        roots.add(certificate.expect("valid PEM")).expect("a valid certificate");
    }
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .expect("ring has both versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Arc::new(config)
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
