//! A program in the words of a profile: how it is started, and what it may have of the user's.
//!
//! Owns: the fields, and what is wrong with them. Never: looks for the program.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A program that is asked like a server. A repository's own profile cannot name one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgramFile {
    /// Its name on the search path, or its absolute path.
    pub command: String,
    /// Its arguments. `{task}` stands for the task's words; an argument that is `{files}` alone for the paths of the
    /// task's files, one that is `{model}` alone for `model_args`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The arguments that name a model, where one is set; `{model}` stands for its name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model_args: Vec<String>,
    /// The arguments with which it prints its version. Without them a health check does not start it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub version_args: Vec<String>,
    /// Variables that it gets. Never a key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The variable in which it gets the provider's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_variable: Option<String>,
    /// The variable in which it gets `base_url`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url_variable: Option<String>,
    /// Variables that it gets beside that one where there is a `base_url`, as to say which wire is spoken there. In their
    /// values `{base_url}` stands for the address as the program sees it, `{model}` for the model's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub base_url_env: BTreeMap<String, String>,
    /// Files below the user's home that hold its settings or sign-in. It gets copies, in a home of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub home_files: Vec<String>,
    /// New files and folders at the top of its copy that are its own records and no part of its answer. A `*` at the end
    /// stands for any rest of a name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_files: Vec<String>,
    /// Of these, and of `key_variable`, one must be there, or it is not signed in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sign_in: Vec<String>,
    /// Addresses as `host:port` that it may reach through a proxy of ours. It has no other network.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
}

/// The field that is wrong, and what it must be.
pub(crate) fn fault(program: &ProgramFile) -> Option<(&'static str, String)> {
    let no_control = |text: &str| !text.chars().any(char::is_control);
    if program.command.trim().is_empty() || !no_control(&program.command) {
        return Some(("program.command", "must name a program".to_owned()));
    }
    if !program.command.starts_with('/') && program.command.contains('/') {
        let must = "must be a name on the search path, or an absolute path";
        return Some(("program.command", must.to_owned()));
    }
    let variables = program.env.keys().chain(&program.key_variable);
    let variables = variables.chain(program.base_url_env.keys());
    let mut variables = variables.chain(&program.base_url_variable);
    if let Some(name) = variables.find(|name| !is_variable(name)) {
        return Some(("program.env", format!("`{name}` is no name of a variable")));
    }
    let mut places = program.home_files.iter().chain(&program.sign_in);
    if let Some(place) = places.find(|place| !is_below(place)) {
        return Some((
            "program.home_files",
            format!("`{place}` is no path below the home folder"),
        ));
    }
    let is_name = |name: &str| is_below(name) && !name.contains('/') && name != "*";
    if let Some(name) = program.own_files.iter().find(|name| !is_name(name)) {
        let must = format!("`{name}` is no name at the top of the copy");
        return Some(("program.own_files", must));
    }
    let host = program.hosts.iter().find(|host| address(host).is_none());
    host.map(|host| ("program.hosts", format!("`{host}` is not `host:port`")))
}

/// The parts of `host:port`.
#[must_use]
pub fn address(text: &str) -> Option<(&str, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    let named = !host.is_empty()
        && host
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-'));
    let port = port.parse().ok().filter(|port| *port > 0)?;
    named.then_some((host, port))
}

fn is_variable(name: &str) -> bool {
    let mut letters = name.bytes();
    letters
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && letters.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn is_below(place: &str) -> bool {
    !place.is_empty()
        && !place.chars().any(char::is_control)
        && place.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_program_is_named_by_its_field() {
        let good = || ProgramFile {
            command: "aider".to_owned(),
            env: [("A_1".to_owned(), "x".to_owned())].into(),
            home_files: vec![".aider/conf.yml".to_owned()],
            hosts: vec!["api.example.com:443".to_owned()],
            ..ProgramFile::default()
        };
        assert_eq!(fault(&good()), None);
        type Change = fn(&mut ProgramFile);
        let cases: [(&str, Change); 9] = [
            ("program.command", |p| p.command = " ".to_owned()),
            ("program.command", |p| p.command = "bin/x".to_owned()),
            ("program.env", |p| p.key_variable = Some("A=B".to_owned())),
            ("program.home_files", |p| p.home_files = vec!["../x".to_owned()]),
            ("program.home_files", |p| {
                p.sign_in = vec!["/etc/shadow".to_owned()]
            }),
            ("program.own_files", |p| p.own_files = vec!["*".to_owned()]),
            ("program.own_files", |p| p.own_files = vec!["src/x".to_owned()]),
            ("program.hosts", |p| p.hosts = vec!["example.com".to_owned()]),
            ("program.hosts", |p| p.hosts = vec!["a b:443".to_owned()]),
        ];
        for (field, change) in cases {
            let mut program = good();
            change(&mut program);
            assert_eq!(fault(&program).map(|(field, _)| field), Some(field));
        }
    }
}
