//! What a tunnel's first bytes say it speaks. Pure; whoever reads the bytes asks again when more
//! have come.

/// What the first bytes decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaks {
    /// A TLS ClientHello begins here.
    Tls,
    /// An HTTP/1 request line, or the HTTP/2 preface, begins here.
    Http,
    /// Something else.
    Other,
    /// Not decided yet.
    More,
}

/// Reads the first bytes of a tunnel.
///
/// TLS records begin with a handshake type and major version 3 (RFC 8446 §5.1). A request line
/// begins with a token and a space (RFC 9112 §3); methods longer than [`METHOD_BYTES`] are not
/// waited for. Empty lines before it (RFC 9112 §2.2) and blanks too many make it no other protocol:
/// whoever reads requests says what is wrong with it.
pub fn sniff(bytes: &[u8]) -> Speaks {
    match bytes {
        [] | [HANDSHAKE] => Speaks::More,
        [HANDSHAKE, 3, ..] => Speaks::Tls,
        _ => match after(bytes, b"\r\n\t ") {
            Some(line) => request_line(line),
            None => Speaks::Other,
        },
    }
}

/// What comes after blanks; `None` if there are too many.
fn after<'a>(bytes: &'a [u8], blanks: &[u8]) -> Option<&'a [u8]> {
    let known = &bytes[..bytes.len().min(BLANKS + 1)];
    let count = known.iter().take_while(|byte| blanks.contains(byte)).count();
    (count <= BLANKS).then(|| &bytes[count..])
}

fn request_line(bytes: &[u8]) -> Speaks {
    // A later byte must not turn what was decided without it.
    let known = &bytes[..bytes.len().min(METHOD_BYTES)];
    match known.iter().position(|byte| !is_token(*byte)) {
        None if bytes.len() < METHOD_BYTES => Speaks::More,
        Some(end) if end > 0 && matches!(bytes[end], b' ' | b'\t') => {
            after(&bytes[end + 1..], b"\t ").map_or(Speaks::Other, target)
        }
        None | Some(_) => Speaks::Other,
    }
}

/// SMTP and its like begin with a word and a space too: a target tells a request from them.
fn target(bytes: &[u8]) -> Speaks {
    match bytes.first() {
        None => Speaks::More,
        Some(b'/' | b'*') => Speaks::Http,
        // absolute-form, or authority-form of a CONNECT
        Some(byte) if byte.is_ascii_alphanumeric() || *byte == b'[' => absolute(bytes),
        Some(_) => Speaks::Other,
    }
}

fn absolute(bytes: &[u8]) -> Speaks {
    let known = &bytes[..bytes.len().min(SCHEME_BYTES)];
    let end = known.iter().position(|byte| matches!(byte, b' ' | b'\r' | b'\n'));
    let known = &known[..end.unwrap_or(known.len())];
    if known.contains(&b':') {
        return Speaks::Http;
    }
    match end {
        None if bytes.len() < SCHEME_BYTES => Speaks::More,
        None | Some(_) => Speaks::Other,
    }
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

const HANDSHAKE: u8 = 0x16;
/// The longest registered method has 17 characters (UPDATEREDIRECTREF).
const METHOD_BYTES: usize = 24;
/// A host name before its colon, at the longest.
const SCHEME_BYTES: usize = 260;

/// Before a request line, and inside it: more than any client sends by mistake.
const BLANKS: usize = 8;

/// So many bytes decide in every case.
pub const ENOUGH: usize = 2 * BLANKS + METHOD_BYTES + SCHEME_BYTES + 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], want: Speaks) {
        assert_eq!(sniff(bytes), want, "{:?}", String::from_utf8_lossy(bytes));
        for end in 0..bytes.len() {
            let got = sniff(&bytes[..end]);
            assert!(got == want || got == Speaks::More, "{got:?} after {end} of {bytes:?}");
        }
    }

    #[test]
    fn decides_the_same_however_the_bytes_arrive() {
        check(&[0x16, 3, 1, 0, 200, 1], Speaks::Tls);
        check(b"GET / HTTP/1.1\r\n", Speaks::Http);
        check(b"PURGE-ALL /x HTTP/1.1\r\n", Speaks::Http);
        check(b"OPTIONS * HTTP/1.1\r\n", Speaks::Http);
        check(b"GET http://shop.example/ HTTP/1.1\r\n", Speaks::Http);
        check(b"CONNECT shop.example:443 HTTP/1.1\r\n", Speaks::Http);
        check(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Speaks::Http);
        check(b"EHLO mail.example\r\n", Speaks::Other);
        check(b"SSH-2.0-OpenSSH_9.2\r\n", Speaks::Other);
        check(&[0, 0, 0, 8, 4, 210], Speaks::Other);
        check(&[0x16, 2, 0], Speaks::Other);
        check(b"EHLO  mail.example\r\n", Speaks::Other);
        check(b"\r\nlogin: ", Speaks::Other);
        check(b"A-METHOD-OF-25-CHARACTERS / HTTP/1.1\r\n", Speaks::Other);
        check(&[b"GET ".as_slice(), &[b'a'; 300], b":80/ HTTP/1.1\r\n"].concat(), Speaks::Other);
    }

    #[test]
    fn blanks_too_many_make_it_no_other_protocol() {
        check(b"\r\nGET / HTTP/1.1\r\n", Speaks::Http);
        check(b"\n\nGET http://shop.example/ HTTP/1.1\r\n", Speaks::Http);
        check(b"GET  / HTTP/1.1\r\n", Speaks::Http);
        check(b"GET\t/ HTTP/1.1\r\n", Speaks::Http);
        check(b" GET / HTTP/1.1\r\n", Speaks::Http);
        check(&[&[b'\n'; BLANKS], b"GET / HTTP/1.1\r\n".as_slice()].concat(), Speaks::Http);
        check(&[&[b'\n'; BLANKS + 1], b"GET / HTTP/1.1\r\n".as_slice()].concat(), Speaks::Other);
    }

    #[test]
    fn a_bounded_number_of_bytes_decides() {
        for byte in [b'A', b' ', b'/', b'a', b'.', b'\n'] {
            assert_ne!(sniff(&[byte; ENOUGH]), Speaks::More);
        }
        let long = [b"GET ".as_slice(), &[b'a'; ENOUGH]].concat();
        assert_ne!(sniff(&long[..ENOUGH]), Speaks::More);
    }
}
