//! Commands known not to follow the environment, and what makes them (`clients.md` 1.2).

use std::path::Path;

/// A sentence for a command that won't use the proxy by the environment alone.
pub fn hint(command: &str) -> Option<&'static str> {
    let name = Path::new(command).file_stem()?.to_str()?.to_ascii_lowercase();
    HINTS.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, hint)| *hint)
}

const HINTS: [(&[&str], &str); 6] = [
    (
        &["node", "nodejs", "npx", "tsx", "ts-node"],
        "Node before 22.21 ignores proxy variables: use undici's EnvHttpProxyAgent or global-agent; \
         Crawlee needs new ProxyConfiguration({proxyUrls: [process.env.HTTP_PROXY]})",
    ),
    (&["php"], "PHP's file_get_contents ignores proxy variables: use curl, or a stream context"),
    (
        &["chromium", "chromium-browser", "chrome", "google-chrome", "google-chrome-stable"],
        "Chromium ignores SSL_CERT_FILE: start it with --ignore-certificate-errors-spki-list \
         (and --user-data-dir), and --proxy-bypass-list=<-loopback> for local sites",
    ),
    (
        &["firefox", "firefox-esr"],
        "Firefox has its own proxy settings and certificate store: set both there",
    ),
    (
        &["ssh", "scp", "sftp", "rsync", "ftp", "telnet", "nc", "ping"],
        "this does not speak HTTP through a proxy: it goes direct",
    ),
    (
        &["sudo", "doas", "su"],
        "this drops most of the environment: put it before pacegate, or use sudo -E",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_known_by_its_name_wherever_it_lies() {
        assert!(hint("/usr/bin/node").is_some_and(|hint| hint.contains("22.21")));
        assert!(hint("sudo").is_some());
        assert_eq!(hint("curl"), None);
        assert_eq!(hint(""), None);
    }
}
