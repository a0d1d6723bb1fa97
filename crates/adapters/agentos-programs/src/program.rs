//! Description of one program, and the launch spec that the sandbox gets for it: arguments, environment, folders, network.
//!
//! Owns: building the launch spec. Never: passes on a variable, a file or a key that the profile does not name.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use agentos_sandbox::{
    LaunchSpec, OutletRoute, OverlayMount, PortForward, ResourceLimits, RunFolders, SharedFolder,
};
use agentos_tool::{ExecutionMode, Secret, ToolTask};

use crate::{AgentError, Places, SharedPath};

/// Port on the program's own loopback where the proxy to its hosts listens. 3128 is the usual port of HTTP proxies.
const PROXY: u16 = 3128;

/// Description of a program that works in a copy and changes files, or that reads a task and writes an answer.
#[derive(Debug, Clone)]
pub struct Program {
    /// Name of the provider.
    pub provider: String,
    /// Name or path of the program. A relative path with a `/` is a path in the copy.
    pub name: String,
    /// Arguments. [`TASK`] is replaced by the task's text, an argument [`FILES`] by the paths of the task's files.
    pub args: Vec<String>,
    /// Arguments that make it print its version. If empty, a health check does not start the program.
    pub version_args: Vec<String>,
    /// Name of the model. `None` if none is set.
    pub model: Option<String>,
    /// Environment variables in addition to those that every program gets.
    pub env: Vec<(String, String)>,
    /// Environment variable for the key, with the key.
    pub key: Option<(String, Secret)>,
    /// Files below the user's home of which the program gets copies.
    pub home_files: Vec<PathBuf>,
    /// Names of new files and folders at the top of its copy that are not part of its answer, such as its log. A `*` at
    /// the end of a name matches any characters.
    pub own_files: Vec<String>,
    /// Sign-in files. The program is signed in if one of them exists or it has a key. `None` if it needs no sign-in.
    pub sign_in: Option<Vec<PathBuf>>,
    /// Command with which a person signs in. `None` if it has none, or none is known.
    pub sign_in_command: Option<String>,
    /// Command with which a person installs it. `None` if none is known.
    pub install_command: Option<String>,
    /// True if it can be pointed at a server of the user's own.
    pub takes_base_url: bool,
    /// Settings files that are written into its own home: path below the home, and content.
    pub settings_files: Vec<(PathBuf, String)>,
    /// Additional files and folders that the program may read.
    pub readable: Vec<PathBuf>,
    /// Ignored folders of the working tree that are shown read-only in the copy: their path, and their name in the copy.
    pub shared: Vec<SharedPath>,
    /// Host and port of the server that the program reaches at the same port of its own loopback. `None` if it needs none.
    pub server: Option<(String, u16)>,
    /// Hosts and ports that the program may reach through a proxy.
    pub hosts: Vec<(String, u16)>,
    /// True if the user named the one server that it may reach, so that the hosts of its profile do not apply.
    pub has_own_server: bool,
    /// Place where the model runs: on this machine or in the cloud.
    pub mode: ExecutionMode,
    /// How the program receives its task.
    pub task_input: TaskInput,
}

/// How a program that works in a copy receives its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskInput {
    /// In its arguments and on its standard input.
    Words,
    /// A prompt of the Agent Client Protocol.
    Acp,
}

/// Placeholder for the task's text in a program's arguments.
pub const TASK: &str = "{task}";
/// Placeholder for the task's files, each of which becomes an argument of its own.
pub const FILES: &str = "{files}";

impl Program {
    /// Describes a program that has no network, no key and no files of the user.
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
            sign_in_command: None,
            install_command: None,
            takes_base_url: false,
            settings_files: Vec::new(),
            readable: Vec::new(),
            shared: Vec::new(),
            server: None,
            hosts: Vec::new(),
            has_own_server: false,
            mode: ExecutionMode::Local,
            task_input: TaskInput::Words,
        }
    }

    /// Returns the path of the program. `None` if it is not installed.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the user's own program")]
    pub fn installed(&self, places: &Places) -> Option<PathBuf> {
        let found = places.find(&self.name);
        // A relative path is a path in the copy, which does not exist yet.
        found.filter(|found| !found.is_absolute() || found.exists())
    }

    /// Builds the launch spec for one run in the copy. `lower` is the lower folder of the overlay that makes the copy; `None`
    /// if the files were copied.
    ///
    /// # Errors
    /// [`AgentError::NoProgram`] if the program is not installed.
    pub(crate) fn launch_spec_in_copy(
        &self,
        places: &Places,
        scratch: &RunFolders,
        lower: Option<PathBuf>,
        task: &ToolTask,
        prompt: &str,
    ) -> Result<LaunchSpec, AgentError> {
        let copy = scratch.copy();
        let mut spec = self.launch_spec(places, scratch, &copy, copy.clone())?;
        spec.args = self.fill_arguments(task, prompt);
        match lower {
            None => spec.writable.push(copy.clone()),
            Some(lower) => spec.overlays.push(OverlayMount {
                lower,
                upper: scratch.changes(),
                work: scratch.kernel(),
                at: copy.clone(),
            }),
        }
        let shares = self.shared.iter().map(|folder| SharedFolder {
            from: folder.from.clone(),
            at: copy.join(&folder.name),
        });
        spec.shares = shares.collect();
        Ok(spec)
    }

    /// Builds the launch spec for one run in `cwd`, without the mounts of a copy. A relative path of the program is looked
    /// up in `base`.
    ///
    /// # Errors
    /// [`AgentError::NoProgram`] if the program is not installed.
    pub(crate) fn launch_spec(
        &self,
        places: &Places,
        scratch: &RunFolders,
        base: &Path,
        cwd: PathBuf,
    ) -> Result<LaunchSpec, AgentError> {
        let found = places.find(&self.name).ok_or_else(|| AgentError::NoProgram {
            program: self.name.clone(),
            install_command: self.install_command.clone(),
        })?;
        // Called before `found` is joined to `base`: for an absolute path it would also show the folders around the
        // program, and a program inside the copy needs none of them.
        let readable = places.readable(&found);
        let program = if found.is_absolute() {
            found
        } else {
            base.join(found)
        };
        let mut spec = LaunchSpec::new(program.clone(), self.args.clone(), cwd);
        spec.env = self.build_environment(places, &scratch.home(), &scratch.tmp());
        spec.readable = readable;
        spec.readable.extend(self.readable.iter().cloned());
        // `HOME` is a folder of this run: an agent may write settings and caches there, and the user's stay unchanged.
        spec.writable = vec![scratch.home(), scratch.tmp()];
        spec.forwards = self
            .network_outlets(scratch)
            .into_iter()
            .map(|(forward, _)| forward)
            .collect();
        spec.limits = ResourceLimits::default();
        Ok(spec)
    }

    /// Lists the network outlets of a run: each a port on the program's loopback, with the address or proxy behind it.
    pub(crate) fn network_outlets(&self, scratch: &RunFolders) -> Vec<(PortForward, OutletRoute)> {
        let socket = |name: &str| scratch.doors().join(name);
        let mut outlets = Vec::new();
        if let Some((host, port)) = &self.server {
            let forward = PortForward {
                address: Ipv4Addr::LOCALHOST.into(),
                port: *port,
                socket: socket("server.sock"),
            };
            outlets.push((forward, OutletRoute::Address(host.clone(), *port)));
        }
        if self.has_proxy() {
            let forward = PortForward {
                address: Ipv4Addr::LOCALHOST.into(),
                port: PROXY,
                socket: socket("proxy.sock"),
            };
            outlets.push((forward, OutletRoute::Proxy(self.hosts.clone())));
        }
        outlets
    }

    /// Returns true if the program gets a proxy.
    ///
    /// A program that has a server on its loopback gets one that refuses every host: agents retry for minutes when a
    /// connection fails, and only a refused `CONNECT` names the host that they wait for.
    fn has_proxy(&self) -> bool {
        !self.hosts.is_empty() || self.server.is_some()
    }

    /// Returns true if there is a key or a sign-in file. `None` if the program needs no sign-in.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the user's own home")]
    pub fn signed_in(&self, places: &Places) -> Option<bool> {
        let files = self.sign_in.as_ref()?;
        let exists = |name: &PathBuf| {
            let home = places.home.as_ref();
            home.is_some_and(|home| home.join(name).is_file())
        };
        Some(self.key.is_some() || files.iter().any(exists))
    }

    /// Returns true if a new file at this path of the copy belongs to the program itself, such as its log.
    pub(crate) fn is_own(&self, path: &str) -> bool {
        // An ignored folder's path ends in `/`, so the first part is its name in either case.
        let top = path.split('/').next().unwrap_or_default();
        self.own_files.iter().any(|name| match name.strip_suffix('*') {
            Some(start) => top.starts_with(start),
            None => top == name,
        })
    }

    /// Replaces [`TASK`] and [`FILES`] in the arguments.
    fn fill_arguments(&self, task: &ToolTask, prompt: &str) -> Vec<String> {
        let mut all = Vec::new();
        for arg in &self.args {
            if arg == FILES {
                all.extend(task.context.iter().map(|file| file.path.clone()));
            } else {
                all.push(arg.replace(TASK, prompt));
            }
        }
        all
    }

    /// Builds the complete environment, with `home` and `tmp` as the program's folders.
    pub(crate) fn build_environment(
        &self,
        places: &Places,
        home: &Path,
        tmp: &Path,
    ) -> Vec<(String, String)> {
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
            // Winsock and the cryptographic libraries load from `SystemRoot`; agents keep their settings in `APPDATA`.
            let own = [("SystemRoot", system.as_path()), ("TEMP", tmp), ("TMP", tmp)];
            all.extend(own.map(|(name, place)| (name.to_owned(), text(place))));
            all.extend(["APPDATA", "LOCALAPPDATA", "USERPROFILE"].map(|name| (name.to_owned(), text(home))));
        }
        // rustup's proxies look for toolchains below `HOME`, which is an empty folder in a run.
        if let Some(rustup) = places.rustup() {
            all.push(("RUSTUP_HOME".to_owned(), text(&rustup)));
        }
        // No standard fixes the spelling of these names: some programs read only one of them.
        // Node's own `fetch` reads none of these variables: a program that relies on it alone sees no network at all.
        if self.has_proxy() {
            let proxy = format!("http://127.0.0.1:{PROXY}");
            for name in ["HTTPS_PROXY", "https_proxy"] {
                all.push((name.to_owned(), proxy.clone()));
            }
            for name in ["NO_PROXY", "no_proxy"] {
                all.push((name.to_owned(), "127.0.0.1,localhost".to_owned()));
            }
        }
        // Last, so that the profile's values replace ours (`Command::envs` keeps the last value of a name).
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
                    part: None,
                })
                .to_vec(),
            outline: Vec::new(),
            edit_format: EditFormat::default(),
            allowed_paths: Vec::new(),
            forbidden_paths: Vec::new(),
            limits: TaskLimits {
                timeout_seconds: 1,
                max_output_tokens: None,
                loaded_context: None,
            },
            attempt: 1,
            feedback: None,
            history: Vec::new(),
            remark: None,
            has_tools: false,
        };
        let program = Program::new("x", "x", &args);
        assert_eq!(
            program.fill_arguments(&task, "say hello"),
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
        let env = program.build_environment(&Places::default(), Path::new("/h"), Path::new("/t"));
        assert!(env.contains(&("X_KEY".to_owned(), "sk-very-secret".to_owned())));
        assert!(!env.iter().any(|(name, _)| name == "HTTPS_PROXY"));
    }
}
