//! Requests that are sent and wait: what a crowd costs a proxy that holds them.

use crate::wire::{Road, Stream};
use crate::{Options, Result};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::spawn_local;

/// Sends them, says so, waits for the end of its input, and leaves.
pub async fn run(options: &Options, road: Rc<Road>) -> Result<()> {
    let (requests, streams) = (options.number("requests", 1000)?, options.number("streams", 0)?);
    let early = Rc::new(Cell::new(0));
    let mut held = Vec::new();
    while held.len() < requests.div_ceil(streams.max(1)) {
        let stream = road.connect().await?;
        let (road, early) = (road.clone(), early.clone());
        held.push(match streams {
            0 => spawn_local(one(stream, road.request(), early)),
            streams => spawn_local(many(stream, road.url(), streams, early)),
        });
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    println!("{{\"held\": {}, \"answered\": {}}}", requests, early.get());
    tokio::io::copy(&mut input()?, &mut tokio::io::sink()).await?;
    held.iter().for_each(tokio::task::JoinHandle::abort);
    Ok(())
}

async fn one(mut stream: Box<dyn Stream>, request: String, early: Rc<Cell<usize>>) -> Result<()> {
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await?;
    let read = stream.read_u8().await;
    early.set(early.get() + 1);
    read?;
    Ok(())
}

async fn many(
    stream: Box<dyn Stream>,
    url: String,
    streams: usize,
    early: Rc<Cell<usize>>,
) -> Result<()> {
    let (mut sender, connection) = h2::client::handshake(stream).await?;
    let mut waiting = Vec::new();
    let sending = async {
        for _ in 0..streams {
            let request = http::Request::get(&url).body(())?;
            sender = sender.clone().ready().await?;
            let (answer, _) = sender.send_request(request, true)?;
            let early = early.clone();
            waiting.push(spawn_local(async move {
                let _ = answer.await;
                early.set(early.get() + 1);
            }));
        }
        std::future::pending::<Result<()>>().await
    };
    tokio::select! {
        ended = connection => ended?,
        sent = sending => sent?,
    }
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
    Ok(())
}

/// A pipe or a socket; its end is the sign to leave.
fn input() -> Result<impl tokio::io::AsyncRead + Unpin> {
    use std::os::fd::AsFd;
    let file = std::fs::File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    Ok(tokio::net::unix::pipe::Receiver::from_file(file)?)
}
