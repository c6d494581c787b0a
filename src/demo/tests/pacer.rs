//! A stand-in for the product: a plain proxy with the ladder and nothing else, so that the story
//! can be told without it. Its laws are spec sections 4 and 2.4, in their shortest form.

use crate::clock::Tick;
use crate::demo::scene::{Allowed, Proxy, ProxySetup};
use crate::demo::wire;
use crate::flow::settings::Preset;
use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

pub struct Pacer {
    address: SocketAddr,
    gate: Arc<Gate>,
    task: JoinHandle<()>,
}

struct Gate {
    setup: ProxySetup,
    row: Mutex<Row>,
}

#[derive(Default)]
struct Row {
    rung: u8,
    anchor: Tick,
    climbed: Tick,
    flying: u32,
    tickets: u64,
    line: VecDeque<u64>,
    allowed: Vec<Allowed>,
    gone: u64,
}

enum Came {
    Page(Vec<u8>),
    TimedOut,
    ClientLeft,
}

impl Pacer {
    pub async fn start(setup: ProxySetup) -> io::Result<Pacer> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let gate = Arc::new(Gate { setup, row: Mutex::default() });
        let shared = gate.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(shared.clone().serve(stream));
            }
        });
        Ok(Pacer { address, gate, task })
    }
}

impl Proxy for Pacer {
    fn address(&self) -> SocketAddr {
        self.address
    }
    fn rung(&self, _host: &str) -> Option<u8> {
        let row = self.gate.row.lock().unwrap();
        (row.rung > 0 || !row.line.is_empty()).then_some(row.rung)
    }
    fn allowed(&self) -> Vec<Allowed> {
        self.gate.row.lock().unwrap().allowed.clone()
    }
    fn client_gone(&self) -> u64 {
        self.gate.row.lock().unwrap().gone
    }
    fn advice(&self) -> Vec<String> {
        vec!["clients leave after 1 s: give them 30 s".into(); usize::from(self.client_gone() > 0)]
    }
    async fn stop(self) {
        self.task.abort();
    }
}

impl Gate {
    async fn serve(self: Arc<Self>, mut client: TcpStream) {
        let mut buffer = Vec::new();
        while let Ok(Some(head)) = wire::read_head(&mut client, &mut buffer).await {
            let url = head.first.split(' ').nth(1).unwrap().strip_prefix("http://").unwrap();
            let (host, path) = url.split_once('/').unwrap();
            let port: u16 = host.rsplit_once(':').unwrap().1.parse().unwrap();
            let answer = loop {
                let off = self.setup.preset == Preset::Off;
                let Some(began) = (if off { Some(self.now()) } else { self.hold(&client).await })
                else {
                    self.row.lock().unwrap().gone += 1;
                    return;
                };
                let came = self.attempt(&client, port, &format!("/{path}")).await;
                if !off {
                    self.learn(&came, began);
                }
                match came {
                    Came::Page(page) => break page,
                    Came::TimedOut if off => break TIMED_OUT.to_vec(),
                    Came::TimedOut => {}
                    Came::ClientLeft => {
                        self.row.lock().unwrap().gone += 1;
                        return;
                    }
                }
            };
            if client.write_all(&answer).await.is_err() {
                return;
            }
        }
    }

    fn now(&self) -> Tick {
        self.setup.clock.now()
    }

    /// Waits in line; `None`: the client left.
    async fn hold(&self, client: &TcpStream) -> Option<Tick> {
        let ticket = {
            let mut row = self.row.lock().unwrap();
            row.tickets += 1;
            let ticket = row.tickets;
            row.line.push_back(ticket);
            ticket
        };
        loop {
            if let Some(began) = self.claim(ticket) {
                return Some(began);
            }
            if left(client) {
                self.row.lock().unwrap().line.retain(|other| *other != ticket);
                return None;
            }
            self.setup.clock.sleep_until(self.now() + Duration::from_millis(4)).await;
        }
    }

    fn claim(&self, ticket: u64) -> Option<Tick> {
        let mut row = self.row.lock().unwrap();
        let now = self.now();
        let rules = &self.setup.pace;
        let drains = row.line.len() > 1 || row.rung > 0;
        let at = match row.rung {
            0 => row.anchor,
            rung => row.anchor + rules.ladder.pace(rung),
        };
        let full = drains && row.climbed > Tick::ZERO && row.flying >= rules.drain;
        if row.line.front() != Some(&ticket) || now < at || full {
            return None;
        }
        row.line.pop_front();
        let rung = row.rung;
        row.allowed.push(Allowed { at, rung });
        (row.anchor, row.flying) = (now, row.flying + 1);
        Some(now)
    }

    async fn attempt(&self, client: &TcpStream, port: u16, path: &str) -> Came {
        let limit = self.now() + self.setup.retry.response_timeout;
        let asked = async {
            let mut shop = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
            shop.write_all(format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes()).await?;
            let mut buffer = Vec::new();
            let head = wire::read_head(&mut shop, &mut buffer).await?.unwrap();
            assert!(head.first.ends_with("200 OK"));
            let size = wire::skip_body(&mut shop, &mut buffer, head.length().unwrap()).await?;
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n");
            io::Result::Ok((head + &"x".repeat(size as usize)).into_bytes())
        };
        tokio::select! {
            page = asked => page.map_or(Came::TimedOut, Came::Page),
            () = self.setup.clock.sleep_until(limit) => Came::TimedOut,
            () = leaves(client, self) => Came::ClientLeft,
        }
    }

    fn learn(&self, came: &Came, began: Tick) {
        let mut row = self.row.lock().unwrap();
        let now = self.now();
        row.flying -= 1;
        let stalled = match came {
            Came::Page(_) => false,
            Came::TimedOut => true,
            Came::ClientLeft => now.since(began) >= self.setup.retry.abandoned_after,
        };
        let top = self.setup.pace.ladder.top();
        if stalled {
            if began >= row.climbed || row.rung == top {
                row.anchor = now;
            }
            if row.rung < top {
                (row.rung, row.climbed) = (row.rung + 1, now);
            }
        } else if let Came::Page(_) = came {
            row.rung = row.rung.saturating_sub(1);
        }
    }
}

async fn leaves(client: &TcpStream, gate: &Gate) {
    while !left(client) {
        gate.setup.clock.sleep_until(gate.now() + Duration::from_millis(4)).await;
    }
}

fn left(client: &TcpStream) -> bool {
    matches!(client.try_read(&mut [0]), Ok(0))
}

const TIMED_OUT: &[u8] = b"HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n";
