//! The playbook's TLS: a CA of the test's own, and origins that speak HTTP/1.1 or HTTP/2 in TLS.

use super::world::{Note, Origin, Peer, origin, pool_with, reach};
use crate::net::pool::Pool;
use crate::net::settings::Roots;
use crate::net::target::Target;
use crate::pace::scope::Host;
use bytes::Bytes;
use h2::server::SendResponse;
use http::{Request, Response};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

pub(super) const NAME: &str = "shop.localhost";

pub(super) struct Ca {
    issuer: Issuer<'static, KeyPair>,
    pub der: CertificateDer<'static>,
    pub path: PathBuf,
}

impl Ca {
    pub(super) fn new() -> Ca {
        static SERIAL: AtomicUsize = AtomicUsize::new(0);
        let key = KeyPair::generate().expect("key");
        let mut params = CertificateParams::new(vec![]).expect("params");
        // Two CAs of one name are told apart by their keys only: another fault.
        let serial = SERIAL.fetch_add(1, SeqCst);
        params.distinguished_name.push(DnType::CommonName, format!("Test CA {serial}"));
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).expect("certificate");
        let name = format!("pacegate-{}-{serial}.pem", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, certificate.pem()).expect("file");
        Ca { issuer: Issuer::new(params, key), der: certificate.der().clone(), path }
    }

    /// A pool that trusts this CA and no other.
    pub(super) fn pool(&self) -> Pool {
        let mut reach = reach();
        reach.roots = Roots::File(self.path.clone());
        pool_with(&reach)
    }

    /// A server with a certificate from this CA.
    pub(super) fn server(&self, params: &CertificateParams, protocols: &[&str]) -> TlsAcceptor {
        let key = KeyPair::generate().expect("key");
        let certificate = params.signed_by(&key, &self.issuer).expect("certificate");
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("certificate");
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        TlsAcceptor::from(Arc::new(config))
    }
}

impl Drop for Ca {
    fn drop(&mut self) {
        let _gone = std::fs::remove_file(&self.path);
    }
}

pub(super) fn params(name: &str) -> CertificateParams {
    CertificateParams::new(vec![name.to_owned()]).expect("params")
}

pub(super) fn secure(name: &str, port: u16) -> Target {
    Target { secure: true, host: Host::parse(name).expect("host"), port }
}

/// An origin in TLS: `serve` gets the decrypted stream.
pub(super) async fn tls_origin<F, Serving>(acceptor: TlsAcceptor, serve: F) -> Origin
where
    F: Fn(TlsStream<TcpStream>, Note) -> Serving + Clone + Send + 'static,
    Serving: Future<Output = ()> + Send + 'static,
{
    origin(move |peer: Peer| {
        let (acceptor, serve) = (acceptor.clone(), serve.clone());
        async move {
            let (stream, note) = peer.split();
            if let Ok(stream) = acceptor.accept(stream).await {
                serve(stream, note).await;
            }
        }
    })
    .await
}

pub(super) type Respond = SendResponse<Bytes>;

/// An HTTP/2 origin: `answer` gets each request.
pub(super) async fn h2_origin<F, Answering>(ca: &Ca, most_streams: u32, answer: F) -> Origin
where
    F: Fn(Request<h2::RecvStream>, Respond, usize) -> Answering + Clone + Send + 'static,
    Answering: Future<Output = Ending> + Send + 'static,
{
    let acceptor = ca.server(&params(NAME), &["h2", "http/1.1"]);
    tls_origin(acceptor, move |stream, note| {
        let answer = answer.clone();
        async move {
            let mut builder = h2::server::Builder::new();
            builder.max_concurrent_streams(most_streams);
            let Ok(mut connection) = builder.handshake(stream).await else { return };
            let (ends, mut ended) = tokio::sync::mpsc::unbounded_channel();
            loop {
                tokio::select! {
                    accepted = connection.accept() => {
                        let Some(Ok((request, respond))) = accepted else { return };
                        note.push(request.uri().path());
                        let (answer, ends, nth) = (answer.clone(), ends.clone(), note.nth);
                        tokio::spawn(async move {
                            let _gone = ends.send(answer(request, respond, nth).await);
                        });
                    }
                    Some(ending) = ended.recv() => match ending {
                        Ending::Stay => {}
                        Ending::Abrupt(reason) => connection.abrupt_shutdown(reason),
                        Ending::Graceful => connection.graceful_shutdown(),
                    },
                }
            }
        }
    })
    .await
}

/// What becomes of an HTTP/2 connection after an answer.
pub(super) enum Ending {
    Stay,
    Abrupt(h2::Reason),
    Graceful,
}

pub(super) fn say(respond: &mut Respond, status: u16, body: &'static str) {
    let head = Response::builder().status(status).body(()).expect("head");
    if let Ok(mut stream) = respond.send_response(head, false) {
        let _gone = stream.send_data(Bytes::from_static(body.as_bytes()), true);
    }
}
