//! A connection for a request that found none in the pool: dialled, or shared with somebody who
//! dialled at the same time.
//!
//! It must not know what is sent on it.

use crate::judge::outcome::{Fault, Sent};
use crate::net::dial::Protocol;
use crate::net::exchange::{Connection, Sender};
use crate::net::fault;
use crate::net::http1::Http1;
use crate::net::http2::Http2;
use crate::net::tls::Offer;
use std::pin::pin;

impl Sender<'_> {
    /// A fresh connection, or a share of one that arrives meanwhile.
    pub(super) async fn connect(&self, offer: Offer) -> Result<Connection, Fault> {
        if !self.to.secure || offer == Offer::Http1 {
            return self.dial(offer).await;
        }
        let limit = self.pool.dialler.connect_timeout();
        let began = self.pool.clock.now();
        loop {
            let mut arrival = pin!(self.pool.arrivals(self.to).notified_owned());
            arrival.as_mut().enable();
            if let Some(stream) = self.pool.take_stream(self.to) {
                return Ok(Connection::Http2(stream));
            }
            let Some(_dialling) = self.pool.announce(self.to) else {
                let left = limit.saturating_sub(self.pool.clock.now().since(began));
                let waited = tokio::time::timeout(left, arrival).await;
                waited.map_err(|_elapsed| fault::connect_timeout(self.to, limit))?;
                continue;
            };
            tokio::select! {
                biased;
                () = arrival => {}
                dialled = self.dial(offer) => return dialled,
            }
        }
    }

    async fn dial(&self, offer: Offer) -> Result<Connection, Fault> {
        let dialled = self.pool.dialler.http(self.to, offer).await?;
        let open = self.pool.open();
        let failed = |error| fault::before_head(self.to, &error, Sent::Nothing);
        match dialled.protocol {
            Protocol::Http1 => {
                if offer == Offer::Any && self.to.secure {
                    self.pool.learn(self.to, Protocol::Http1);
                }
                Ok(Connection::Http1(Http1::new(dialled.io, open).await.map_err(failed)?))
            }
            Protocol::Http2 => {
                let connection = Http2::new(dialled.io, open).await.map_err(failed)?;
                Ok(Connection::Http2(self.pool.share(self.to, connection)))
            }
        }
    }
}
