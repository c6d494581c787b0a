//! Which setting wins: defaults, then the file, then the environment, then flags. Only this file of the
//! room, and `found`, do IO, and only to read.

use crate::config::check::check;
use crate::config::found;
use crate::config::keys;
use crate::config::mistake::{Mistake, Mistakes, Place};
use crate::config::node::Node;
use crate::config::raw;
use crate::config::section::Report;
use crate::config::settings::Config;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Where settings come from.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The file. `None`: no file, which is as good as an empty one.
    pub file: Option<PathBuf>,
    /// The environment, all of it: names that don't begin with `PACEGATE_` are not ours.
    pub env: Vec<(String, String)>,
    /// Paths of keys, like `retry.window`, and what they are set to.
    pub flags: Vec<(String, String)>,
}

/// A configuration that can be used.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub config: Config,
    /// What doesn't keep it from being used, but is hardly meant.
    pub warnings: Mistakes,
    pub file: Option<PathBuf>,
}

/// Reads the file, if there is one, and puts all sources together.
pub fn load(sources: Sources) -> Result<Loaded, Mistakes> {
    let text = sources.file.as_deref().map_or_else(|| Ok(String::new()), read_file);
    with_text(text, sources)
}

/// The same, with the file's text from somewhere else; `sources.file` is what it is called.
pub fn load_from(from: impl Read, sources: Sources) -> Result<Loaded, Mistakes> {
    let named = sources.file.as_deref().map_or_else(String::new, |file| file.display().to_string());
    with_text(read_text(from, &named), sources)
}

fn with_text(text: Result<String, Wrong>, sources: Sources) -> Result<Loaded, Mistakes> {
    match text {
        Ok(text) => combine_with(&text, sources, found::mistakes),
        Err((message, hint)) => {
            let mistake = Mistake::error(message, &Place::Whole, hint);
            Err(Mistakes::new(sources.file.as_deref(), "", vec![mistake]))
        }
    }
}

/// The same, with the file's text at hand. Pure.
pub fn combine(text: &str, sources: Sources) -> Result<Loaded, Mistakes> {
    combine_with(text, sources, |_, _| Vec::new())
}

/// `look` reports what is wrong with the files that the configuration names.
fn combine_with(
    text: &str,
    sources: Sources,
    look: fn(&Config, &Report) -> Vec<Mistake>,
) -> Result<Loaded, Mistakes> {
    let text = raw::unify_line_ends(text);
    let reading = raw::read(&text);
    let unreadable = reading.node.is_none() && !reading.mistakes.is_empty();
    let mut mistakes = reading.mistakes;
    let mut root = reading.node.unwrap_or_else(Node::nothing);
    for (name, value) in &sources.env {
        overlay_variable(&mut root, name, value, &mut mistakes);
    }
    for (path, value) in &sources.flags {
        let place = Place::Flag(path.clone());
        root.overlay(&split(path), raw::read_value(value, &place));
    }
    let (config, report) = check(Some(&root));
    // What goes together can't be said of a file that can't be read.
    if !unreadable {
        mistakes.extend(look(&config, &report));
        mistakes.extend(report.mistakes);
    }
    let mistakes = Mistakes::new(sources.file.as_deref(), &text, mistakes);
    match mistakes.has_errors() {
        true => Err(mistakes),
        false => Ok(Loaded { config, warnings: mistakes, file: sources.file }),
    }
}

/// The file that is used when none is named: `pacegate.yaml` here, else `pacegate/config.yaml` in the user's
/// folder of configurations. `None` if there is neither.
pub fn find(working: &Path, config_home: Option<&OsStr>, home: Option<&OsStr>) -> Option<PathBuf> {
    let config_home = config_home.map(PathBuf::from).filter(|path| path.is_absolute());
    let home = home.filter(|home| !home.is_empty());
    let config_home = config_home.or_else(|| Some(PathBuf::from(home?).join(".config")));
    let user = config_home.map(|folder| folder.join("pacegate").join("config.yaml"));
    std::iter::once(working.join(FILE_NAME)).chain(user).find(|file| file.is_file())
}

/// The file's name where it lies beside what it is for.
pub const FILE_NAME: &str = "pacegate.yaml";

/// The keys of a path. Hosts have dots in their names.
fn split(path: &str) -> Vec<&str> {
    match path.split_once('.') {
        Some(("resolve", host)) => vec!["resolve", host],
        Some(("scopes", rest)) => match rest.rsplit_once('.') {
            Some((host, key)) if host.ends_with(".backoff") => {
                vec!["scopes", host.strip_suffix(".backoff").unwrap_or(host), "backoff", key]
            }
            Some((host, key)) => vec!["scopes", host, key],
            None => vec!["scopes", rest],
        },
        Some(_) | None => path.split('.').collect(),
    }
}

fn overlay_variable(root: &mut Node, name: &str, value: &str, mistakes: &mut Vec<Mistake>) {
    let Some(rest) = name.strip_prefix(PREFIX) else { return };
    if OTHER_VARIABLES.contains(&rest) {
        return;
    }
    let place = Place::Environment(name.to_owned());
    let path = rest.to_ascii_lowercase().replace("__", ".");
    let known = keys::paths().any(|known| known == path);
    if known && rest == rest.to_ascii_uppercase() {
        let keys: Vec<&str> = path.split('.').collect();
        root.overlay(&keys, raw::read_value(value, &place));
        return;
    }
    let message = format!("unknown environment variable `{}`", crate::config::value::short(name));
    mistakes.push(Mistake::error(message, &place, variable_hint(&path)));
}

fn variable_hint(path: &str) -> String {
    if let [key, ..] = keys::of(path) {
        let below = variable(&keys::join(path, key));
        return format!("`{path}` is a section: set a key below it, like `{below}`");
    }
    // Without what all have in front, which would make all of them alike.
    let bare = |path: &str| path.replace('.', "__");
    let names: Vec<String> = keys::paths().map(|path| bare(&path)).collect();
    let written = bare(path);
    let plain = |name: &str| name.replace("__", "_");
    let same = names.iter().map(String::as_str).find(|name| plain(name) == plain(&written));
    match same.or_else(|| keys::nearest(&written, names.iter().map(String::as_str), NEAR)) {
        Some(name) => format!("did you mean `{PREFIX}{}`?", name.to_uppercase()),
        None => "`PACEGATE_RETRY__WINDOW` sets `window` under `retry:`".to_owned(),
    }
}

fn variable(path: &str) -> String {
    format!("{PREFIX}{}", path.to_ascii_uppercase().replace('.', "__"))
}

fn read_file(path: &Path) -> Result<String, Wrong> {
    let named = path.display().to_string();
    let file = File::open(path).map_err(|why| unreadable(&named, &why))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        let hint = format!("name the file in it, like {}", path.join(FILE_NAME).display());
        return Err((format!("{named} is a folder"), hint));
    }
    read_text(file, &named)
}

fn read_text(from: impl Read, named: &str) -> Result<String, Wrong> {
    let mut bytes = Vec::new();
    let read = from.take(FILE_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|why| unreadable(named, &why))?;
    if bytes.len() as u64 > FILE_BYTES {
        return Err((format!("{named} is larger than 1 MiB"), "is it the right file?".to_owned()));
    }
    String::from_utf8(bytes).map_err(|why| {
        let good = &why.as_bytes()[..why.utf8_error().valid_up_to()];
        let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
        let message = format!("{named} is not UTF-8: line {line} has other bytes");
        (message, "save it as UTF-8".to_owned())
    })
}

fn unreadable(named: &str, why: &std::io::Error) -> Wrong {
    if why.kind() == ErrorKind::NotFound {
        let hint = "`pacegate init` writes one with every setting explained";
        return (format!("there is no file {named}"), hint.to_owned());
    }
    (format!("{named} can't be read: {why}"), String::new())
}

/// What keeps a file from being read, and what to do.
type Wrong = (String, String);

const PREFIX: &str = "PACEGATE_";
/// What `run` sets and reads, and variables that stand for a flag; none is a setting.
const OTHER_VARIABLES: [&str; 6] = ["ACTIVE", "ADMIN", "ADMIN_URL", "QUIET", "PROXY", "CONFIG"];
const NEAR: f64 = 0.9;
/// A thousand times the example's length.
const FILE_BYTES: u64 = 1 << 20;
