//! An origin and a load for comparing pacegate with other proxies. Loopback only.
//!
//! One thread each; every run is bounded by its number of requests. Results are one line of JSON.

mod client;
mod hold;
mod origin;
mod requests;
mod wire;

use crate::wire::Road;
use std::collections::HashMap;
use std::error::Error;
use std::process::ExitCode;
use tokio::task::LocalSet;

/// Whatever went wrong: this is a tool, its user reads the text.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.map_err(Into::into).and_then(|runtime| LocalSet::new().block_on(&runtime, run()))
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let command = words.next().unwrap_or_default();
    let options = Options::read(words)?;
    match command.as_str() {
        "origin" => origin::serve(&options).await,
        "requests" => requests::run(&options, Road::new(&options)?.into()).await,
        "connects" => requests::connects(&options, &Road::new(&options)?).await,
        "hold" => hold::run(&options, Road::new(&options)?.into()).await,
        _ => Err(format!("no command {command:?}").into()),
    }
}

/// `--name value` pairs.
pub struct Options(HashMap<String, String>);

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Options> {
        let mut pairs = HashMap::new();
        while let Some(name) = words.next() {
            let name = name.strip_prefix("--").ok_or_else(|| format!("{name:?} is no option"))?;
            let value = words.next().ok_or_else(|| format!("--{name} wants a value"))?;
            pairs.insert(name.to_owned(), value);
        }
        Ok(Options(pairs))
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub fn wanted(&self, name: &str) -> Result<&str> {
        self.text(name).ok_or_else(|| format!("--{name} is missing").into())
    }

    pub fn number(&self, name: &str, default: usize) -> Result<usize> {
        Ok(self.text(name).map(str::parse).transpose()?.unwrap_or(default))
    }
}

const USAGE: &str = "
load origin   --plain PORT --tls PORT --ca FILE      serves /BYTES and /busy (503); writes its CA
load requests --to URL [--proxy PORT] [--trust FILE[,FILE]] [--connections 64] [--requests 20000]
load connects --to URL [--proxy PORT] [--trust FILE[,FILE]] [--requests 200]
              a new connection for each, one after the other: time to the first answer
load hold     --to URL --proxy PORT [--trust FILE] [--requests 1000] [--streams 0]
              sends and waits for no answer, until its input ends; streams: HTTP/2, so many a connection
";
