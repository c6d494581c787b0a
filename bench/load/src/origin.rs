//! The origin: answers `GET /BYTES` with so many bytes, and `/busy` with 503.

use crate::{Options, Result};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls_pki_types::PrivateKeyDer;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::spawn_local;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

/// Serves until it is killed.
pub async fn serve(options: &Options) -> Result<()> {
    let acceptor = TlsAcceptor::from(Arc::new(certificate(options.wanted("ca")?)?));
    let plain = listen(options.number("plain", 0)?).await?;
    let tls = listen(options.number("tls", 0)?).await?;
    println!("{} {}", plain.local_addr()?.port(), tls.local_addr()?.port());
    loop {
        tokio::select! {
            accepted = plain.accept() => {
                let (socket, _) = accepted?;
                socket.set_nodelay(true)?;
                // A client that goes away is not worth a word.
                spawn_local(async move { answer(socket).await.ok() });
            }
            accepted = tls.accept() => {
                let (socket, _) = accepted?;
                socket.set_nodelay(true)?;
                let acceptor = acceptor.clone();
                spawn_local(async move { answer(acceptor.accept(socket).await?).await });
            }
        }
    }
}

async fn listen(port: usize) -> Result<TcpListener> {
    Ok(TcpListener::bind(("127.0.0.1", u16::try_from(port)?)).await?)
}

async fn answer<T: AsyncRead + AsyncWrite + Unpin>(mut stream: T) -> std::io::Result<()> {
    let (mut buffer, mut out) = (Vec::with_capacity(4096), Vec::new());
    let filler = vec![b'x'; 1 << 20];
    loop {
        while !buffer.ends_with(b"\r\n\r\n") {
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        }
        let path = buffer.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
        let path = std::str::from_utf8(path).unwrap_or_default();
        let (status, size) = match path.trim_start_matches('/') {
            "busy" => ("503 Service Unavailable", 0),
            size => ("200 OK", size.parse().unwrap_or(0).min(filler.len())),
        };
        out.clear();
        out.extend_from_slice(
            format!(
                "HTTP/1.1 {status}\r\nserver: load\r\ndate: Sat, 01 Jan 2028 00:00:00 GMT\r\n\
                 content-type: text/plain\r\ncontent-length: {size}\r\n\
                 last-modified: Sat, 01 Jan 2028 00:00:00 GMT\r\netag: \"5e0be100-400\"\r\n\
                 accept-ranges: bytes\r\n\r\n"
            )
            .as_bytes(),
        );
        out.extend_from_slice(&filler[..size]);
        stream.write_all(&out).await?;
        stream.flush().await?;
        buffer.clear();
    }
}

/// A CA, written to `file`, and a certificate of it for the origin's names.
fn certificate(file: &str) -> Result<ServerConfig> {
    let authority_key = KeyPair::generate()?;
    let mut authority = CertificateParams::new([])?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = authority.self_signed(&authority_key)?;
    std::fs::write(file, root.pem())?;
    let key = KeyPair::generate()?;
    let names = ["localhost", "origin.test", "127.0.0.1"].map(str::to_owned);
    let issuer = Issuer::new(authority, authority_key);
    let leaf = CertificateParams::new(names)?.signed_by(&key, &issuer)?;
    let key = PrivateKeyDer::try_from(key.serialize_der())?;
    let config = ServerConfig::builder().with_no_client_auth();
    Ok(config.with_single_cert(vec![leaf.der().clone()], key)?)
}
