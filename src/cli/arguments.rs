//! The command line's grammar.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// A forward proxy that paces: a struggling site makes a crawl slow, not failed.
#[derive(Debug, Parser)]
#[command(name = "pacegate", version, about, max_term_width = 100)]
#[command(after_help = "Without a command it serves. Try: pacegate demo")]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub settings: Settings,
}

/// Settings that every command takes. They win over the file and the environment.
#[derive(Clone, Debug, Default, Args)]
pub struct Settings {
    /// Configuration file (YAML); `pacegate init` writes a commented one.
    #[arg(long, short, global = true, env = "PACEGATE_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where clients connect: an address and port, or a port of this machine's; may be given more
    /// than once.
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub listen: Vec<String>,
    /// Where metrics, health and hosts are; off for nowhere.
    #[arg(long, global = true, env = "PACEGATE_ADMIN", value_name = "ADDRESS")]
    pub admin: Option<String>,
    /// Folder of the CA.
    #[arg(long, global = true, value_name = "DIR")]
    pub certs: Option<PathBuf>,
    /// How requests are treated: transparent, interactive, archive, api, scrapy, strict, off.
    #[arg(long, global = true, value_name = "NAME")]
    pub preset: Option<String>,
    /// Any other setting, e.g. `--set retry.window=5m`; may be given more than once.
    #[arg(long = "set", global = true, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// error, warn, info, debug or trace.
    #[arg(long, global = true, value_name = "LEVEL")]
    pub log_level: Option<String>,
    /// auto (text on a terminal, else JSON), text or json.
    #[arg(long, global = true, value_name = "FORMAT")]
    pub log_format: Option<String>,
}

/// What can be asked.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the proxy (the default).
    Serve,
    /// Run a command through a proxy of its own, with everything set for it.
    Run(Run),
    /// Print the environment that points clients at the proxy.
    Env(Env),
    /// The CA that clients must trust.
    Ca {
        #[command(subcommand)]
        what: Ca,
    },
    /// Check a configuration file.
    Check {
        file: Option<PathBuf>,
        /// human or json.
        #[arg(long, default_value = "human")]
        format: CheckFormat,
    },
    /// Write a commented configuration file.
    Init {
        #[arg(default_value = "pacegate.yaml")]
        file: PathBuf,
        /// Overwrite it.
        #[arg(long)]
        force: bool,
    },
    /// Ask a running proxy how it is; exit code 0 or 1.
    Health {
        /// Whether it takes new requests, not only whether it lives.
        #[arg(long)]
        ready: bool,
    },
    /// Show the hosts that a running proxy slows.
    Hosts {
        /// All that is known of them, as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show one host of a running proxy, or change its row.
    Host(Host),
    /// Say why a request to this URL would wait at a running proxy, and how long.
    Explain { url: String },
    /// Print the configuration that a Scrapy project's settings.py comes to, and what it can't say.
    ImportScrapy { file: PathBuf },
    /// Stands beside the command of `run`; nothing for people.
    #[command(hide = true)]
    Witness,
    /// See what it does: a small shop, asked directly and through the proxy.
    Demo {
        /// No colours.
        #[arg(long)]
        plain: bool,
    },
}

/// `host`.
#[derive(Debug, Args)]
pub struct Host {
    /// Its name, without a port.
    pub name: String,
    #[command(subcommand)]
    pub action: Option<HostAction>,
}

/// What can be done to a host's row.
#[derive(Debug, Subcommand)]
pub enum HostAction {
    /// Forget what was learnt: rung 0, no pause, no pin.
    Reset,
    /// Let nobody start for so long (30s, 10m, 1h30m).
    Pause {
        #[arg(value_name = "DURATION")]
        span: String,
    },
    /// End a pause; the pace stays.
    Resume,
    /// Keep it on a rung, whatever is learnt, until it is reset.
    Pin {
        #[arg(value_name = "RUNG", value_parser = clap::value_parser!(u8).range(0..=15))]
        rung: u8,
    },
}

/// `run`.
#[derive(Debug, Args)]
pub struct Run {
    /// Print nothing of our own.
    #[arg(long, short, env = "PACEGATE_QUIET", value_parser = clap::builder::FalseyValueParser::new())]
    pub quiet: bool,
    /// Leave JAVA_TOOL_OPTIONS alone.
    #[arg(long)]
    pub no_java: bool,
    /// The command and its arguments.
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// `env`.
#[derive(Debug, Args)]
pub struct Env {
    /// sh, fish, powershell, cmd, dotenv, json, docker, k8s, github.
    /// Without it, the one of $SHELL.
    #[arg(long)]
    pub shell: Option<String>,
    /// Print what takes it back.
    #[arg(long)]
    pub unset: bool,
    /// Only the variables about trust.
    #[arg(long, conflicts_with = "proxy_only")]
    pub ca_only: bool,
    /// Only the variables about the proxy.
    #[arg(long)]
    pub proxy_only: bool,
    /// The proxy's host name as the client sees it.
    #[arg(long)]
    pub host: Option<String>,
    /// The CA's folder as the client sees it.
    #[arg(long, value_name = "DIR")]
    pub ca: Option<PathBuf>,
}

/// `ca`.
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum Ca {
    /// Where its certificate is.
    Path,
    /// The certificate, as PEM.
    Print,
    /// The hash that Chromium's --ignore-certificate-errors-spki-list takes.
    Spki,
}

/// How mistakes are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    Human,
    Json,
}

/// What to say of a command that there is none of. `None`: one of ours is much like it, or it is
/// another mistake, and the library says it better.
pub fn not_a_command(error: &clap::Error, words: &[OsString]) -> Option<String> {
    let near = error.get(ContextKind::SuggestedSubcommand).is_some();
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    if near || error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let theirs = words.iter().skip_while(|word| *word != name.as_str());
    let theirs: Vec<_> = theirs.map(|word| word.to_string_lossy()).collect();
    Some(format!(
        "there is no command `{name}` of ours; if it is a program, run it through a proxy of its \
         own with\n  pacegate run -- {}\nand `pacegate --help` lists our commands",
        theirs.join(" ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, want: Option<&str>) {
        let words: Vec<OsString> = line.split(' ').map(Into::into).collect();
        let error = Arguments::try_parse_from(&words).expect_err("no such command");
        let said = not_a_command(&error, &words);
        match want {
            Some(want) => assert!(said.is_some_and(|said| said.contains(want)), "{line}"),
            None => assert_eq!(said, None, "{line}"),
        }
    }

    #[test]
    fn a_program_in_a_commands_place_is_told_how_to_run_it() {
        check("pacegate python x.py -v", Some("pacegate run -- python x.py -v\n"));
        check("pacegate --admin off curl", Some("pacegate run -- curl\n"));
        check("pacegate chek", None);
        check("pacegate --lisen 1", None);
    }
}
