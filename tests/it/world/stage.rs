//! Behind an origin: its connections, one thread each, playing the script.

use super::answer::{Answer, Then};
use super::arrival::{Arrival, Departure};
use super::wire::Wire;
use super::{message, now};
use rustls::{ServerConfig, ServerConnection};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What all connections of an origin share.
pub struct Stage {
    script: Mutex<HashMap<String, Scene>>,
    arrivals: Mutex<Vec<Arrival>>,
    departures: Mutex<Vec<Departure>>,
    connections: AtomicUsize,
    over: AtomicBool,
    tls: Option<Arc<ServerConfig>>,
}

/// What happens to the requests for one path.
pub enum Scene {
    /// In this order; the last one again and again.
    Played {
        answers: Vec<Answer>,
        next: usize,
    },
    Decided(Decision),
}

/// Makes an answer of a whole request.
pub type Decision = Arc<dyn Fn(&Arrival) -> Answer + Send + Sync>;

enum Cue {
    Say(Box<Answer>),
    Decide(Decision),
}

impl Stage {
    /// An empty stage; with TLS if it has a configuration for it.
    pub fn new(tls: Option<Arc<ServerConfig>>) -> Stage {
        Stage {
            script: Mutex::default(),
            arrivals: Mutex::default(),
            departures: Mutex::default(),
            connections: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            tls,
        }
    }

    pub fn script(&self, path: &str, scene: Scene) {
        held(&self.script).insert(path.to_owned(), scene);
    }

    pub fn arrivals(&self) -> Vec<Arrival> {
        held(&self.arrivals).clone()
    }

    pub fn departures(&self) -> Vec<Departure> {
        held(&self.departures).clone()
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn next_connection(&self) -> usize {
        self.connections.fetch_add(1, Ordering::SeqCst)
    }

    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    pub fn finish(&self) {
        self.over.store(true, Ordering::SeqCst);
    }

    /// One connection, from its first byte to its end.
    pub fn attend(&self, stream: TcpStream, number: usize) {
        let mut wire = match &self.tls {
            None => Wire::plain(stream),
            Some(config) => {
                let session = ServerConnection::new(config.clone()).expect("a valid configuration");
                Wire::server(session, stream)
            }
        };
        let mut unread = Vec::new();
        while let Ok(Some(mut arrival)) = self.receive(&mut wire, &mut unread, number) {
            let Ok(answer) = self.answer(&mut wire, &mut arrival, &mut unread) else {
                return self.departed(number);
            };
            let bodiless = arrival.method == "HEAD";
            held(&self.arrivals).push(arrival);
            match play(&mut wire, &answer, bodiless) {
                Ok(()) if answer.ending() == Then::Keep => {}
                Ok(()) => return self.end(wire, answer.ending(), number, &unread),
                Err(_) => return self.departed(number),
            }
        }
    }

    /// Reads one head. `None`: the peer left between two requests.
    fn receive(
        &self,
        wire: &mut Wire,
        unread: &mut Vec<u8>,
        connection: usize,
    ) -> io::Result<Option<Arrival>> {
        let Some(head) = message::read_head(wire, unread)? else { return Ok(None) };
        let line = message::latin1(head.split(|byte| *byte == b'\r').next().unwrap_or_default());
        let mut words = line.split(' ').map(ToOwned::to_owned);
        Ok(Some(Arrival {
            at: now(),
            connection,
            method: words.next().unwrap_or_default(),
            target: words.next().unwrap_or_default(),
            head,
            body: Vec::new(),
        }))
    }

    /// The script's next answer to this request, whose body is read unless the answer is early.
    fn answer(
        &self,
        wire: &mut Wire,
        arrival: &mut Arrival,
        unread: &mut Vec<u8>,
    ) -> io::Result<Answer> {
        let cue = self.cue(arrival);
        if matches!(&cue, Cue::Say(answer) if answer.is_early()) {
            // Nothing of the body is read.
        } else {
            if arrival.header("expect").is_some_and(|value| value.starts_with("100")) {
                wire.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
                wire.flush()?;
            }
            arrival.body = message::read_body(wire, unread, &arrival.head)?;
        }
        Ok(match cue {
            Cue::Say(answer) => *answer,
            Cue::Decide(decide) => decide(arrival),
        })
    }

    fn cue(&self, arrival: &Arrival) -> Cue {
        let path = arrival.target.split('?').next().unwrap_or_default();
        let host = arrival.header("host").unwrap_or_default();
        let keys = [format!("{host}{path}"), path.to_owned()];
        let mut script = held(&self.script);
        let Some(key) = keys.into_iter().find(|key| script.contains_key(key)) else {
            return Cue::Say(Box::new(Answer::page("unscripted")));
        };
        match script.get_mut(&key).expect("just found") {
            Scene::Played { answers, next } => {
                let place = (*next).min(answers.len() - 1);
                *next += 1;
                Cue::Say(Box::new(answers[place].clone()))
            }
            Scene::Decided(decide) => Cue::Decide(decide.clone()),
        }
    }

    /// Ends a connection the way its last answer said.
    fn end(&self, mut wire: Wire, then: Then, number: usize, unread: &[u8]) {
        match then {
            Then::Keep => {}
            Then::Reset => wire.reset(),
            Then::Close => {
                wire.finish().ok();
                // The peer's last bytes are read, or the close would turn into a reset.
                wire.patience(Some(Duration::from_secs(1)));
                io::copy(&mut wire, &mut io::sink()).ok();
            }
            Then::Hang => {
                wire.patience(None);
                io::copy(&mut wire, &mut io::sink()).ok();
                self.departed(number);
            }
            Then::Echo => {
                echo(&mut wire, unread).ok();
                wire.finish().ok();
            }
        }
    }

    fn departed(&self, connection: usize) {
        held(&self.departures).push(Departure { at: now(), connection });
    }
}

fn play(wire: &mut Wire, answer: &Answer, bodiless: bool) -> io::Result<()> {
    wire.write_all(answer.interim_bytes())?;
    wire.flush()?;
    for (pause, piece) in answer.pieces(bodiless) {
        std::thread::sleep(pause);
        wire.write_all(piece)?;
        wire.flush()?;
    }
    Ok(())
}

fn echo(wire: &mut Wire, unread: &[u8]) -> io::Result<()> {
    wire.write_all(unread)?;
    wire.flush()?;
    let mut buffer = [0; 4096];
    loop {
        let count = wire.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        wire.write_all(&buffer[..count])?;
        wire.flush()?;
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A test that panicked is reported by itself; the others' notes are still good.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
