//! Exceptions of a download, by name: what an attempt without an answer is called here.

/// The failures that an exception stands for; its last name counts, whatever it is imported from.
pub fn failures(name: &str) -> Option<&'static [&'static str]> {
    let last = name.rsplit('.').next().unwrap_or(name).trim();
    EXCEPTIONS.iter().find(|(known, _)| *known == last).map(|(_, failures)| *failures)
}

const EXCEPTIONS: &[(&str, &[&str])] = &[
    ("DownloadFailedError", &["reset"]),
    ("DownloadTimeoutError", &["connect_timeout", "response_timeout"]),
    ("DownloadConnectionRefusedError", &["refused"]),
    ("CannotResolveHostError", &["dns"]),
    ("ResponseDataLossError", &["truncated"]),
    ("ResponseFailed", &["reset", "truncated"]),
    ("ResponseNeverReceived", &["reset"]),
    ("PartialDownloadError", &["truncated"]),
    ("TimeoutError", &["connect_timeout", "response_timeout"]),
    ("TCPTimedOutError", &["connect_timeout"]),
    ("UserTimeoutError", &["connect_timeout", "response_timeout"]),
    ("ConnectionLost", &["reset"]),
    ("ConnectionDone", &["reset"]),
    ("ConnectionAborted", &["reset"]),
    ("ConnectError", &["refused", "unreachable"]),
    ("ConnectionRefusedError", &["refused"]),
    ("ConnectionResetError", &["reset"]),
    ("ConnectionError", &["refused", "reset"]),
    ("NoRouteError", &["unreachable"]),
    ("DNSLookupError", &["dns"]),
    ("SSLError", &["tls"]),
    ("IOError", OS),
    ("OSError", OS),
    ("EnvironmentError", OS),
];

/// What Python's error of the operating system can be on a connection.
const OS: &[&str] = &["connect_timeout", "reset", "refused", "unreachable"];
