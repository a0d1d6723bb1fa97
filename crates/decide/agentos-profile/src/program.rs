//! A program that a profile describes: how it is started, and which of the user's files and keys it gets.
//!
//! Owns: the fields and their checks. Never: looks for the program.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::AdapterKind;

/// Program that is used as a provider. A repository's profile cannot name one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgramFile {
    /// Name on the search path, or absolute path.
    pub command: String,
    /// Arguments. `{task}` is replaced by the task's text, an argument `{files}` by the paths of the task's files, an argument
    /// `{model}` by `model_args`, an argument `{base_url}` by `base_url_args`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Arguments that select a model, used if one is set; `{model}` is replaced by its name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model_args: Vec<String>,
    /// Arguments that make it print its version. Without them, a health check does not start it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub version_args: Vec<String>,
    /// Environment variables of the program; never a key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Environment variable for the provider's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_variable: Option<String>,
    /// Environment variable for `base_url`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url_variable: Option<String>,
    /// Additional environment variables if there is a `base_url`, for example to select the server's wire. In their values,
    /// `{base_url}` is replaced by the address as the program sees it, and `{model}` by the model's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub base_url_env: BTreeMap<String, String>,
    /// Arguments that select a server, used if there is a `base_url`. `{base_url}` and `{model}` are replaced as in
    /// `base_url_env`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub base_url_args: Vec<String>,
    /// Arguments that select a model if there is a `base_url`. Default: `model_args`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub base_url_model_args: Vec<String>,
    /// Settings files in the program's own home if there is a `base_url`: path below the home, and content. `{base_url}` and
    /// `{model}` are replaced as in `base_url_env`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub base_url_files: BTreeMap<String, String>,
    /// True if the program appends the API's version to the address. A `/v1` or `/v1beta` at the end of `base_url` is then
    /// left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub base_url_without_version: bool,
    /// Settings and sign-in files below the user's home. The program gets copies in a home of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub home_files: Vec<String>,
    /// New files and folders at the top of its copy that are its own, such as logs, and not part of its answer. A `*` at the end
    /// matches any rest of a name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_files: Vec<String>,
    /// Sign-in files. The program is signed in if one of them exists, or it gets a key in `key_variable`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sign_in: Vec<String>,
    /// Command with which a person signs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sign_in_command: Option<String>,
    /// Command with which a person installs the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install_command: Option<String>,
    /// Addresses as `host:port` that the program may reach, through a proxy. It has no other network.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Class of the tools of a toolbox, which sets the time limit of a call. Default: `plain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<ToolboxClass>,
    /// Most calls of each tool of a toolbox in a minute, 1 to 6000. Default: 60.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 6000))]
    pub calls_per_minute: Option<u32>,
}

/// Class of the tools of a toolbox. It sets the default time limit of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolboxClass {
    /// Tools without a class of their own: 10 seconds.
    #[default]
    Plain,
    /// Searches: 15 seconds.
    Search,
    /// Requests to the web: 20 seconds.
    Web,
    /// Making of images: 30 seconds.
    Image,
}

impl ToolboxClass {
    /// Returns the default time limit of a call, in seconds.
    #[must_use]
    pub fn limit_seconds(self) -> u64 {
        match self {
            Self::Plain => 10,
            Self::Search => 15,
            Self::Web => 20,
            Self::Image => 30,
        }
    }
}

impl ProgramFile {
    /// Returns true if the profile says how the program is pointed at a server of the user's own.
    #[must_use]
    pub fn takes_base_url(&self) -> bool {
        // Without any of them, the address would be ignored and the program would ask its vendor.
        self.base_url_variable.is_some()
            || !self.base_url_env.is_empty()
            || !self.base_url_args.is_empty()
            || !self.base_url_files.is_empty()
    }

    /// Returns true if the settings for a server of the user's own contain the model's name, so that there must be one.
    #[must_use]
    pub fn own_server_needs_model(&self) -> bool {
        // An empty name in its place would reach the server as the name of a model.
        let values = self.base_url_env.values().chain(&self.base_url_args);
        let mut values = values.chain(self.base_url_files.values());
        values.any(|value| value.contains("{model}"))
    }
}

/// Returns the first wrong field of an adapter's program, with the requirement that it does not meet. `None` if all are right.
pub(crate) fn find_fault(program: &ProgramFile, adapter: AdapterKind) -> Option<(&'static str, String)> {
    find_wrong_value(program).or_else(|| match adapter {
        AdapterKind::Toolbox | AdapterKind::Mcp => find_toolbox_fault(program),
        AdapterKind::Agent
        | AdapterKind::Acp
        | AdapterKind::Tool
        | AdapterKind::Openai
        | AdapterKind::Lmstudio
        | AdapterKind::Llamacpp
        | AdapterKind::Ollama
        | AdapterKind::Anthropic
        | AdapterKind::Gemini
        | AdapterKind::GenericHttp
        | AdapterKind::Pool => None,
    })
}

/// Returns the first field that a toolbox cannot have. `None` if there is none.
fn find_toolbox_fault(program: &ProgramFile) -> Option<(&'static str, String)> {
    // A model decides what a toolbox is sent and reads what it answers, so nothing of the user's may be in its reach.
    let given = [
        ("program.key_variable", program.key_variable.is_some()),
        ("program.home_files", !program.home_files.is_empty()),
        ("program.sign_in", !program.sign_in.is_empty()),
        ("program.base_url_variable", program.takes_base_url()),
    ];
    if let Some((field, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
        let must = "must be left out: a toolbox gets no key, no sign-in and no file of yours".to_owned();
        return Some((field, must));
    }
    let calls = program.calls_per_minute.unwrap_or(1);
    (!(1..=6000).contains(&calls)).then(|| ("program.calls_per_minute", "must be 1 to 6000".to_owned()))
}

fn find_wrong_value(program: &ProgramFile) -> Option<(&'static str, String)> {
    let no_control = |text: &str| !text.chars().any(char::is_control);
    if program.command.trim().is_empty() || !no_control(&program.command) {
        return Some(("program.command", "must name a program".to_owned()));
    }
    // A relative path would name another program in every folder, as one that a repository provides.
    if !program.command.starts_with('/') && program.command.contains('/') {
        let must = "must be a name on the search path, or an absolute path";
        return Some(("program.command", must.to_owned()));
    }
    let variables = program.env.keys().chain(&program.key_variable);
    let variables = variables.chain(program.base_url_env.keys());
    let mut variables = variables.chain(&program.base_url_variable);
    if let Some(name) = variables.find(|name| !is_variable(name)) {
        return Some((
            "program.env",
            format!("`{name}` is not a valid name of a variable"),
        ));
    }
    let commands = [
        ("program.sign_in_command", &program.sign_in_command),
        ("program.install_command", &program.install_command),
    ];
    for (field, command) in commands {
        // The command is shown to a person, in one line.
        let fits = |text: &String| (1..=200).contains(&text.trim().len()) && no_control(text);
        if command.as_ref().is_some_and(|text| !fits(text)) {
            return Some((field, "must be one line of 1 to 200 characters".to_owned()));
        }
    }
    // These files are written, so a path with `..` would reach a file outside the program's own home.
    if let Some(place) = program.base_url_files.keys().find(|place| !is_below(place)) {
        let must = format!("`{place}` is no path below the home folder");
        return Some(("program.base_url_files", must));
    }
    let mut places = program.home_files.iter().chain(&program.sign_in);
    if let Some(place) = places.find(|place| !is_below(place)) {
        return Some((
            "program.home_files",
            format!("`{place}` is not a path below the home folder"),
        ));
    }
    // `*` alone would leave every new file out of the answer.
    let is_name = |name: &str| is_below(name) && !name.contains('/') && name != "*";
    if let Some(name) = program.own_files.iter().find(|name| !is_name(name)) {
        let must = format!("`{name}` is not a name at the top of the copy");
        return Some(("program.own_files", must));
    }
    let host = program.hosts.iter().find(|host| split_address(host).is_none());
    host.map(|host| ("program.hosts", format!("`{host}` is not `host:port`")))
}

/// Splits `host:port` into its parts. `None` if the text is not of that form.
#[must_use]
pub fn split_address(text: &str) -> Option<(&str, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    let named = !host.is_empty()
        && host
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-'));
    // Port 0 asks the system for any free port, so no server has it.
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
        // Also refuses absolute paths: their first part is empty.
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
        let find_fault = |program: &ProgramFile| find_fault(program, AdapterKind::Agent);
        assert_eq!(find_fault(&good()), None);
        type Change = fn(&mut ProgramFile);
        let cases: [(&str, Change); 12] = [
            ("program.command", |p| p.command = " ".to_owned()),
            ("program.command", |p| p.command = "bin/x".to_owned()),
            ("program.env", |p| p.key_variable = Some("A=B".to_owned())),
            ("program.home_files", |p| p.home_files = vec!["../x".to_owned()]),
            ("program.home_files", |p| {
                p.sign_in = vec!["/etc/shadow".to_owned()]
            }),
            ("program.base_url_files", |p| {
                p.base_url_files = [("../x".to_owned(), String::new())].into()
            }),
            ("program.install_command", |p| {
                p.install_command = Some("npm i\nrm".to_owned())
            }),
            ("program.sign_in_command", |p| {
                p.sign_in_command = Some(" ".to_owned())
            }),
            ("program.own_files", |p| p.own_files = vec!["*".to_owned()]),
            ("program.own_files", |p| p.own_files = vec!["src/x".to_owned()]),
            ("program.hosts", |p| p.hosts = vec!["example.com".to_owned()]),
            ("program.hosts", |p| p.hosts = vec!["a b:443".to_owned()]),
        ];
        for (field, change) in cases {
            let mut program = good();
            change(&mut program);
            assert_eq!(find_fault(&program).map(|(field, _)| field), Some(field));
        }
    }
    #[test]
    fn a_toolbox_gets_nothing_of_the_users() {
        let good = || ProgramFile {
            command: "weather".to_owned(),
            hosts: vec!["api.example.com:443".to_owned()],
            class: Some(ToolboxClass::Web),
            calls_per_minute: Some(6),
            ..ProgramFile::default()
        };
        assert_eq!(find_fault(&good(), AdapterKind::Toolbox), None);
        type Change = fn(&mut ProgramFile);
        let cases: [(&str, Change); 5] = [
            ("program.key_variable", |p| {
                p.key_variable = Some("KEY".to_owned())
            }),
            ("program.home_files", |p| p.home_files = vec![".netrc".to_owned()]),
            ("program.sign_in", |p| p.sign_in = vec![".token".to_owned()]),
            ("program.base_url_variable", |p| {
                p.base_url_variable = Some("URL".to_owned())
            }),
            ("program.calls_per_minute", |p| p.calls_per_minute = Some(0)),
        ];
        for (field, change) in cases {
            let mut program = good();
            change(&mut program);
            let fault = find_fault(&program, AdapterKind::Toolbox);
            assert_eq!(fault.map(|(field, _)| field), Some(field));
        }
    }
}
