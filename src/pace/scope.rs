//! What shares a pace, by name: one scope per host by default, others by kind, rule or request.
//! Hosts and other scopes are one namespace.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// A normalised host name: lower-case A-label or canonical IP address, without trailing dot,
/// brackets, port or scheme. Cloning does not allocate; the hash is computed once.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Host(Name);

/// What shares a pace. Cloning does not allocate; the hash is computed once.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Scope(Name);

/// A text with its hash.
#[derive(Clone)]
struct Name {
    text: Arc<str>,
    hash: u64,
}

/// Why a text names no scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAScope {
    Empty,
    TooLong,
    Character(char),
}

/// Why a text is not a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAHost {
    Empty,
    TooLong,
    Character(char),
    Label,
    /// It ends like an address and is none in canonical form: `0x7f.1`, `2130706433`, `127.1`.
    Number,
}

impl Host {
    /// Reads the host of a request target: a name, an IPv4 address or an IPv6 address with or
    /// without brackets. No port.
    ///
    /// Names must be ASCII here (the configuration turns others into A-labels). Underscores are
    /// accepted: real hosts have them. A name whose last label is a number is no name (WHATWG URL
    /// §3.5): resolvers take such texts for addresses, past every check on them.
    pub fn parse(text: &str) -> Result<Host, NotAHost> {
        if let Some(address) = bracketed(text) {
            let address: Ipv6Addr = address.parse().map_err(|_| NotAHost::Label)?;
            return Ok(Host::from_ip(IpAddr::V6(address)));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        if name.is_empty() {
            return Err(NotAHost::Empty);
        }
        if name.contains(':') {
            let address: Ipv6Addr = name.parse().map_err(|_| NotAHost::Character(':'))?;
            return Ok(Host::from_ip(IpAddr::V6(address)));
        }
        check_name(name)?;
        if ends_in_number(name) {
            let address = name.parse::<Ipv4Addr>().map_err(|_| NotAHost::Number)?;
            return Ok(Host::from_ip(IpAddr::V4(address)));
        }
        match name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Ok(Host::new(&name.to_ascii_lowercase())),
            false => Ok(Host::new(name)),
        }
    }

    /// The host of an address; IPv4 inside IPv6 is IPv4.
    pub fn from_ip(address: IpAddr) -> Host {
        Host::new(&address.to_canonical().to_string())
    }

    fn new(name: &str) -> Host {
        Host(Name::new(name))
    }

    /// The name itself.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// Its hash, computed once.
    pub const fn hash(&self) -> u64 {
        self.0.hash
    }

    /// The address, if the host is one.
    pub fn ip(&self) -> Option<IpAddr> {
        self.as_str().parse().ok()
    }

    /// Whether `text`, as a client wrote it, is this host: the check that saves parsing it again.
    pub fn is_written(&self, text: &str) -> bool {
        self.as_str().len() == text.len() && self.as_str().eq_ignore_ascii_case(text)
    }

    /// Whether the name is `localhost` or below it.
    pub fn is_localhost_name(&self) -> bool {
        self.as_str() == "localhost" || self.as_str().ends_with(".localhost")
    }
}

impl Scope {
    /// The scope of a host: its name. Nothing is allocated.
    pub fn of(host: &Host) -> Scope {
        Scope(host.0.clone())
    }

    /// A scope by name, from a configuration, a rule or a request. A host, and a host with a port,
    /// are normalised if they can't be taken for another name (they have a dot or a colon); others
    /// are kept as they are written.
    pub fn named(text: &str) -> Result<Scope, NotAScope> {
        let bad = |byte: u8| !byte.is_ascii_graphic() || APART.contains(&byte);
        match text.bytes().position(bad) {
            _ if text.is_empty() => return Err(NotAScope::Empty),
            _ if text.len() > Scope::BYTES => return Err(NotAScope::TooLong),
            Some(place) => {
                let character = text[place..].chars().next().unwrap_or_default();
                return Err(NotAScope::Character(character));
            }
            None => {}
        }
        if !text.contains(['.', ':']) {
            return Ok(Scope(Name::new(text)));
        }
        if let Ok(host) = Host::parse(text) {
            return Ok(Scope::of(&host));
        }
        let (host, port) = text.rsplit_once(':').unwrap_or((text, ""));
        match (Host::parse(host), port.parse()) {
            (Ok(host), Ok(port)) => Ok(Scope::of_port(&host, port)),
            (Err(_), _) | (_, Err(_)) => Ok(Scope(Name::new(text))),
        }
    }

    /// The scope of one port of a host: `shop.example:8080`, `[2001:db8::1]:443`.
    pub fn of_port(host: &Host, port: u16) -> Scope {
        let name = match host.as_str().contains(':') {
            true => format!("[{host}]:{port}"),
            false => format!("{host}:{port}"),
        };
        Scope(Name::new(&name))
    }

    /// The host of that name, if a host can have it. Nothing is allocated.
    pub fn host(&self) -> Option<Host> {
        let name = self.as_str();
        let kept = match name.contains(':') {
            true => name.parse::<Ipv6Addr>().is_ok(),
            false => {
                let lower = !name.bytes().any(|byte| byte.is_ascii_uppercase());
                let number = ends_in_number(name);
                check_name(name).is_ok() && lower && (!number || name.parse::<Ipv4Addr>().is_ok())
            }
        };
        kept.then(|| Host(self.0.clone()))
    }

    /// How long a name may be that is no host's, in bytes.
    pub const BYTES: usize = 200;

    /// The name itself.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// Its hash, computed once.
    pub const fn hash(&self) -> u64 {
        self.0.hash
    }
}

impl Name {
    fn new(text: &str) -> Name {
        Name { text: text.into(), hash: fold(text.as_bytes()) }
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        self.hash == other.hash && self.text == other.text
    }
}

impl Eq for Name {}

impl std::hash::Hash for Name {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Host({self})")
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scope({self})")
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who shares a turn in a line: the limits of an address, the turn of a label within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Client {
    /// The address (IPv6: its /64) whose limits apply.
    pub origin: u64,
    /// The lane in it that has a turn of its own; 0 without a label. Labels share
    /// [`Client::LANES`] lanes, so that nobody gets more turns by making up more of them.
    pub lane: u64,
}

impl Client {
    /// Turns an address can have beside its own (spec section 5).
    pub const LANES: u64 = 64;

    /// The client at an address, with the label it gave itself in the proxy URL's user part.
    pub fn new(address: IpAddr, label: Option<&str>) -> Client {
        let origin = match address.to_canonical() {
            IpAddr::V4(v4) => u64::from(v4.to_bits()),
            IpAddr::V6(v6) => (v6.to_bits() >> 64) as u64,
        };
        Client { origin, lane: label.map_or(0, |label| 1 + fold(label.as_bytes()) % Client::LANES) }
    }
}

fn bracketed(text: &str) -> Option<&str> {
    text.strip_prefix('[')?.strip_suffix(']')
}

fn check_name(name: &str) -> Result<(), NotAHost> {
    if name.len() > NAME_BYTES {
        return Err(NotAHost::TooLong);
    }
    let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if let Some(place) = name.bytes().position(|byte| !good(byte)) {
        return Err(NotAHost::Character(name[place..].chars().next().unwrap_or_default()));
    }
    let mut labels = name.as_bytes().split(|byte| *byte == b'.');
    match labels.all(|label| (1..=LABEL_BYTES).contains(&label.len())) {
        true => Ok(()),
        false => Err(NotAHost::Label),
    }
}

/// Decimal, octal or hexadecimal; `0x` alone is zero to some.
fn ends_in_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    match last.strip_prefix("0x").or_else(|| last.strip_prefix("0X")) {
        Some(digits) => digits.bytes().all(|b| b.is_ascii_hexdigit()),
        None => last.bytes().all(|b| b.is_ascii_digit()),
    }
}

/// FNV-1a, eight bytes a step, with a last mix: fast on short names, and good in its low bits.
fn fold(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^= hash >> 29;
    }
    hash = (hash ^ bytes.len() as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash ^ (hash >> 32)
}

/// What stands between names, or around them, in a header field.
const APART: &[u8] = b",;\"'";
/// RFC 1035 §2.3.4.
const NAME_BYTES: usize = 253;
const LABEL_BYTES: usize = 63;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: Result<&str, NotAHost>) {
        assert_eq!(Host::parse(text).as_ref().map(Host::as_str).map_err(|why| *why), want);
    }

    #[test]
    fn one_host_has_one_name_however_it_is_written() {
        check("Shop.Example", Ok("shop.example"));
        check("shop.example.", Ok("shop.example"));
        check("[2001:DB8:0::1]", Ok("2001:db8::1"));
        check("2001:db8::1", Ok("2001:db8::1"));
        check("[::ffff:127.0.0.1]", Ok("127.0.0.1"));
        check("a_b.example", Ok("a_b.example"));
    }

    #[test]
    fn what_is_no_host_says_why() {
        check("", Err(NotAHost::Empty));
        check(".", Err(NotAHost::Empty));
        check("a b", Err(NotAHost::Character(' ')));
        check("a@b", Err(NotAHost::Character('@')));
        check("a,b", Err(NotAHost::Character(',')));
        check("a..b", Err(NotAHost::Label));
        check("[::1", Err(NotAHost::Character(':')));
        check(&"a".repeat(64), Err(NotAHost::Label));
        check(&"a.".repeat(150), Err(NotAHost::TooLong));
    }

    #[test]
    fn a_scope_is_one_however_its_host_is_written_and_other_names_are_kept() {
        let check = |text: &str, want: Result<&str, NotAScope>| {
            let scope = Scope::named(text);
            assert_eq!(scope.as_ref().map(Scope::as_str).map_err(|why| *why), want, "{text}");
        };
        check("Shop.Example.", Ok("shop.example"));
        check("[2001:DB8::1]", Ok("2001:db8::1"));
        check("Shop.Example:8080", Ok("shop.example:8080"));
        check("2001:DB8::1", Ok("2001:db8::1"));
        check("[2001:DB8::1]:443", Ok("[2001:db8::1]:443"));
        check("API", Ok("API"));
        check("Shop.example/Slow:1", Ok("Shop.example/Slow:1"));
        check("", Err(NotAScope::Empty));
        check("a b", Err(NotAScope::Character(' ')));
        check("a,b", Err(NotAScope::Character(',')));
        check("größe", Err(NotAScope::Character('ö')));
        check(&"a".repeat(201), Err(NotAScope::TooLong));
        let host = Host::parse("shop.example").unwrap();
        assert_eq!(Scope::of(&host).host(), Some(host.clone()));
        for none in ["API", "shop.example:8080", "shop.example/slow", "0x7f.1", "_a:"] {
            assert_eq!(Scope::named(none).unwrap().host(), None, "{none}");
        }
        assert_eq!(Scope::named("SHOP.example"), Ok(Scope::of(&host)));
        assert_eq!(Scope::named("shop.example:80"), Ok(Scope::of_port(&host, 80)));
    }

    #[test]
    fn addresses_of_one_v6_network_are_one_client() {
        let a = Client::new("2001:db8::1".parse().unwrap(), None);
        let b = Client::new("2001:db8::ffff:2".parse().unwrap(), None);
        let labelled = Client::new("2001:db8::1".parse().unwrap(), Some("nightly"));
        assert_eq!(a, b);
        assert_ne!(a, labelled);
        assert_eq!(a.origin, labelled.origin);
    }
}
