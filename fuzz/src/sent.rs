//! What holds for everything that is sent to an origin, however the request came here.

use super::memory::{self, End, Moves, Seen, Watched};
use super::strict::{Kind, Message, Reading, read};
use bytes::Bytes;
use http::Request;
use http::request::Parts;
use http_body::Body;
use pacegate::net::body::{Budget, Outgoing, Replay};
use pacegate::net::headers::target::RequestTarget;
use pacegate::net::http1::builder;
use std::error::Error;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// A request that was sent on: where to, and what went over the wire.
pub struct Sent {
    pub target: RequestTarget,
    pub wire: memory::Wire,
    pub seen: Seen,
}

/// Sends a head that the sanitiser has rewritten, and its body, over a connection of its own, until
/// nothing moves any more.
pub async fn send<B>(parts: Parts, target: RequestTarget, body: B, moves: &Moves) -> Sent
where
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let (io, wire) = memory::connect(Bytes::new(), 1, false, moves);
    let (body, seen) = Watched::new(body);
    let replay = Replay::new(body, KEPT, &Budget::new(KEPT));
    let sent = Sent { target, wire, seen };
    let handshake = builder().handshake::<_, Outgoing>(io).await;
    let (mut sender, connection) = handshake.expect("nothing is sent or read yet");
    let sending = sender.send_request(Request::from_parts(parts, replay.outgoing()));
    let (mut connection, mut sending) = (pin!(connection), pin!(sending));
    let (mut before, mut still) = (moves.count(), 0);
    poll_fn(|context| {
        let ended = connection.as_mut().poll(context).is_ready();
        let answered = sending.as_mut().poll(context).is_ready();
        let now = moves.count();
        still = if now == before { still + 1 } else { 0 };
        before = now;
        match ended || answered || still > STILL {
            true => Poll::Ready(()),
            false => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    })
    .await;
    sent
}

impl Sent {
    /// One request and nothing else, that every reader reads alike, meant for the target and with
    /// the body that was read. A body that broke off must not look whole.
    pub fn check(&self) -> Option<Message> {
        let (body, end) = self.seen.notes();
        let bytes = self.wire.heard();
        match (read(&bytes, Kind::Request), end) {
            (Reading::Whole(message, used), End::Whole) => {
                assert_eq!(used, bytes.len(), "more than one message: {}", shown(&bytes));
                assert_eq!(message.body, body, "another body: {}", shown(&bytes));
                self.check_head(&message);
                Some(*message)
            }
            // The head's own framing says that there is none.
            (Reading::Whole(message, _), End::Open) if message.body == body => None,
            (Reading::Partial, End::Open | End::Broken) => None,
            // Nothing was sent: the HTTP library refused it.
            (Reading::Partial, End::Whole) if bytes.is_empty() => None,
            (reading, end) => panic!("{end:?}, {reading:?}: {}", shown(&bytes)),
        }
    }

    fn check_head(&self, message: &Message) {
        let [method, target, version] = &message.first;
        assert_eq!(version, "HTTP/1.1");
        assert_eq!(target, self.target.path.as_str());
        let form = target.starts_with('/') || (target == "*" && method == "OPTIONS");
        assert!(form, "not in origin-form: {target}");
        let hosts: Vec<_> = message.all("host").collect();
        assert_eq!(hosts, [self.target.authority.as_bytes()]);
        for (name, value) in &message.fields {
            let value = String::from_utf8_lossy(value);
            let good = match name.as_str() {
                "connection" => ["TE", "Upgrade", "Upgrade, TE"].contains(&&*value),
                "te" => value == "trailers",
                "upgrade" => value == "websocket",
                "expect" | "keep-alive" | "http2-settings" => false,
                name => !name.starts_with("proxy-") && !name.starts_with("pace-"),
            };
            assert!(good, "passed on: {name}: {value}");
        }
        for (name, _) in &message.trailers {
            let framing = ["content-length", "transfer-encoding", "host", "trailer"];
            assert!(!framing.contains(&name.as_str()), "a trailer {name}");
        }
    }
}

/// Bytes for a message of a failure.
pub fn shown(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

/// Polls without movement: fewer than what drives the whole waits for.
const STILL: u32 = 4;
/// More than any input has.
const KEPT: usize = 1 << 20;
