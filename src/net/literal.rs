//! The one mistake of clients that the HTTP library refuses and that can mean one thing only: a
//! CONNECT to an IPv6 address without its brackets. Pure.

use std::net::Ipv6Addr;

/// The bytes with brackets around the address, if they begin with such a CONNECT: the last group
/// is a port and the rest an address.
pub fn bracketed(bytes: &[u8]) -> Option<Vec<u8>> {
    let rest = bytes.strip_prefix(CONNECT)?;
    let end = rest.iter().take(LONGEST).position(|byte| *byte == b' ')?;
    let target = std::str::from_utf8(&rest[..end]).ok()?;
    let (address, port) = target.rsplit_once(':')?;
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    if !is_port || port.parse::<u16>().is_err() || address.parse::<Ipv6Addr>().is_err() {
        return None;
    }
    Some([CONNECT, b"[", address.as_bytes(), b"]:", port.as_bytes(), &rest[end..]].concat())
}

/// So many bytes more than before.
pub const BRACKETS: usize = 2;
const CONNECT: &[u8] = b"CONNECT ";
/// An address with its last 32 bits in decimal, and a port.
const LONGEST: usize = 45 + 7;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, want: Option<&str>) {
        let got = bracketed(line.as_bytes());
        assert_eq!(got.as_deref(), want.map(str::as_bytes), "{line}");
    }

    #[test]
    fn only_an_address_and_a_port_get_brackets() {
        check("CONNECT ::1:443 HTTP/1.1\r\n", Some("CONNECT [::1]:443 HTTP/1.1\r\n"));
        check("CONNECT 2001:db8::1:443 X", Some("CONNECT [2001:db8::1]:443 X"));
        check("CONNECT ::ffff:1.2.3.4:80 X", Some("CONNECT [::ffff:1.2.3.4]:80 X"));
        for line in [
            "CONNECT [::1]:443 HTTP/1.1\r\n",
            "CONNECT shop.test:443 HTTP/1.1\r\n",
            "CONNECT 1.2.3.4:443 HTTP/1.1\r\n",
            "CONNECT 1:2:3:4:5:6:7:443",
            "CONNECT 2001:db8::1:beef X",
            "CONNECT 2001:db8::1:99999 X",
            "CONNECT ::1: X",
            "GET ::1:443 X",
            "",
        ] {
            check(line, None);
        }
    }
}
