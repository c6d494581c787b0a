//! `pacegate hosts`, `host NAME …`, `explain URL`: asks the admin port of the proxy that runs.

use crate::admin::guard::Token;
use crate::admin::query::encoded;
use crate::cli::arguments::{Host, HostAction, Settings};
use crate::cli::commands::{FAILURE, config, fail, print};
use crate::cli::explained;
use crate::cli::health::reachable;
use crate::config::value;
use serde_json::{Value, json};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Where the proxy is asked, and what opens it where it is far away.
pub struct Desk {
    address: SocketAddr,
    token: Option<Token>,
}

impl Desk {
    /// The admin port that the command line names, else that of the `pacegate run` we are in, else the
    /// configuration's.
    ///
    /// # Errors
    /// The exit code, once the reason has been said.
    pub fn of(settings: &Settings) -> Result<Desk, u8> {
        let loaded = config(settings)?;
        let around = std::env::var("PACEGATE_ADMIN_URL").ok();
        let around = around.and_then(|url| url.strip_prefix("http://")?.parse().ok());
        let listen = match settings.admin {
            Some(_) => loaded.config.admin.listen,
            None => around.or(loaded.config.admin.listen),
        };
        let Some(address) = listen else {
            return Err(fail("there is no admin port (admin.listen): --admin ADDRESS names one"));
        };
        if address.port() == 0 {
            return Err(fail(
                "admin.listen is any free port: --admin ADDRESS says which it became",
            ));
        }
        let token =
            loaded.config.admin.token_file.and_then(|file| std::fs::read_to_string(file).ok());
        let token = token.as_deref().and_then(Token::new);
        Ok(Desk { address: reachable(address), token })
    }

    /// The JSON that a call is answered with.
    ///
    /// # Errors
    /// A line for stderr: nobody listens, no answer, or what the proxy has against it.
    pub async fn ask(&self, method: &str, target: &str) -> Result<Value, String> {
        let address = self.address;
        let answer = tokio::time::timeout(PATIENCE, self.exchange(method, target)).await;
        let text = match answer {
            Err(_) => {
                return Err(format!("http://{address}: no answer in {} s", PATIENCE.as_secs()));
            }
            Ok(Err(error)) if error.kind() == ErrorKind::ConnectionRefused => {
                return Err(format!(
                    "no pacegate listens at http://{address}: is it running? --admin ADDRESS (or \
                     PACEGATE_ADMIN) names another place"
                ));
            }
            Ok(Err(error)) => return Err(format!("http://{address}: {error}")),
            Ok(Ok(text)) => text,
        };
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).unwrap_or_default();
        let value: Option<Value> = serde_json::from_str(body).ok();
        match (status, value) {
            ("200", Some(value)) => Ok(value),
            (_, Some(value)) if value["error"].is_string() => {
                Err(explained::plain(value["error"].as_str().unwrap_or_default()))
            }
            _ => Err(format!("http://{address} is no pacegate, or another version of it")),
        }
    }

    async fn exchange(&self, method: &str, target: &str) -> io::Result<String> {
        let mut stream = TcpStream::connect(self.address).await?;
        let token = match &self.token {
            Some(token) => format!("Authorization: {}\r\n", token.credentials()),
            None => String::new(),
        };
        let head = format!(
            "{method} {target} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: 0\r\n\
             {token}\r\n",
            self.address
        );
        stream.write_all(head.as_bytes()).await?;
        let mut answer = Vec::new();
        // Whoever is there instead of a pacegate may keep the connection open.
        while !is_whole(&answer) && answer.len() < ANSWER_BYTES {
            if stream.read_buf(&mut answer).await? == 0 {
                break;
            }
        }
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// All hosts that have a row, page by page.
    async fn hosts(&self) -> Result<Vec<Value>, String> {
        let mut hosts = Vec::new();
        let mut target = format!("/api/hosts?limit={PAGE}");
        for _ in 0..PAGES {
            let mut page = self.ask("GET", &target).await?;
            if let Value::Array(rows) = page["hosts"].take() {
                hosts.extend(rows);
            }
            let Some(next) = page["next"].as_str() else { break };
            target = format!("/api/hosts?limit={PAGE}&after={}", encoded(next));
        }
        Ok(hosts)
    }
}

/// `pacegate hosts`.
pub async fn hosts(settings: &Settings, as_json: bool) -> u8 {
    let desk = match Desk::of(settings) {
        Ok(desk) => desk,
        Err(code) => return code,
    };
    match desk.hosts().await {
        Ok(hosts) if as_json => said(Ok(json!({ "hosts": hosts })), |value| format!("{value}\n")),
        Ok(hosts) => said(Ok(Value::Array(hosts)), explained::table),
        Err(why) => fail(&why),
    }
}

/// `pacegate host NAME …`.
pub async fn host(settings: &Settings, asked: Host) -> u8 {
    let (action, parameter) = match &asked.action {
        None => (None, String::new()),
        Some(HostAction::Reset) => (Some("reset"), String::new()),
        Some(HostAction::Resume) => (Some("resume"), String::new()),
        Some(HostAction::Pin { rung }) => (Some("pin"), format!("?rung={rung}")),
        Some(HostAction::Pause { span }) => {
            match value::span(span).filter(|span| !span.is_zero()) {
                Some(span) => (Some("pause"), format!("?seconds={}", span.as_secs_f64())),
                None => {
                    fail(&format!("{}: write it like 30s, 10m or 1h30m", explained::plain(span)));
                    return FAILURE;
                }
            }
        }
    };
    let desk = match Desk::of(settings) {
        Ok(desk) => desk,
        Err(code) => return code,
    };
    let name = encoded(&asked.name);
    let answer = match action {
        None => desk.ask("GET", &format!("/api/hosts/{name}")).await,
        Some(action) => desk.ask("POST", &format!("/api/hosts/{name}/{action}{parameter}")).await,
    };
    said(answer, explained::host)
}

/// `pacegate explain URL`.
pub async fn explain(settings: &Settings, url: &str) -> u8 {
    let desk = match Desk::of(settings) {
        Ok(desk) => desk,
        Err(code) => return code,
    };
    let url = if url.contains("://") { url.to_owned() } else { format!("https://{url}") };
    said(desk.ask("GET", &format!("/api/explain?url={}", encoded(&url))).await, explained::request)
}

fn said(answer: Result<Value, String>, text: fn(&Value) -> String) -> u8 {
    match answer {
        Ok(value) => {
            print(&text(&value));
            0
        }
        Err(why) => fail(&why),
    }
}

/// Whether an answer with a length has come to its end. (Only its head is read as text, and again as
/// it grows: that is short.)
fn is_whole(answer: &[u8]) -> bool {
    let Some(end) = answer.windows(4).take(HEAD_BYTES).position(|bytes| bytes == b"\r\n\r\n")
    else {
        return false;
    };
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length = length.and_then(|length| length.trim().parse::<usize>().ok());
    length.is_some_and(|length| answer.len() - end - 4 >= length)
}

const HEAD_BYTES: usize = 64 * 1024;
/// A page of many thousand rows takes a moment.
const PATIENCE: Duration = Duration::from_secs(10);
/// Rows of a page, and pages: more rows than `limits.scopes` may name.
const PAGE: usize = 10_000;
const PAGES: usize = 1000;
/// Ten times a page.
const ANSWER_BYTES: usize = 64 << 20;
