//! What clients and origins trust the proxy with stays where it belongs: not in the log, on no page of
//! ours, and not at an origin it isn't meant for (http.md A16, A27, G22). `PACEGATE_SECRETS=10000`
//! plays the whole size.

use crate::world::answer::{Answer, Then};
use crate::world::authority::Authority;
use crate::world::client::Client;
use crate::world::door::closed_port;
use crate::world::origin::Origin;
use crate::world::proxy::World;
use crate::world::resolve;
use std::fmt::Write as _;

/// In everything secret, and nowhere else.
const CANARY: &str = "c4n4ry";

/// Where a secret was put, by the word before it.
const PLACES: [&str; 7] =
    ["proxy", "authorization", "cookie", "userinfo", "query", "body", "setcookie"];

/// A sequence that is the same each time (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }
}

fn secret(place: &str, number: usize) -> String {
    assert!(PLACES.contains(&place), "{place}");
    format!("{CANARY}-{place}-{number}")
}

/// RFC 4648 §4.
fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in text.as_bytes().chunks(3) {
        let byte = |place: usize| u32::from(three.get(place).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= three.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

/// What the canary looks like inside Base64, at each of the three places it can begin at.
fn encoded() -> Vec<String> {
    let at = |skip: usize| {
        let text = base64(&format!("{}{CANARY}-", "x".repeat(skip)));
        let whole = text.trim_end_matches('=');
        whole[(skip * 8).div_ceil(6)..whole.len() - 1].to_owned()
    };
    (0..3).map(at).collect()
}

struct Play {
    world: World,
    plain: Origin,
    safe: Origin,
    closed: u16,
    dice: Dice,
}

fn scripted(origin: Origin) -> Origin {
    let cookie = format!("sid={}; HttpOnly", secret("setcookie", 0));
    origin.on("/ok", [Answer::page("fine").header("Set-Cookie", &cookie)]);
    origin.on("/not", [Answer::status(404)]);
    origin.on("/busy", [Answer::status(503).header("Set-Cookie", &cookie), Answer::page("fine")]);
    origin.on("/reset", [Answer::nothing(Then::Reset)]);
    origin.on("/cut", [Answer::page("0123456789").cut(4, Then::Reset)]);
    origin.on("/junk", [Answer::raw("SSH-2.0-door\r\n\r\n").then(Then::Close)]);
    origin.on("/asks", [Answer::status(407)]);
    origin.on("/turn", [Answer::status(302).header("Location", "http://shop.test/ok")]);
    origin
}

fn play() -> Play {
    let authority = Authority::new();
    let plain = scripted(Origin::http());
    let safe = scripted(Origin::https(&authority, &["safe.test"]));
    let config = format!(
        "log: {{level: debug, format: json}}\npace: {{ladder: [0, 1ms, 2ms]}}\n\
         retry: {{window: 300ms, response_timeout: 250ms}}\ntls: {{roots: {}}}\n{}",
        authority.file().display(),
        resolve(&[
            ("shop.test", plain.address()),
            ("safe.test", safe.address()),
            ("odd.test", plain.address()),
        ])
    );
    let world = World::start(&config);
    Play { world, plain, safe, closed: closed_port().port(), dice: Dice(0x9ace_9a7e) }
}

impl Play {
    /// Field lines with secrets in them, good and bad ones.
    fn fields(&mut self, number: usize) -> String {
        let mut fields = String::new();
        let basic = format!("nightly;deadline=9:{}", secret("proxy", number));
        let proxy = match self.dice.below(5) {
            0 => String::new(),
            1 => format!("Proxy-Authorization: Bearer {}\r\n", secret("proxy", number)),
            2 => format!("Proxy-Authorization: Basic {}!\r\n", base64(&basic)),
            _ => format!("Proxy-Authorization: Basic {}\r\n", base64(&basic)),
        };
        fields.push_str(&proxy);
        let token = secret("authorization", number);
        let basic = base64(&format!("user:{token}"));
        let kind = self.dice.one(&["Bearer", "Basic", "Digest response="]);
        let value = if kind == "Basic" { basic } else { token };
        let _ = write!(fields, "Authorization: {kind} {value}\r\n");
        let _ = write!(fields, "Cookie: sid={}; b=2\r\n", secret("cookie", number));
        fields.push_str(self.dice.one(&[
            "",
            "",
            "Accept: application/json\r\n",
            "Accept: text/html\r\n",
            "Pace-Debug: yes\r\n",
            "Pace-Deadline: soon\r\n",
            "Pace-Retry: 0\r\n",
            "Connection: Authorization, Cookie\r\n",
            "Expect: something\r\n",
            "X:\x01\r\n",
            "no colon\r\n",
        ]));
        fields
    }

    /// One request of any kind; what came back, in bytes.
    fn ask(&mut self, number: usize) -> Vec<u8> {
        let paths = ["ok", "not", "busy", "reset", "cut", "junk", "asks", "turn"];
        let path = self.dice.one(&paths);
        let target = format!("/{path}?token={}&n={number}", secret("query", number));
        let method = self.dice.one(&["GET", "GET", "POST", "PUT", "OPTIONS", "TRACE", "BREW"]);
        let mut fields = self.fields(number);
        let body = match method {
            "POST" | "PUT" => format!("password={}", secret("body", number)),
            _ => String::new(),
        };
        if !body.is_empty() {
            let _ = write!(fields, "Content-Length: {}\r\n", body.len());
        }
        if method == "TRACE" {
            fields.push_str("Max-Forwards: 0\r\n");
        }
        let user = format!("user:{}@", secret("userinfo", number));
        let closed = self.closed;
        let (line, host) = match self.dice.below(14) {
            0..=4 => return self.ask_inside(&format!("{method} {target}"), &fields, &body),
            5 => (format!("{method} http://{user}shop.test{target}"), "shop.test".to_owned()),
            6 => (format!("{method} http://shop.test{target}"), format!("{user}shop.test")),
            7 => (format!("{method} {target}"), format!("{user}shop.test")),
            8 => (format!("CONNECT {user}shop.test:443"), "shop.test".to_owned()),
            9 => (format!("{method} http://127.0.0.1:{closed}{target}"), "a".to_owned()),
            10 => (format!("{method} http://nowhere.invalid{target}"), "a".to_owned()),
            11 => ("CONNECT shop.test:25".to_owned(), "shop.test:25".to_owned()),
            _ => (format!("{method} http://shop.test{target}"), "shop.test".to_owned()),
        };
        let mut client = self.world.client();
        let version = self.dice.one(&["HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/9"]);
        let head = format!("{line} {version}\r\nHost: {host}\r\n{fields}\r\n{body}");
        answered(&mut client, method, &head)
    }

    /// The same inside a tunnel, with TLS that trusts us, TLS that doesn't, or none.
    fn ask_inside(&mut self, line: &str, fields: &str, body: &str) -> Vec<u8> {
        let secure = self.dice.below(4);
        let to = if secure == 0 { "shop.test:80" } else { "safe.test:443" };
        let mut client = self.world.client();
        let connect = fields.lines().filter(|line| line.starts_with("Proxy-"));
        let connect: String = connect.map(|line| format!("{line}\r\n")).collect();
        client.send(format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n{connect}\r\n"));
        let answer = client.response_to("CONNECT").expect("an answer to CONNECT");
        if answer.status != 200 {
            return [answer.head, answer.body].concat();
        }
        let host = to.split(':').next().unwrap_or_default();
        let head = format!("{line} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n{body}");
        let trust = match secure {
            0 => return answered(&mut client, line.split(' ').next().unwrap_or("GET"), &head),
            1 => crate::world::authority::trusting(Authority::new().file(), &[b"http/1.1"]),
            _ => self.world.trust(),
        };
        match client.secure(host, trust) {
            Ok(mut client) => answered(&mut client, line.split(' ').next().unwrap_or("GET"), &head),
            Err(_) => Vec::new(),
        }
    }
}

fn answered(client: &mut Client, method: &str, head: &str) -> Vec<u8> {
    client.send(head);
    match client.response_to(method) {
        Ok(answer) => [answer.head, answer.body].concat(),
        Err(_) => Vec::new(),
    }
}

/// What must be nowhere: the canaries, bare and in Base64, and the CA's key.
struct Sought {
    needles: Vec<String>,
}

impl Sought {
    fn new(world: &World) -> Sought {
        let pem = std::fs::read_to_string(world.certs().join("ca-key.pem")).expect("a key");
        let end = pem.find("-----END PRIVATE KEY").expect("PKCS #8");
        let lines = pem[..end].lines().skip(1).map(ToOwned::to_owned);
        let mut needles: Vec<String> = lines.filter(|line| line.len() > 20).collect();
        assert!(!needles.is_empty(), "a key has lines");
        needles.push(CANARY.to_owned());
        needles.extend(encoded());
        Sought { needles }
    }

    #[track_caller]
    fn nowhere_in(&self, what: &str, bytes: &[u8], but: &[&str]) {
        let mut text = String::from_utf8_lossy(bytes).into_owned();
        for place in but {
            text = text.replace(&format!("{CANARY}-{place}-"), "");
        }
        for needle in &self.needles {
            let line = text.lines().find(|line| line.contains(needle.as_str()));
            assert!(line.is_none(), "{needle} is in {what}: {}", line.unwrap_or_default());
        }
    }
}

#[test]
fn secrets_are_nowhere_but_where_they_are_due() {
    let size = std::env::var("PACEGATE_SECRETS").ok().and_then(|text| text.parse().ok());
    let mut play = play();
    let sought = Sought::new(&play.world);
    for number in 0..size.unwrap_or(1000) {
        let answer = play.ask(number);
        // What a TRACE is answered with is its own line.
        let traced = answer.windows(12).any(|it| it == b"message/http");
        let due: &[&str] = if traced { &["setcookie", "query"] } else { &["setcookie"] };
        sought.nowhere_in(&format!("answer {number}"), &answer, due);
    }
    let Play { world, plain, safe, .. } = &play;
    for line in world.log() {
        sought.nowhere_in("the log", line.as_bytes(), &[]);
    }
    let pages = ["/metrics", "/", "/livez", "/readyz", "/ca.pem", "/api/hosts", "/nothing"];
    for path in pages {
        let mut admin = Client::connect(world.admin());
        let answer = admin.get_path(&world.admin().to_string(), path);
        sought.nowhere_in(path, &[answer.head, answer.body].concat(), &[]);
        let answer = world.get(&format!("http://pacegate.internal{path}"));
        sought.nowhere_in(path, &[answer.head, answer.body].concat(), &[]);
    }
    let arrivals = [plain.arrivals(), safe.arrivals()].concat();
    for arrival in &arrivals {
        let due = ["authorization", "cookie", "query", "body"];
        let head = String::from_utf8_lossy(&arrival.head);
        // A Basic one is due, and looks like one that isn't.
        let others = head.lines().filter(|line| !line.starts_with("Authorization: Basic "));
        let others: Vec<&str> = others.collect();
        sought.nowhere_in("a request", others.join("\n").as_bytes(), &due);
        sought.nowhere_in("a body", &arrival.body, &due);
        assert!(!head.to_lowercase().contains("proxy-auth"), "{head}");
    }
    let asked = world.metrics().count("pacegate_requests_total", &[]);
    println!("{asked} requests, {} arrived, {} lines of log", arrivals.len(), world.log().len());
    assert!(arrivals.len() > size.unwrap_or(1000) / 10, "{} arrived", arrivals.len());
}

#[test]
fn what_a_stranger_writes_is_one_bounded_line_of_the_log() {
    let (origin, long) = (Origin::http(), "n".repeat(60_000));
    for format in ["json", "text"] {
        let world = World::start(&format!("log: {{level: debug, format: {format}}}\n"));
        let before = world.log_length();
        let mut asked = 0;
        let mut send = |bytes: Vec<u8>| {
            let mut client = world.client();
            client.try_send(bytes).ok();
            client.response_to("GET").ok();
            asked += 1;
        };
        let at = format!("shop.localhost:{}", origin.port());
        let odd: [&[u8]; 6] =
            [b"\xff\xfe\x80", b"\x1b[31m", b"a\r\nX: y", b"\xe2\x80\xae", b"\xc2\x9b2J", b"\0"];
        for odd in odd {
            let with =
                |before: String, after: &str| [before.as_bytes(), odd, after.as_bytes()].concat();
            send(with(format!("GET http://{at}/"), &format!(" HTTP/1.1\r\nHost: {at}\r\n\r\n")));
            send(with(
                format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\nPace-Tag: "),
                "\r\n\r\n",
            ));
            send(with("GET / HTTP/1.1\r\nHost: ".to_owned(), "\r\n\r\n"));
            send(with(
                format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\nUser-Agent: "),
                "\r\n\r\n",
            ));
            send(with("CONNECT ".to_owned(), ":443 HTTP/1.1\r\nHost: a\r\n\r\n"));
            send(with(String::new(), " http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"));
            let user = base64(&format!("{}:x", String::from_utf8_lossy(odd)));
            let head = format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\nProxy-Authorization: ");
            send(format!("{head}Basic {user}\r\n\r\n").into_bytes());
        }
        for head in [
            format!("GET http://{at}/{long} HTTP/1.1\r\nHost: {at}\r\n\r\n"),
            format!("GET http://{long}/ HTTP/1.1\r\nHost: {at}\r\n\r\n"),
            format!("GET / HTTP/1.1\r\nHost: {long}\r\n\r\n"),
            format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\nPace-Tag: {long}\r\n\r\n"),
            format!("CONNECT {long}:443 HTTP/1.1\r\nHost: a\r\n\r\n"),
            format!("{long} http://{at}/ HTTP/1.1\r\nHost: {at}\r\n\r\n"),
        ] {
            send(head.into_bytes());
        }
        world.await_idle();
        assert!(asked > 40 && world.log_length() > before + asked / 3, "{}", world.log_length());
        for line in world.log_after(before) {
            assert!(line.len() < 8 * 1024, "{} bytes: {}", line.len(), &line[..200]);
            let bad = |c: char| c.is_control() || c == '\u{202e}';
            assert!(!line.contains(bad), "{line:?}");
            if format == "json" {
                let value: serde_json::Value = serde_json::from_str(&line).expect("JSON");
                assert!(value["time"].is_string() && value["message"].is_string(), "{line}");
            } else {
                assert!(line.starts_with("20"), "a line begins with its date: {line}");
            }
        }
        let page = world.admin_page("/metrics");
        assert!(!page.contains("nnnnnnnn"), "no made-up name becomes a label's value");
    }
}
