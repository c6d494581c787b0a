//! The road to an origin: directly or through a proxy, plain or in TLS.

use crate::{Options, Result};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Either kind of connection.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// Where requests go, and how they get there.
pub struct Road {
    secure: bool,
    host: String,
    port: u16,
    path: String,
    proxy: Option<u16>,
    tls: TlsConnector,
}

impl Road {
    pub fn new(options: &Options) -> Result<Road> {
        let url: http::Uri = options.wanted("to")?.parse()?;
        let host = url.host().ok_or("--to wants a URL")?;
        if !["localhost", "127.0.0.1"].contains(&host) && !host.ends_with(".test") {
            return Err(
                "only loopback is loaded: localhost, 127.0.0.1 or a name under .test".into()
            );
        }
        let h2 = options.number("streams", 0)? > 0;
        Ok(Road {
            secure: url.scheme_str() == Some("https"),
            host: host.to_owned(),
            port: url.port_u16().ok_or("--to wants a port")?,
            path: url.path().to_owned(),
            proxy: options.text("proxy").map(str::parse).transpose()?,
            tls: connector(options.text("trust").unwrap_or_default(), h2)?,
        })
    }

    /// A new connection, with tunnel and TLS where they are needed.
    pub async fn connect(&self) -> Result<Box<dyn Stream>> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.proxy.unwrap_or(self.port))).await?;
        socket.set_nodelay(true)?;
        if !self.secure {
            return Ok(Box::new(socket));
        }
        if self.proxy.is_some() {
            let (host, port) = (&self.host, self.port);
            let ask = format!("CONNECT {host}:{port} HTTP/1.1\r\nhost: {host}:{port}\r\n\r\n");
            socket.write_all(ask.as_bytes()).await?;
            let mut buffer = Vec::with_capacity(1024);
            while !buffer.ends_with(b"\r\n\r\n") {
                if socket.read_buf(&mut buffer).await? == 0 {
                    return Err("the proxy closed on CONNECT".into());
                }
            }
            if !buffer.starts_with(b"HTTP/1.1 200") {
                return Err(String::from_utf8_lossy(&buffer).into());
            }
        }
        let name = ServerName::try_from(self.host.clone())?;
        Ok(Box::new(self.tls.connect(name, socket).await?))
    }

    /// The request, as this road wants it written: what a small crawler sends.
    pub fn request(&self) -> String {
        let Road { host, port, path, .. } = self;
        let target = match self.proxy.is_some() && !self.secure {
            true => format!("http://{host}:{port}{path}"),
            false => path.clone(),
        };
        format!(
            "GET {target} HTTP/1.1\r\nhost: {host}:{port}\r\nuser-agent: load/1.0\r\n\
             accept: */*\r\naccept-encoding: gzip, deflate\r\n\r\n"
        )
    }

    pub fn url(&self) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        format!("{scheme}://{}:{}{}", self.host, self.port, self.path)
    }
}

fn connector(files: &str, h2: bool) -> Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    for file in files.split(',').filter(|file| !file.is_empty()) {
        for certificate in CertificateDer::pem_file_iter(file)? {
            roots.add(certificate?)?;
        }
    }
    let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    config.resumption = tokio_rustls::rustls::client::Resumption::disabled();
    config.alpn_protocols = vec![if h2 { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
    Ok(TlsConnector::from(Arc::new(config)))
}
