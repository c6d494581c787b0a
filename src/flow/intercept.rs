//! TLS inside a tunnel: our leaf for the name the client asks for, then its requests.

use crate::flow::serve;
use crate::flow::session::Session;
use crate::flow::works::Flow;
use crate::metrics::labels::TlsFailure;
use crate::net::rewind::Rewound;
use crate::net::speak::{Heard, Speaker};
use crate::net::wire::Wire;
use crate::pace::scope::Host;
use rustls::server::Acceptor;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

/// A client's stream under our leaf.
type Intercepted = Speaker<TlsStream<Rewound<Wire>>>;

/// Shakes hands with the client of a tunnel to `host` and serves its requests. `agent` is what the
/// CONNECT called itself, for the log.
pub async fn intercept(
    flow: Arc<Flow>,
    session: Session,
    host: Host,
    agent: Arc<str>,
    wire: Rewound<Wire>,
) {
    let (aside, spoken) = match timeout(HANDSHAKE, Box::pin(handshake(&flow, &host, wire))).await {
        Ok(Ok(stream)) => {
            let speaker =
                Speaker::new(stream, flow.clock.clone(), flow.terms.read().manners.unread);
            let aside = speaker.aside();
            let presence = session.presence.clone().through(aside.clone());
            (aside, speak(flow.clone(), Session { presence, ..session }, speaker))
        }
        Ok(Err(error)) => return flow.distrust(&agent, &host, &error.to_string()),
        Err(_) => return flow.meter.client_tls_failure(TlsFailure::Timeout),
    };
    spoken.await;
    match aside.heard() {
        Heard::Bytes | Heard::Nothing => {}
        Heard::Closed => flow.distrust(&agent, &host, "closed before its first request"),
        Heard::Failed(why) => flow.distrust(&agent, &host, &why),
    }
}

async fn handshake(
    flow: &Flow,
    host: &Host,
    wire: Rewound<Wire>,
) -> io::Result<TlsStream<Rewound<Wire>>> {
    let start = LazyConfigAcceptor::new(Acceptor::default(), wire).await?;
    let config = flow
        .keyring
        .accept_config(host, start.client_hello().server_name())
        .map_err(|why| io::Error::other(why.to_string()))?;
    start.into_stream(config).await
}

fn speak(
    flow: Arc<Flow>,
    session: Session,
    speaker: Intercepted,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    let (_, tls) = speaker.inner().get_ref();
    match tls.alpn_protocol() == Some(b"h2") {
        true => Box::pin(serve::http2(flow, session, speaker)),
        false => Box::pin(serve::http1(flow, session, speaker)),
    }
}

/// From the ClientHello's first byte to the end of the handshake (http.md A5).
const HANDSHAKE: Duration = Duration::from_secs(10);
