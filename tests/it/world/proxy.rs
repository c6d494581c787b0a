//! The real binary as a child process, on ports of its own and with a CA of its own.

use super::authority::trusting;
use super::client::Client;
use super::folder::Folder;
use super::metrics::Metrics;
use super::names::Names;
use super::{now, until};
use rustls::ClientConfig;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// A running proxy. Dropping it asks it to end (SIGTERM) and waits.
pub struct World {
    child: Child,
    proxy: SocketAddr,
    admin: SocketAddr,
    folder: Folder,
    log: Arc<Mutex<Vec<String>>>,
}

impl World {
    /// Starts `pacegate serve` with this configuration; returns when it says that it is ready.
    pub fn start(config: &str) -> World {
        World::start_with(config, &[])
    }

    /// The same with more command line arguments.
    pub fn start_with(config: &str, arguments: &[&str]) -> World {
        World::launch(config, Command::new(&*BINARY), arguments)
    }

    /// The same where `names` is the only name server.
    pub fn start_among(names: &Names, config: &str) -> World {
        World::launch(config, names.under(&BINARY), &[])
    }

    /// The same with these in its environment.
    pub fn start_with_variables(config: &str, variables: &[(&str, &Path)]) -> World {
        let mut command = Command::new(&*BINARY);
        command.envs(variables.iter().copied());
        World::launch(config, command, &[])
    }

    /// The same with so many descriptors and no more.
    pub fn start_within(descriptors: u32, config: &str) -> World {
        let mut command = Command::new("sh");
        let limited = format!("ulimit -n {descriptors} && exec \"$0\" \"$@\"");
        command.args(["-c", &limited, &BINARY]);
        World::launch(config, command, &[])
    }

    fn launch(config: &str, command: Command, arguments: &[&str]) -> World {
        let folder = Folder::new();
        let file = folder.write("pacegate.yaml", config);
        let mut child = at_home(command, &folder)
            .arg("serve")
            .args(["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--config"])
            .arg(file)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let log = follow(&mut child);
        let (proxy, admin) = ready(&mut child, &log);
        World { child, proxy, admin, folder, log }
    }

    /// Where clients connect.
    pub fn proxy(&self) -> SocketAddr {
        self.proxy
    }

    /// Where the operator looks.
    pub fn admin(&self) -> SocketAddr {
        self.admin
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Seconds of processor time it has used.
    pub fn work(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid()));
        let stat = stat.expect("the proxy runs");
        let fields = stat.rsplit_once(')').expect("a name").1.split_whitespace();
        let ticks = fields.skip(11).take(2).map(|it| it.parse::<f64>().expect("a number"));
        ticks.sum::<f64>() / 100.0
    }

    /// Resident memory in KiB.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()));
        let status = status.expect("the proxy runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.trim().split(' ').next()?.parse().ok());
        number.expect("a number of KiB")
    }

    /// The folder the CA is kept in.
    pub fn certs(&self) -> PathBuf {
        self.folder.path().join("certs")
    }

    /// A connection to the proxy.
    pub fn client(&self) -> Client {
        Client::connect(self.proxy)
    }

    /// A tunnel to `host:port` with TLS in it, the proxy's CA trusted and HTTP/1.1 spoken.
    pub fn tunnel(&self, authority: &str) -> Client {
        let mut client = self.client();
        let answer = client.connect_to(authority);
        assert_eq!(answer.status, 200, "CONNECT {authority}: {}", answer.text());
        let name = authority.rsplit_once(':').map_or(authority, |(name, _)| name);
        let name = name.trim_matches(['[', ']']);
        client.secure(name, self.trust()).expect("the proxy's certificate is good")
    }

    /// A TLS client that trusts the proxy's CA and nothing else.
    pub fn trust(&self) -> Arc<ClientConfig> {
        trusting(&self.certs().join("ca.pem"), &[b"http/1.1"])
    }

    /// The same with another list of protocols to offer.
    pub fn trust_with(&self, protocols: &[&[u8]]) -> Arc<ClientConfig> {
        trusting(&self.certs().join("ca.pem"), protocols)
    }

    /// Scrapes `/metrics`.
    pub fn metrics(&self) -> Metrics {
        Metrics::new(self.admin_page("/metrics"))
    }

    /// Waits until a metric has reached a value; panics with the scrape if it doesn't.
    pub fn await_metric(&self, name: &str, labels: &[(&str, &str)], value: f64) {
        let reached = || (self.metrics().count(name, labels) >= value).then_some(());
        if until(reached).is_none() {
            panic!("{name}{labels:?} never reached {value}:\n{}", self.metrics().text());
        }
    }

    /// Waits until no request is held or in flight.
    pub fn await_idle(&self) {
        let names = ["pacegate_requests_in_flight", "pacegate_held_requests"];
        let idle = || {
            let metrics = self.metrics();
            names.iter().all(|name| metrics.count(name, &[]) == 0.0).then_some(())
        };
        until(idle).unwrap_or_else(|| panic!("never idle:\n{}", self.metrics().text()));
    }

    /// Gets a page of the admin port, which must be a 200.
    pub fn admin_page(&self, path: &str) -> String {
        let mut client = Client::connect(self.admin);
        let host = self.admin;
        client.send(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"));
        let answer = client.response();
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.text()
    }

    /// What it wrote to stderr so far, line by line.
    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many lines that is.
    pub fn log_length(&self) -> usize {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Its lines from this one on.
    pub fn log_after(&self, length: usize) -> Vec<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)[length..].to_vec()
    }

    /// Waits for a line with all these words; panics with the log if none comes.
    pub fn await_log(&self, words: &[&str]) -> String {
        let has = |line: &String| words.iter().all(|word| line.contains(word));
        until(|| self.log().into_iter().find(has))
            .unwrap_or_else(|| panic!("no line with {words:?} in\n{}", self.log().join("\n")))
    }

    /// Writes the configuration anew and sends SIGHUP.
    pub fn reload(&self, config: &str) {
        self.folder.write("pacegate.yaml", config);
        self.signal("HUP");
    }

    /// Sends it a signal by name (`TERM`).
    pub fn signal(&self, name: &str) {
        send_signal(self.child.id(), name);
    }

    /// Waits for its end; panics if it goes on.
    pub fn wait(&mut self) -> ExitStatus {
        until(|| self.child.try_wait().expect("our own child"))
            .unwrap_or_else(|| panic!("it goes on:\n{}", self.log().join("\n")))
    }
}

impl Drop for World {
    #[expect(clippy::print_stderr, reason = "a test that fails shows what the proxy said")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the proxy's log:\n{}", self.log().join("\n"));
        }
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        self.signal("TERM");
        let end = now() + std::time::Duration::from_secs(5);
        while now() < end && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The binary with a CA folder below `folder` and an environment without anybody's proxies or
/// settings.
pub fn pacegate(folder: &Folder) -> Command {
    at_home(Command::new(&*BINARY), folder)
}

fn at_home(mut command: Command, folder: &Folder) -> Command {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PACEGATE_") {
            command.env_remove(name);
        }
    }
    command.env("PACEGATE_CERTS", folder.path().join("certs")).current_dir(folder.path());
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    command
}

/// The one that was built with the tests, or another that `PACEGATE_BINARY` names.
static BINARY: LazyLock<String> = LazyLock::new(|| {
    let other = std::env::var("PACEGATE_BINARY").ok();
    other.unwrap_or_else(|| env!("CARGO_BIN_EXE_pacegate").to_owned())
});

/// Sends a signal to a process we started.
pub fn send_signal(pid: u32, name: &str) {
    // The shell has its own `kill`: no package needed, and no unsafe code.
    let done = Command::new("sh").arg("-c").arg(format!("kill -{name} {pid}")).status();
    assert!(done.expect("a shell").success(), "kill -{name} {pid}");
}

fn follow(child: &mut Child) -> Arc<Mutex<Vec<String>>> {
    let log = Arc::new(Mutex::new(Vec::new()));
    let stderr = child.stderr.take().expect("stderr is piped");
    let shared = log.clone();
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            shared.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    });
    log
}

fn ready(child: &mut Child, log: &Mutex<Vec<String>>) -> (SocketAddr, SocketAddr) {
    let lines = || log.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let look = || {
        let found = lines()
            .iter()
            .filter(|line| line.contains("ready"))
            .find_map(|line| Some((address_after(line, "proxy")?, address_after(line, "admin")?)));
        let ended = child.try_wait().expect("our own child").is_some();
        assert!(found.is_some() || !ended, "it ended at once:\n{}", lines().join("\n"));
        found
    };
    until(look).unwrap_or_else(|| panic!("it is never ready:\n{}", lines().join("\n")))
}

/// The address after `name=` in a text line or `"name":"` in a JSON one.
pub fn address_after(line: &str, name: &str) -> Option<SocketAddr> {
    line.match_indices(name).find_map(|(place, _)| {
        let rest = &line[place + name.len()..];
        let value = rest.trim_start_matches(['"', ':', '=', ' ']);
        let value = value.strip_prefix("http://").unwrap_or(value);
        let end = value.find(['"', ' ', ',', '}', '/']).unwrap_or(value.len());
        value[..end].parse().ok()
    })
}
