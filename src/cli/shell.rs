//! Variables written for whoever is to read them: quoting, and nothing else.

use crate::cli::env::Variable;
use std::fmt::Write;

/// Who reads the variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    /// sh, bash, zsh, dash, ksh.
    Posix,
    Fish,
    PowerShell,
    /// A batch file of Windows's cmd.
    Cmd,
    Dotenv,
    Json,
    /// `docker run --env-file`: no quoting at all.
    Docker,
    /// A ConfigMap for `envFrom`.
    Kubernetes,
    /// To be appended to `$GITHUB_ENV`.
    GitHub,
}

impl Shell {
    /// Every one, with its name on the command line.
    pub const ALL: [(&'static str, Shell); 9] = [
        ("sh", Shell::Posix),
        ("fish", Shell::Fish),
        ("powershell", Shell::PowerShell),
        ("cmd", Shell::Cmd),
        ("dotenv", Shell::Dotenv),
        ("json", Shell::Json),
        ("docker", Shell::Docker),
        ("k8s", Shell::Kubernetes),
        ("github", Shell::GitHub),
    ];

    /// The one with that name.
    pub fn named(name: &str) -> Option<Shell> {
        Shell::ALL.iter().find(|(known, _)| *known == name).map(|(_, shell)| *shell)
    }

    /// The one whose program has that path (`$SHELL`); sh for those unknown.
    pub fn of_program(path: &str) -> Shell {
        match path.rsplit(['/', '\\']).next() {
            Some("fish") => Shell::Fish,
            Some("pwsh" | "pwsh.exe" | "powershell.exe") => Shell::PowerShell,
            Some("cmd.exe") => Shell::Cmd,
            _ => Shell::Posix,
        }
    }

    /// The text that sets and takes away these variables.
    pub fn render(self, variables: &[Variable]) -> String {
        match self {
            Shell::Json => json(variables),
            Shell::Kubernetes => config_map(variables),
            Shell::Posix
            | Shell::Fish
            | Shell::PowerShell
            | Shell::Cmd
            | Shell::Dotenv
            | Shell::Docker
            | Shell::GitHub => {
                variables.iter().map(|(name, value)| self.line(name, value.as_deref())).collect()
            }
        }
    }

    fn line(self, name: &str, value: Option<&str>) -> String {
        match (self, value) {
            (Shell::Posix, Some(value)) => format!("export {name}={}\n", posix(value)),
            (Shell::Posix, None) => format!("unset {name}\n"),
            (Shell::Fish, Some(value)) => format!("set -gx {name} {}\n", fish(value)),
            (Shell::Fish, None) => format!("set -e {name}\n"),
            (Shell::PowerShell, Some(value)) => format!("$Env:{name} = {}\n", powershell(value)),
            (Shell::PowerShell, None) => {
                format!("Remove-Item Env:{name} -ErrorAction SilentlyContinue\n")
            }
            (Shell::Cmd, value) => format!("set \"{name}={}\"\r\n", cmd(value.unwrap_or(""))),
            (Shell::Dotenv, value) => format!("{name}={}\n", dotenv(value.unwrap_or(""))),
            (Shell::Docker, value) => format!("{name}={}\n", one_line(value.unwrap_or(""))),
            (Shell::GitHub, value) => github(name, value.unwrap_or("")),
            (Shell::Json | Shell::Kubernetes, _) => unreachable!("written as a whole"),
        }
    }
}

fn posix(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}

fn fish(value: &str) -> String {
    format!("'{}'", value.replace('\\', r"\\").replace('\'', r"\'"))
}

/// PowerShell takes typographic quotes for quotes.
fn powershell(value: &str) -> String {
    let mut text = String::from("'");
    for character in value.chars() {
        text.push(character);
        if matches!(character, '\'' | '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}') {
            text.push(character);
        }
    }
    text + "'"
}

/// A batch file expands % between quotes too; a quote or a line end can't be written at all.
fn cmd(value: &str) -> String {
    one_line(value).replace('"', "").replace('%', "%%")
}

/// Single quotes are literal to every reader; double ones, where there must be, are not.
fn dotenv(value: &str) -> String {
    if !value.contains(['\'', '\n']) {
        return format!("'{value}'");
    }
    let escaped = value.replace('\\', r"\\").replace('"', "\\\"").replace('$', r"\$");
    format!("\"{}\"", escaped.replace('\n', r"\n"))
}

fn one_line(value: &str) -> String {
    value.replace(['\r', '\n'], " ")
}

fn github(name: &str, value: &str) -> String {
    if !value.contains(['\r', '\n']) {
        return format!("{name}={value}\n");
    }
    let mut end = String::from("PACEGATE_END");
    while value.contains(&end) {
        end.push('_');
    }
    format!("{name}<<{end}\n{value}\n{end}\n")
}

fn json(variables: &[Variable]) -> String {
    let object: serde_json::Map<String, serde_json::Value> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone().into())).collect();
    let text = serde_json::to_string_pretty(&object).expect("strings are JSON");
    text + "\n"
}

/// A JSON string is a YAML string.
fn config_map(variables: &[Variable]) -> String {
    let mut text =
        String::from("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: pacegate-env\ndata:\n");
    for (name, value) in variables {
        let value = serde_json::Value::from(value.as_deref().unwrap_or(""));
        writeln!(text, "  {name}: {value}").expect("a String takes all");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const NASTY: &str = "it's \"$HOME\" `id` \\ %PATH% ‘x’;#";

    #[track_caller]
    fn check(shell: Shell, value: Option<&str>, want: &str) {
        let variables = [("NAME", value.map(str::to_owned))];
        assert_eq!(shell.render(&variables), want);
    }

    #[test]
    fn each_reader_gets_its_own_quoting() {
        check(Shell::Fish, Some(r"a'\b"), "set -gx NAME 'a\\'\\\\b'\n");
        check(Shell::PowerShell, Some("a'’b"), "$Env:NAME = 'a''’’b'\n");
        check(Shell::Cmd, Some("a%b\"c"), "set \"NAME=a%%bc\"\r\n");
        check(Shell::Dotenv, Some("a $b"), "NAME='a $b'\n");
        check(Shell::Dotenv, Some("it's $b"), "NAME=\"it's \\$b\"\n");
        check(Shell::Docker, Some("a 'b'\nc"), "NAME=a 'b' c\n");
        check(Shell::Json, Some("a\"b"), "{\n  \"NAME\": \"a\\\"b\"\n}\n");
        check(Shell::GitHub, Some("a\nb"), "NAME<<PACEGATE_END\na\nb\nPACEGATE_END\n");
    }

    #[test]
    fn taking_away_is_written_too() {
        check(Shell::Posix, None, "unset NAME\n");
        check(Shell::Fish, None, "set -e NAME\n");
        check(Shell::Cmd, None, "set \"NAME=\"\r\n");
        check(Shell::Json, None, "{\n  \"NAME\": null\n}\n");
    }

    #[test]
    fn a_shell_reads_back_what_was_written() {
        let script = Shell::Posix.render(&[("NAME", Some(NASTY.to_owned()))]);
        let script = format!("{script}printf %s \"$NAME\"");
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), NASTY);
    }

    #[test]
    fn a_config_map_is_yaml_that_gives_the_value_back() {
        let text = Shell::Kubernetes.render(&[("NAME", Some(NASTY.to_owned()))]);
        let value: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
        assert_eq!(value["data"]["NAME"].as_str(), Some(NASTY));
    }
}
