//! Short ways to ask the proxy: one request on a connection of its own.

use super::client::Client;
use super::origin::Origin;
use super::proxy::World;
use super::response::Response;
use super::until;

impl World {
    /// Gets a URL.
    pub fn get(&self, url: &str) -> Response {
        self.get_with(url, "")
    }

    /// Gets a URL with more field lines, each with its line's end.
    pub fn get_with(&self, url: &str, fields: &str) -> Response {
        self.ask("GET", url, fields, "")
    }

    /// Sends a request; its body goes with a Content-Length if there is one.
    pub fn ask(&self, method: &str, url: &str, fields: &str, body: &str) -> Response {
        let mut client = self.client();
        client.say(method, url, fields, body);
        client.response_to(method).unwrap_or_else(|error| panic!("{method} {url}: {error}"))
    }

    /// Waits until a metric has exactly this value; panics with the scrape if it never has.
    pub fn await_exactly(&self, name: &str, labels: &[(&str, &str)], value: f64) {
        let is = || (self.metrics().count(name, labels) == value).then_some(());
        if until(is).is_none() {
            panic!("{name}{labels:?} is never {value}:\n{}", self.metrics().text());
        }
    }

    /// Waits until exactly so many requests are held.
    pub fn await_held(&self, count: usize) {
        self.await_exactly("pacegate_held_requests", &[], count as f64);
    }

    /// The rung that metrics show for a host.
    pub fn rung(&self, host: &str) -> f64 {
        self.metrics().count("pacegate_host_rung", &[("host", host)])
    }
}

impl Client {
    /// Sends a request in absolute form, without waiting for its answer.
    pub fn say(&mut self, method: &str, url: &str, fields: &str, body: &str) {
        let rest = url.strip_prefix("http://").expect("an http URL: tunnels take a path");
        let host = rest.split('/').next().unwrap_or_default();
        let length = match body.len() {
            0 => String::new(),
            length => format!("Content-Length: {length}\r\n"),
        };
        self.send(format!("{method} {url} HTTP/1.1\r\nHost: {host}\r\n{fields}{length}\r\n{body}"));
    }
}

impl Origin {
    /// A URL of this origin under a name that resolves to loopback: `name.localhost`.
    pub fn url(&self, name: &str, path: &str) -> String {
        format!("http://{name}.localhost:{}{path}", self.port())
    }
}
