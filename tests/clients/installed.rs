//! Where the clients are, and what to run if they aren't there.

use std::path::PathBuf;

/// A Python script of this folder, to be run by the Python that has the clients.
pub fn python(script: &str) -> Vec<String> {
    vec![found("venv/bin/python"), "-B".into(), here(script)]
}

/// A Node script of this folder, which finds its packages where they were installed.
pub fn node(script: &str) -> Vec<String> {
    let modules = found("node/node_modules");
    vec!["env".into(), format!("NODE_PATH={modules}"), "node".into(), here(script)]
}

fn here(script: &str) -> String {
    format!("{}/tests/clients/{script}", env!("CARGO_MANIFEST_DIR"))
}

fn found(name: &str) -> String {
    let path = folder().join(name);
    assert!(
        path.exists(),
        "{} is missing: run `.ci/clients`, which installs the clients of these tests",
        path.display()
    );
    path.display().to_string()
}

/// The folder that `.ci/clients` installs into (the same rule stands there).
fn folder() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).unwrap_or_else(|| {
        PathBuf::from(std::env::var_os("HOME").expect("HOME is set")).join(".cache")
    });
    cache.join("pacegate-ci/clients")
}
