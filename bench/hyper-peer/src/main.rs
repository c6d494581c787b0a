//! hudsucker with no handlers: `hyper-peer LISTEN CA_CERT CA_KEY ROOTS`, all files PEM.

use hudsucker::Proxy;
use hudsucker::certificate_authority::RcgenAuthority;
use hudsucker::rcgen::{Issuer, KeyPair};
use hudsucker::rustls::crypto::aws_lc_rs::default_provider;
use hudsucker::rustls::pki_types::CertificateDer;
use hudsucker::rustls::pki_types::pem::PemObject;
use hudsucker::rustls::{ClientConfig, RootCertStore};
use std::error::Error;
use std::sync::Arc;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [listen, certificate, key, trusted] = &arguments[..] else {
        return Err("hyper-peer LISTEN CA_CERT CA_KEY ROOTS".into());
    };
    let key = KeyPair::from_pem(&std::fs::read_to_string(key)?)?;
    let issuer = Issuer::from_ca_cert_pem(&std::fs::read_to_string(certificate)?, key)?;
    let mut roots = RootCertStore::empty();
    for root in CertificateDer::pem_file_iter(trusted)? {
        roots.add(root?)?;
    }
    let tls = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = hyper_rustls::HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_all_versions()
        .build();
    Proxy::builder()
        .with_addr(listen.parse()?)
        .with_ca(RcgenAuthority::new(issuer, 1_000, default_provider()))
        .with_http_connector(connector)
        .build()?
        .start()
        .await?;
    Ok(())
}
