//! One program and what it is given.
//!
//! Owns: the order for the sandbox. Never: passes on a variable, a file or a key that it was not told to.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use agentos_sandbox::{
    LaunchSpec, OutletRoute, OverlayMount, PortForward, ResourceLimits, RunFolders, SharedFolder,
};
use agentos_tool::{ExecutionMode, Secret, ToolTask};

use crate::{AgentError, Places};

/// A port of the program's own loopback, where the proxy to its hosts listens.
const PROXY: u16 = 3128;

/// A program that changes files, or answers tasks.
#[derive(Debug, Clone)]
pub struct Program {
    /// The provider's name.
    pub provider: String,
    /// The program's name or path. One with a `/` that is not absolute lies in the copy.
    pub name: String,
    /// Its arguments. [`TASK`] stands for the task's words, [`FILES`] alone for the paths of its files.
    pub args: Vec<String>,
    /// The arguments with which it prints its version; without them a health check does not start it.
    pub version_args: Vec<String>,
    /// The model, where one is set.
    pub model: Option<String>,
    /// Variables beside those that every tool gets.
    pub env: Vec<(String, String)>,
    /// A variable and the key that it gets there.
    pub key: Option<(String, Secret)>,
    /// Files below the user's home that it gets copies of.
    pub home_files: Vec<PathBuf>,
    /// Names of new files and folders at the top of its copy that are no part of its answer; a `*` at the end stands for
    /// any rest.
    pub own_files: Vec<String>,
    /// Of these, or the key, one must be there.
    pub sign_in: Option<Vec<PathBuf>>,
    /// More files and folders that it may read.
    pub readable: Vec<PathBuf>,
    /// Folders of the work tree that git ignores, shown read-only in its copy: where they lie, and their name there.
    pub shared: Vec<(PathBuf, String)>,
    /// A server that it reaches at the same port of its own loopback.
    pub server: Option<(String, u16)>,
    /// Hosts and ports that it may reach through a proxy.
    pub hosts: Vec<(String, u16)>,
    /// Where the work is done.
    pub mode: ExecutionMode,
    /// How it hears its task.
    pub hears: Hears,
}

/// How a program that works in a copy hears its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hears {
    /// In its arguments, and as its standard input.
    Words,
    /// As a prompt of the Agent Client Protocol.
    Acp,
}

/// Stands for the task in a program's arguments.
pub const TASK: &str = "{task}";
/// Stands for the task's files, each an argument of its own.
pub const FILES: &str = "{files}";

impl Program {
    /// A program of the user's own words, without network and without anything of theirs.
    #[must_use]
    pub fn new(provider: &str, name: &str, args: &[String]) -> Self {
        Self {
            provider: provider.to_owned(),
            name: name.to_owned(),
            args: args.to_vec(),
            version_args: Vec::new(),
            model: None,
            env: Vec::new(),
            key: None,
            home_files: Vec::new(),
            own_files: Vec::new(),
            sign_in: None,
            readable: Vec::new(),
            shared: Vec::new(),
            server: None,
            hosts: Vec::new(),
            mode: ExecutionMode::Local,
            hears: Hears::Words,
        }
    }

    /// Where it is installed.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the user's own program")]
    pub fn installed(&self, places: &Places) -> Option<PathBuf> {
        let found = places.find(&self.name);
        found.filter(|found| !found.is_absolute() || found.exists())
    }

    /// The order for one run in the copy, which shows `lower` overlaid, or is a whole copy already.
    ///
    /// # Errors
    /// When there is no such program.
    pub(crate) fn order_in_copy(
        &self,
        places: &Places,
        scratch: &RunFolders,
        lower: Option<PathBuf>,
        task: &ToolTask,
        words: &str,
    ) -> Result<LaunchSpec, AgentError> {
        let copy = scratch.copy();
        let mut order = self.order(places, scratch, &copy, copy.clone())?;
        order.args = self.arguments(task, words);
        match lower {
            None => order.writable.push(copy.clone()),
            Some(lower) => order.overlays.push(OverlayMount {
                lower,
                upper: scratch.changes(),
                work: scratch.kernel(),
                at: copy.clone(),
            }),
        }
        let shares = self.shared.iter().map(|(from, name)| SharedFolder {
            from: from.clone(),
            at: copy.join(name),
        });
        order.shares = shares.collect();
        Ok(order)
    }

    /// The order for one run in `cwd`, without a copy.
    ///
    /// # Errors
    /// When there is no such program.
    pub(crate) fn order(
        &self,
        places: &Places,
        scratch: &RunFolders,
        base: &Path,
        cwd: PathBuf,
    ) -> Result<LaunchSpec, AgentError> {
        let found = places
            .find(&self.name)
            .ok_or_else(|| AgentError::NoProgram(self.name.clone()))?;
        // A program of the copy's needs nothing of what lies outside of it.
        let readable = places.readable(&found);
        let program = if found.is_absolute() {
            found
        } else {
            base.join(found)
        };
        let mut order = LaunchSpec::new(program.clone(), self.args.clone(), cwd);
        order.env = self.environment(places, &scratch.home(), &scratch.tmp());
        order.readable = readable;
        order.readable.extend(self.readable.iter().cloned());
        order.writable = vec![scratch.home(), scratch.tmp()];
        order.forwards = self
            .ways(scratch)
            .into_iter()
            .map(|(forward, _)| forward)
            .collect();
        order.limits = ResourceLimits::default();
        Ok(order)
    }

    /// The ways out of a run: the port inside, and where it leads.
    pub(crate) fn ways(&self, scratch: &RunFolders) -> Vec<(PortForward, OutletRoute)> {
        let socket = |name: &str| scratch.doors().join(name);
        let mut ways = Vec::new();
        if let Some((host, port)) = &self.server {
            let forward = PortForward {
                address: Ipv4Addr::LOCALHOST.into(),
                port: *port,
                socket: socket("server.sock"),
            };
            ways.push((forward, OutletRoute::Address(host.clone(), *port)));
        }
        if !self.hosts.is_empty() {
            let forward = PortForward {
                address: Ipv4Addr::LOCALHOST.into(),
                port: PROXY,
                socket: socket("proxy.sock"),
            };
            ways.push((forward, OutletRoute::Proxy(self.hosts.clone())));
        }
        ways
    }

    /// Is there something to sign in with? None where it needs nothing of the kind.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the user's own home")]
    pub fn signed_in(&self, places: &Places) -> Option<bool> {
        let files = self.sign_in.as_ref()?;
        let there = |name: &PathBuf| {
            let home = places.home.as_ref();
            home.is_some_and(|home| home.join(name).is_file())
        };
        Some(self.key.is_some() || files.iter().any(there))
    }

    /// Is a new file at this path of the copy the program's own record?
    pub(crate) fn is_own(&self, path: &str) -> bool {
        let top = path.split('/').next().unwrap_or_default();
        self.own_files.iter().any(|name| match name.strip_suffix('*') {
            Some(start) => top.starts_with(start),
            None => top == name,
        })
    }

    fn arguments(&self, task: &ToolTask, words: &str) -> Vec<String> {
        let mut all = Vec::new();
        for arg in &self.args {
            if arg == FILES {
                all.extend(task.context.iter().map(|file| file.path.clone()));
            } else {
                all.push(arg.replace(TASK, words));
            }
        }
        all
    }

    /// The whole environment, with a home and a folder for temporary files.
    pub(crate) fn environment(&self, places: &Places, home: &Path, tmp: &Path) -> Vec<(String, String)> {
        let text = |path: &Path| path.display().to_string();
        let mut all = vec![
            ("PATH".to_owned(), places.variable()),
            ("HOME".to_owned(), text(home)),
            ("TMPDIR".to_owned(), text(tmp)),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
            ("TERM".to_owned(), "dumb".to_owned()),
            ("USER".to_owned(), "tool".to_owned()),
            ("NO_COLOR".to_owned(), "1".to_owned()),
            ("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned()),
        ];
        if let Some(system) = &places.system_root {
            let own = [("SystemRoot", system.as_path()), ("TEMP", tmp), ("TMP", tmp)];
            all.extend(own.map(|(name, place)| (name.to_owned(), text(place))));
            all.extend(["APPDATA", "LOCALAPPDATA", "USERPROFILE"].map(|name| (name.to_owned(), text(home))));
        }
        if let Some(rustup) = places.rustup() {
            all.push(("RUSTUP_HOME".to_owned(), text(&rustup)));
        }
        if !self.hosts.is_empty() {
            let proxy = format!("http://127.0.0.1:{PROXY}");
            for name in ["HTTPS_PROXY", "https_proxy"] {
                all.push((name.to_owned(), proxy.clone()));
            }
            for name in ["NO_PROXY", "no_proxy"] {
                all.push((name.to_owned(), "127.0.0.1,localhost".to_owned()));
            }
        }
        all.extend(self.env.iter().cloned());
        let key = self.key.iter();
        all.extend(key.map(|(name, key)| (name.clone(), key.expose().to_owned())));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentos_tool::{ContextFile, EditFormat, RunId, TaskLimits};

    #[test]
    fn the_task_and_its_files_take_their_places_in_the_arguments() {
        let args = ["--message", TASK, "--yes", FILES].map(str::to_owned);
        let task = ToolTask {
            task_id: RunId::new(&agentos_tool::Timestamp::from_unix_seconds(0), 1),
            instruction: "say hello".to_owned(),
            context: ["a.rs", "b c.rs"]
                .map(|path| ContextFile {
                    path: path.to_owned(),
                    content: String::new(),
                })
                .to_vec(),
            edit_format: EditFormat::default(),
            allowed_paths: Vec::new(),
            forbidden_paths: Vec::new(),
            limits: TaskLimits {
                timeout_seconds: 1,
                max_output_tokens: None,
            },
            attempt: 1,
            feedback: None,
        };
        let program = Program::new("x", "x", &args);
        assert_eq!(
            program.arguments(&task, "say hello"),
            ["--message", "say hello", "--yes", "a.rs", "b c.rs"]
        );
    }

    #[test]
    fn a_programs_own_records_are_named_at_the_top() {
        let mut program = Program::new("x", "x", &[]);
        program.own_files = [".aider*", ".notes"].map(str::to_owned).to_vec();
        for (path, own) in [
            (".aider.history", true),
            (".aider.cache/", true),
            (".aider.cache/a/b", true),
            (".notes", true),
            (".notes.md", false),
            ("src/.aider.history", false),
        ] {
            assert_eq!(program.is_own(path), own, "{path}");
        }
    }

    #[test]
    fn a_key_is_in_the_environment_and_in_no_debug_text() {
        let mut program = Program::new("x", "x", &[]);
        program.key = Some(("X_KEY".to_owned(), Secret::new("sk-very-secret")));
        assert!(!format!("{program:?}").contains("very-secret"));
        let env = program.environment(&Places::default(), Path::new("/h"), Path::new("/t"));
        assert!(env.contains(&("X_KEY".to_owned(), "sk-very-secret".to_owned())));
        assert!(!env.iter().any(|(name, _)| name == "HTTPS_PROXY"));
    }
}
