//! The command line's grammar.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::net::SocketAddr;
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
    /// Where clients connect; may be given more than once.
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub listen: Vec<SocketAddr>,
    /// Where metrics and health are.
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub admin: Option<SocketAddr>,
    /// Folder of the CA.
    #[arg(long, global = true, value_name = "DIR")]
    pub certs: Option<PathBuf>,
    /// How requests are treated: transparent, interactive, archive, off.
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
    /// See what it does: a small shop, asked directly and through the proxy.
    Demo {
        /// No colours.
        #[arg(long)]
        plain: bool,
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
