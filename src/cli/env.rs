//! The environment that makes clients use the proxy and trust its CA: one table (`clients.md` 1.1).
//!
//! Nothing is read or written here. What the user had is asked for, and kept where a variable can
//! hold more than ours.

use crate::cli::health::reachable;
use crate::cli::merged::Merged;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Where clients find the proxy and its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// With scheme: aiohttp and undici refuse a value without one.
    pub proxy_url: String,
    pub admin: Option<SocketAddr>,
    pub files: Files,
}

/// The files that clients are pointed to, as the clients see them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// Our CA alone.
    pub ca: PathBuf,
    /// The system's roots, the user's own, and our CA.
    pub bundle: PathBuf,
    /// What the user added for Node, and our CA.
    pub extra: PathBuf,
    pub wgetrc: PathBuf,
    /// A directory of ini files for PHP.
    pub php: PathBuf,
    /// `None`: no Java here, and its variable stays untouched.
    pub truststore: Option<PathBuf>,
}

impl Files {
    /// The files beside a CA's certificate, without a truststore.
    pub fn beside(ca: &Path) -> Files {
        let file = |name| ca.with_file_name(name);
        Files {
            ca: ca.to_owned(),
            bundle: file("ca-bundle.pem"),
            extra: file("extra-ca.pem"),
            wgetrc: file("wgetrc"),
            php: file("php"),
            truststore: None,
        }
    }
}

/// Which half of the environment is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    All,
    ProxyOnly,
    CaOnly,
}

/// A variable and its value; `None` takes it away.
pub type Variable = (&'static str, Option<String>);

/// What the user's environment holds under a name.
pub type User<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The environment: variables in a stable order, each once.
pub fn environment(place: &Place, part: Part, user: User<'_>) -> Vec<Variable> {
    assemble(place, part, &|merged| Some(merged.with(place, user)))
}

/// The way back: ours are taken away, and where a value was merged the user's own remains.
pub fn without(place: &Place, part: Part, user: User<'_>) -> Vec<Variable> {
    let mut variables = assemble(place, part, &|merged| merged.without(place, user));
    let merged = |name: &str| Merged::ALL.iter().any(|merged| merged.name() == name);
    for (_, value) in variables.iter_mut().filter(|(name, _)| !merged(name)) {
        *value = None;
    }
    variables
}

fn assemble(place: &Place, part: Part, merge: &dyn Fn(Merged) -> Option<String>) -> Vec<Variable> {
    let mut variables = Vec::new();
    if part != Part::CaOnly {
        let proxy = |name: &&'static str| (*name, Some(place.proxy_url.clone()));
        variables.extend(PROXY.iter().map(proxy));
        for merged in [Merged::NoProxy, Merged::NoProxyLower] {
            variables.push((merged.name(), merge(merged).filter(|value| !value.is_empty())));
        }
        variables.extend(SWITCHES.map(|name| (name, Some("1".to_owned()))));
    }
    if part != Part::ProxyOnly {
        trust(&place.files, &mut variables);
        variables.push((Merged::PhpScan.name(), merge(Merged::PhpScan)));
    }
    if part == Part::All && place.files.truststore.is_some() {
        variables.push((Merged::Java.name(), merge(Merged::Java)));
    }
    variables.push(("PACEGATE_ACTIVE", Some("1".to_owned())));
    if let Some(admin) = place.admin {
        variables.push(("PACEGATE_ADMIN_URL", Some(format!("http://{}", reachable(admin)))));
    }
    variables
}

fn trust(files: &Files, variables: &mut Vec<Variable>) {
    let text = |path: &Path| Some(path.to_string_lossy().into_owned());
    variables.extend(BUNDLE.map(|name| (name, text(&files.bundle))));
    variables.push(("NODE_EXTRA_CA_CERTS", text(&files.extra)));
    variables.push(("DENO_CERT", text(&files.ca)));
    variables.push(("WGETRC", text(&files.wgetrc)));
}

/// Both cases: curl ignores HTTP_PROXY in capitals, wget reads nothing else than small letters.
const PROXY: [&str; 10] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "http_proxy",
    "https_proxy",
    "WS_PROXY",
    "WSS_PROXY",
    "GLOBAL_AGENT_HTTP_PROXY",
    "CGI_HTTP_PROXY",
    "npm_config_proxy",
    "npm_config_https_proxy",
];

/// Clients that read the variables above only if told to: Node from 22.21 on, Perl's LWP.
const SWITCHES: [&str; 2] = ["NODE_USE_ENV_PROXY", "PERL_LWP_ENV_PROXY"];

/// Who trusts a bundle of roots, each in a variable of its own.
const BUNDLE: [&str; 16] = [
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "PIP_CERT",
    "AWS_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
    "PERL_LWP_SSL_CA_FILE",
    "npm_config_cafile",
    "NIX_SSL_CERT_FILE",
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "YARN_HTTPS_CA_FILE_PATH",
    "BUNDLE_SSL_CA_CERT",
    "COMPOSER_CAFILE",
    "HTTPLIB2_CA_CERTS",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Place {
            proxy_url: "http://127.0.0.1:3128".to_owned(),
            admin: Some("127.0.0.1:3129".parse().unwrap()),
            files: Files::beside(Path::new("/pace/ca.pem")),
        }
    }

    fn find(variables: &[Variable], name: &str) -> Option<String> {
        variables.iter().find(|(known, _)| *known == name).and_then(|(_, value)| value.clone())
    }

    #[track_caller]
    fn check(user: &[(&str, &str)], name: &str, want: &str) {
        let ask = |name: &str| {
            user.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let variables = environment(&place(), Part::All, &ask);
        assert_eq!(find(&variables, name).as_deref(), Some(want));
        // Asked again inside of it, nothing is added twice.
        let again = environment(&place(), Part::All, &|name| find(&variables, name));
        assert_eq!(again, variables);
    }

    #[test]
    fn both_cases_name_the_proxy_with_its_scheme_and_trust_goes_to_each_clients_file() {
        check(&[], "HTTP_PROXY", "http://127.0.0.1:3128");
        check(&[], "https_proxy", "http://127.0.0.1:3128");
        check(&[], "SSL_CERT_FILE", "/pace/ca-bundle.pem");
        check(&[], "NODE_EXTRA_CA_CERTS", "/pace/extra-ca.pem");
        check(&[], "DENO_CERT", "/pace/ca.pem");
        check(&[], "PACEGATE_ADMIN_URL", "http://127.0.0.1:3129");
    }

    #[test]
    fn the_users_list_of_direct_hosts_is_kept_and_only_the_admin_address_added() {
        check(&[], "NO_PROXY", "127.0.0.1:3129");
        check(&[("no_proxy", "a.test, .b.test")], "NO_PROXY", "a.test,.b.test,127.0.0.1:3129");
        check(
            &[("NO_PROXY", "a.test"), ("no_proxy", "a.test,c")],
            "no_proxy",
            "a.test,c,127.0.0.1:3129",
        );
    }

    #[test]
    fn an_ipv6_admin_address_stays_out_of_the_list_for_it_stops_httpx() {
        let place = Place { admin: Some("[::1]:3129".parse().unwrap()), ..place() };
        let variables = environment(&place, Part::All, &|_| None);
        assert_eq!(find(&variables, "NO_PROXY"), None);
        assert_eq!(find(&variables, "PACEGATE_ADMIN_URL").as_deref(), Some("http://[::1]:3129"));
    }

    #[test]
    fn php_keeps_its_own_directory_and_the_users() {
        check(&[], "PHP_INI_SCAN_DIR", ":/pace/php");
        check(&[("PHP_INI_SCAN_DIR", "/etc/mine")], "PHP_INI_SCAN_DIR", "/etc/mine:/pace/php");
    }

    #[test]
    fn java_is_told_only_where_there_is_a_truststore_and_keeps_its_options() {
        let mut place = place();
        assert_eq!(find(&environment(&place, Part::All, &|_| None), "JAVA_TOOL_OPTIONS"), None);
        place.files.truststore = Some("/pace dir/truststore.jks".into());
        let user = |name: &str| (name == "JAVA_TOOL_OPTIONS").then(|| "-Xmx1g".to_owned());
        let options = find(&environment(&place, Part::All, &user), "JAVA_TOOL_OPTIONS").unwrap();
        let start = "-Xmx1g -Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128 -Dhttps.proxyHost=";
        assert!(options.starts_with(start), "{options}");
        assert!(options.contains("trustStore=\"/pace dir/truststore.jks\""), "{options}");
    }

    #[test]
    fn the_way_back_takes_ours_away_and_leaves_what_was_the_users() {
        let user = |name: &str| (name == "NO_PROXY").then(|| "a.test,127.0.0.1:3129".to_owned());
        let variables = without(&place(), Part::All, &user);
        assert_eq!(find(&variables, "NO_PROXY").as_deref(), Some("a.test"));
        let left = variables.iter().filter(|(_, value)| value.is_some()).count();
        assert_eq!(left, 2, "{variables:?}");
        assert_eq!(variables.len(), environment(&place(), Part::All, &user).len());
    }

    #[test]
    fn a_half_is_a_half() {
        let proxy = environment(&place(), Part::ProxyOnly, &|_| None);
        assert!(find(&proxy, "SSL_CERT_FILE").is_none() && find(&proxy, "HTTP_PROXY").is_some());
        let trust = environment(&place(), Part::CaOnly, &|_| None);
        assert!(find(&trust, "SSL_CERT_FILE").is_some() && find(&trust, "HTTP_PROXY").is_none());
    }
}
