//! What every client goes through.

use crate::world::answer::Answer;
use crate::world::arrival::Arrival;
use crate::world::authority::Authority;
use crate::world::folder::Folder;
use crate::world::origin::Origin;
use crate::world::proxy::pacegate;
use crate::world::resolve;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// The ladder of these tests: seed 1's shape, small enough to wait for.
const LADDER: &str = "pace: {ladder: [0s, 300ms, 600ms, 1200ms]}\n";
const RUNG_1: Duration = Duration::from_millis(300);
const RUNG_2: Duration = Duration::from_millis(600);

/// An origin with a name of its own, and the configuration that leads there.
pub struct Stage {
    origin: Origin,
    url: String,
    config: String,
    folder: Folder,
    _authority: Option<Authority>,
}

impl Stage {
    /// A shop at `http://NAME-http.test`.
    pub fn http(name: &str) -> Stage {
        let host = format!("{name}-http.test");
        let origin = Origin::http();
        let config = format!("{}{LADDER}", resolve(&[(&host, origin.address())]));
        Stage {
            origin,
            url: format!("http://{host}"),
            config,
            folder: Folder::new(),
            _authority: None,
        }
    }

    /// A shop at `https://NAME-https.test` whose certificate the proxy has to verify.
    pub fn https(name: &str) -> Stage {
        let host = format!("{name}-https.test");
        let authority = Authority::new();
        let origin = Origin::https(&authority, &[&host]);
        let roots = format!("tls: {{roots: \"{}\"}}\n", authority.file().display());
        let config = format!("{}{LADDER}{roots}", resolve(&[(&host, origin.address())]));
        let url = format!("https://{host}");
        Stage { origin, url, config, folder: Folder::new(), _authority: Some(authority) }
    }

    /// A command under `pacegate run`.
    fn command(&self, command: &[String]) -> Command {
        let file = self.folder.write("pacegate.yaml", &self.config);
        let mut run = pacegate(&self.folder);
        run.args(["run", "--"]).args(command).env("PACEGATE_CONFIG", file);
        run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        run
    }

    /// Runs it to its end.
    fn run(&self, command: &[String]) -> Output {
        self.command(command).output().expect("the binary starts")
    }

    /// Twice too busy, then the page.
    fn is_busy_twice_at(&self, path: &str, page: &str) {
        self.origin.on(path, [Answer::status(503), Answer::status(503), Answer::page(page)]);
    }
}

/// Over http and over https: the client gets the page, the origin gets the ladder.
pub fn sees_only_the_page(name: &str, client: &[String]) {
    for stage in [Stage::http(name), Stage::https(name)] {
        let page = format!("the page for {name}");
        stage.is_busy_twice_at("/page", &page);
        let output = stage.run(&with(client, &format!("{}/page", stage.url)));
        assert_eq!(said(&output), format!("{page}\n200"), "{}", heard(&output));
        assert!(output.status.success(), "{}", heard(&output));
        let arrivals = stage.origin.arrivals_for("/page");
        assert_eq!(arrivals.len(), 3, "{}: {arrivals:#?}", stage.url);
        assert!(gap(&arrivals, 0) >= RUNG_1, "{}: {:?} at rung 1", stage.url, gap(&arrivals, 0));
        assert!(gap(&arrivals, 1) >= RUNG_2, "{}: {:?} at rung 2", stage.url, gap(&arrivals, 1));
    }
}

/// While one client's request climbs, another client's request to the same host waits with it.
pub fn two_clients_share_the_pace(stage: Stage, client: &[String]) {
    let busy = || Answer::status(503);
    stage.origin.on("/first", [busy(), busy(), busy(), busy(), Answer::page("first")]);
    stage.origin.on("/second", [Answer::page("second")]);
    let words = client.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    let script = format!(
        "{words} {url}/first > first.txt & first=$!; until [ -e climbed ]; do sleep 0.02; done; \
         {words} {url}/second > second.txt || exit 1; wait $first || exit 2; echo both",
        url = stage.url
    );
    let child = stage.command(&["sh".into(), "-c".into(), script]).spawn().expect("it starts");
    stage.origin.await_arrivals(1);
    stage.folder.write("climbed", "the origin has refused once");
    let output = child.wait_with_output().expect("our own child");
    assert_eq!(said(&output), "both", "{}", heard(&output));
    for name in ["first", "second"] {
        let text = std::fs::read_to_string(stage.folder.path().join(format!("{name}.txt")));
        assert_eq!(text.expect("the client wrote").trim_end(), format!("{name}\n200"));
    }
    let arrivals = stage.origin.arrivals();
    let second = arrivals.iter().position(|arrival| arrival.target == "/second");
    let second = second.expect("the second client was answered by the origin");
    assert_eq!(arrivals.len(), 6, "{arrivals:#?}");
    assert!((1..5).contains(&second), "it came while the first still climbed: {arrivals:#?}");
    for place in 0..second {
        // Until it is served every step is a climb: nobody starts within less than rung 1.
        assert!(gap(&arrivals, place) >= RUNG_1, "{place}: {arrivals:#?}");
    }
}

/// Without our CA a client must fail, and the origin must not hear of it.
pub fn refuses_a_stranger(name: &str, client: &[String]) {
    let stage = Stage::https(&format!("stranger-{name}"));
    let mut command: Vec<String> = vec!["env".into()];
    for variable in TRUST {
        command.extend(["-u".into(), variable.into()]);
    }
    let output = stage.run(&[command, with(client, &format!("{}/page", stage.url))].concat());
    assert!(!output.status.success(), "{name} trusts anybody: {}", heard(&output));
    assert!(!said(&output).ends_with("200"), "{name}: {}", heard(&output));
    assert!(stage.origin.arrivals().is_empty(), "{name} sent a request: {}", heard(&output));
}

/// The variables that make these clients trust a CA.
const TRUST: [&str; 4] =
    ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"];

fn with(client: &[String], url: &str) -> Vec<String> {
    [client, &[url.to_owned()]].concat()
}

fn gap(arrivals: &[Arrival], place: usize) -> Duration {
    arrivals[place + 1].at.since(arrivals[place].at)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

fn heard(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    format!("{}; stdout {:?}; stderr:\n{errors}", output.status, said(output))
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
