//! `pacegate health`: asks the admin port whether the proxy lives, or is ready. For containers that
//! have no shell and no curl.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    Alive,
    Ready,
}

/// Asks, and waits a second at most.
///
/// # Errors
/// A line for stderr: nobody listens, no answer in time, or an answer other than 200.
pub async fn check(admin: SocketAddr, question: Question) -> Result<(), String> {
    let path = match question {
        Question::Alive => "/livez",
        Question::Ready => "/readyz",
    };
    let address = reachable(admin);
    let answer = tokio::time::timeout(PATIENCE, ask(address, path)).await;
    let text = match answer {
        Err(_) => return Err(format!("http://{address}{path}: no answer in 1 s")),
        Ok(Err(error)) => return Err(format!("http://{address}{path}: {error}")),
        Ok(Ok(text)) => text,
    };
    let status = text.split(' ').nth(1).unwrap_or("no HTTP");
    match status {
        "200" => Ok(()),
        _ => {
            let word = text.rsplit('\n').find(|line| !line.trim().is_empty()).unwrap_or_default();
            let word: String = word.chars().filter(|c| !c.is_control()).take(80).collect();
            Err(format!("http://{address}{path}: {status} {word}"))
        }
    }
}

/// The body of a page of the admin port; whatever keeps it from coming is an error.
pub async fn page(admin: SocketAddr, path: &str) -> io::Result<String> {
    let answer = tokio::time::timeout(PATIENCE, ask(reachable(admin), path)).await;
    let text = answer.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    match text.split_once("\r\n\r\n") {
        Some((head, body)) if head.split(' ').nth(1) == Some("200") => Ok(body.to_owned()),
        Some(_) | None => Err(io::ErrorKind::InvalidData.into()),
    }
}

async fn ask(address: SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// The address to call for one that is listened on: loopback for "everywhere".
pub fn reachable(admin: SocketAddr) -> SocketAddr {
    let ip = match admin.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip @ (IpAddr::V4(_) | IpAddr::V6(_)) => ip,
    };
    SocketAddr::new(ip, admin.port())
}

/// operations 4.1.
const PATIENCE: Duration = Duration::from_secs(1);
const ANSWER_BYTES: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    async fn answered(question: Question, answer: &'static str) -> (Result<(), String>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let mut stream = listener.accept().await.unwrap().0;
            let mut head = vec![0; 1024];
            let read = stream.read(&mut head).await.unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8_lossy(&head[..read]).into_owned()
        });
        (check(address, question).await, server.await.unwrap())
    }

    #[tokio::test]
    async fn only_200_is_health() {
        let (said, asked) = answered(Question::Alive, "HTTP/1.1 200 OK\r\n\r\nok\n").await;
        assert_eq!(said, Ok(()));
        assert!(asked.starts_with("GET /livez HTTP/1.1\r\n"), "{asked}");
        let answer = "HTTP/1.1 503 Service Unavailable\r\n\r\ndraining\n";
        let (said, asked) = answered(Question::Ready, answer).await;
        assert!(said.is_err_and(|line| line.ends_with("/readyz: 503 draining")));
        assert!(asked.starts_with("GET /readyz "), "{asked}");
        let (said, _) = answered(Question::Alive, "").await;
        assert!(said.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn silence_ends_after_a_second() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let said = check(listener.local_addr().unwrap(), Question::Alive).await;
        assert!(said.is_err_and(|line| line.contains("no answer in 1 s")));
    }

    #[test]
    fn one_that_listens_everywhere_is_asked_on_loopback() {
        assert_eq!(reachable("0.0.0.0:9".parse().unwrap()), "127.0.0.1:9".parse().unwrap());
        assert_eq!(reachable("[::]:9".parse().unwrap()), "[::1]:9".parse().unwrap());
    }
}
