//! Toolboxes: programs of the user whose tools the models of conversations may call.
//!
//! Owns: how one is made from its profile, and the question whether the user trusts its tools. Never: takes a toolbox from a repository,
//! or offers a tool that the user was not shown.
//!
//! | what | where | who writes it |
//! |---|---|---|
//! | the program, or the address of a server | a profile with the adapter `toolbox` or `mcp` in the user's own folder | the user |
//! | the tools that the user was shown and trusts, with the program's bytes | `toolboxes.json` in the folder of settings ([`pins`]) | `agentos tool trust` |
//! | the tools that it has now | the answer to `describe` or `tools/list`, checked by [`prepare_tools`] | the program or server |
//!
//! A session offers a toolbox only if the last two are equal. A description is text that a model follows, so one that changes after
//! the user has read it could make a model do anything with its other tools.

pub mod pins;
pub mod server;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agentos_api::NextStep;
use agentos_chain::hash_bytes;
use agentos_chat::{name_tool, prepare_tools};
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_mcp_client::{McpServer, McpToolbox, ServerAuth};
use agentos_net::{Auth, HttpUrl};
use agentos_profile::{AdapterKind, ResolvedProfile, split_address};
use agentos_programs::{Program, ProgramCheck, Toolbox};
use agentos_tool::ToolDescription;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Providers;
use crate::tools::Tools;
use crate::{programs, sign_in};
use agentos_ground::Ground;
use agentos_ground::error::usage_error;
use agentos_ground::options::ProviderOverrides;
use agentos_ground::{clock, files, keys};
use pins::{ToolboxChange, ToolboxPin};
use server::{ListedTools, ToolServer, ToolSource};

/// Largest file of a program whose bytes are pinned.
const LARGEST_PROGRAM: u64 = 256 << 20;
/// Folders of the system. Whoever can change a file of root there can change this program too, so its bytes are not pinned: every
/// update of an interpreter would ask the user again.
const SYSTEM_FOLDERS: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/nix/store", "/System"];
/// Largest notes on a tool, in bytes. They are kept whole, to be shown when they change.
const LARGEST_NOTES: usize = 64 << 10;
/// Usual number of calls of a tool in a minute.
const USUAL_RATE: u32 = 60;

/// Everything that a toolbox is started with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolboxLaunch {
    /// Path of the program, or address of the server.
    pub command: String,
    /// Arguments.
    pub args: Vec<String>,
    /// Environment variables in addition to those that every program gets.
    pub env: BTreeMap<String, String>,
    /// Hosts and ports that it may reach. It has no other network.
    pub hosts: Vec<String>,
    /// SHA-256 of the program's file and of the files among its arguments, by their paths. Files of the system are left out.
    pub files: BTreeMap<String, String>,
}

/// Answer to the question whether the user trusts a toolbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolboxTrust {
    /// The user trusts what the toolbox is now.
    Trusted,
    /// The user was never asked.
    New,
    /// The toolbox changed after the user was asked.
    Changed,
}

/// The output of `agentos tool trust --json`: a toolbox as it is now, and how it differs from what the user trusts.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ToolboxReview {
    /// Version of this shape: 1.
    pub version: u32,
    /// Name of the toolbox.
    pub toolbox: String,
    /// Answer to the question whether the user trusts it.
    pub trust: ToolboxTrust,
    /// SHA-256 of everything below, with which a script consents to exactly this.
    pub sha256: String,
    /// Everything that it is started with.
    pub launch: ToolboxLaunch,
    /// Tools as the toolbox describes them. Untrusted.
    pub tools: Vec<ToolDescription>,
    /// Everything else that an MCP server says about its tools, by their names: titles, annotations, schemas of results. Models are
    /// shown nothing of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub notes: BTreeMap<String, Value>,
    /// Differences from what the user trusts. Empty for a new toolbox.
    pub changes: Vec<ToolboxChange>,
}

/// A toolbox in the list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ListedToolbox {
    /// Name of the toolbox.
    pub toolbox: String,
    /// The program. `None` if its profile cannot be used.
    pub program: Option<String>,
    /// Answer to the question whether the user trusts it, by its files alone: it is not started. `None` if its profile cannot be used.
    pub trust: Option<ToolboxTrust>,
    /// Names of the tools that the user trusts, as models see them.
    pub tools: Vec<String>,
    /// The reason why its profile cannot be used. `None` if it can.
    pub problem: Option<String>,
}

/// A toolbox of a profile, before it is started.
pub struct ToolboxProfile {
    /// Name of the profile.
    pub name: String,
    pub(crate) source: ToolSource,
    /// Everything by which it is started and reached.
    pub launch: ToolboxLaunch,
    /// Time limit of a call.
    pub limit: Duration,
    /// Largest number of calls of each tool in a minute.
    pub calls_per_minute: u32,
}

impl Providers<'_> {
    /// Starts a toolbox, asks it for its tools, and compares them with what the user trusts. Must be awaited on a thread with a runtime
    /// that has timers.
    ///
    /// # Errors
    /// If there is no such toolbox, or it gives no list of tools that models can be offered.
    pub async fn review_toolbox(self, name: &str) -> Result<ToolboxReview, EffectError> {
        let profile = self.read_toolbox(name)?;
        let started = start_toolbox(self.ground, &profile)?;
        let listed = describe_tools(&started, &profile).await?;
        let now = ToolboxPin::new(profile.launch, listed);
        let known = pins::read_pins(self.ground)?.toolboxes.remove(name);
        let changes = known.as_ref().map(|known| pins::list_changes(known, &now));
        Ok(ToolboxReview {
            version: 1,
            toolbox: name.to_owned(),
            trust: match &changes {
                None => ToolboxTrust::New,
                Some(changes) if changes.is_empty() => ToolboxTrust::Trusted,
                Some(_) => ToolboxTrust::Changed,
            },
            sha256: now.hash()?,
            launch: now.launch,
            tools: now.tools,
            notes: now.notes,
            changes: changes.unwrap_or_default(),
        })
    }

    /// Records that the user trusts a toolbox as a review shows it.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn trust_toolbox(self, review: &ToolboxReview) -> Result<(), EffectError> {
        let pin = ToolboxPin {
            launch: review.launch.clone(),
            tools: review.tools.clone(),
            notes: review.notes.clone(),
        };
        pins::change_pins(self.ground, |pins| {
            pins.toolboxes.insert(review.toolbox.clone(), pin);
        })
    }

    /// Forgets that the user trusts a toolbox. Returns false if the user did not.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn forget_toolbox(self, name: &str) -> Result<bool, EffectError> {
        let mut known = false;
        pins::change_pins(self.ground, |pins| known = pins.toolboxes.remove(name).is_some())?;
        Ok(known)
    }

    /// Lists the user's toolboxes. None is started.
    ///
    /// # Errors
    /// If a profile folder or the list of trusted toolboxes cannot be read.
    pub fn list_toolboxes(self) -> Result<Vec<ListedToolbox>, EffectError> {
        let tools = Tools::read(self.ground, None)?;
        let mut trusted = pins::read_pins(self.ground)?.toolboxes;
        let mut list = Vec::new();
        for name in tools.profiled_names() {
            // A broken profile has no adapter, so it is a toolbox if the user's file says so.
            let file = tools.user_file(name).ok().flatten();
            let adapter = file.and_then(|file| file.adapter);
            if !adapter.is_some_and(AdapterKind::offers_tools) {
                continue;
            }
            let pin = trusted.remove(name);
            let offered = pin.iter().flat_map(|pin| &pin.tools);
            let mut listed = ListedToolbox {
                toolbox: name.to_owned(),
                program: None,
                trust: None,
                tools: offered.map(|tool| name_tool(name, &tool.name)).collect(),
                problem: None,
            };
            match self.read_toolbox(name) {
                Ok(profile) => {
                    listed.trust = Some(match &pin {
                        None => ToolboxTrust::New,
                        Some(pin) if pin.launch == profile.launch => ToolboxTrust::Trusted,
                        Some(_) => ToolboxTrust::Changed,
                    });
                    listed.program = Some(profile.launch.command);
                }
                Err(error) => listed.problem = Some(error.message),
            }
            list.push(listed);
        }
        Ok(list)
    }

    /// Checks that the user trusts toolboxes, before a session remembers them. Their programs are not started.
    ///
    /// # Errors
    /// If one does not exist, or the user was never asked about it.
    pub fn require_trusted(self, names: &[String]) -> Result<(), EffectError> {
        let trusted = pins::read_pins(self.ground)?.toolboxes;
        for name in names {
            self.read_toolbox(name)?;
            if !trusted.contains_key(name) {
                let message = format!("you were never asked about the tools of `{name}`");
                return Err(ask_trust(
                    EffectError::new(Cause::Policy, "toolbox-untrusted", message),
                    name,
                ));
            }
        }
        Ok(())
    }

    /// Reads the profile of a toolbox, from the user's own files alone.
    pub fn read_toolbox(self, name: &str) -> Result<ToolboxProfile, EffectError> {
        // Without the repository's layer, which could otherwise change how the program is started or how long it may take.
        let tools = Tools::read(self.ground, None)?;
        let resolved = tools.resolve_profile(self.ground, name, &ProviderOverrides::default())?;
        if !resolved.profile.adapter.offers_tools() {
            let message =
                format!("`{name}` is not a toolbox: it answers tasks, and offers no tools to models");
            return Err(usage_error(message).hint("its profile needs the adapter `toolbox` or `mcp`"));
        }
        match (&resolved.profile.program, &resolved.profile.base_url) {
            (None, Some(url)) => {
                let address = url.to_string();
                describe_address(name, resolved, &address)
            }
            (Some(_), _) | (None, None) => describe_program(self.ground, name, &resolved),
        }
    }
}

/// Adds the step that asks the user about a toolbox.
pub(crate) fn ask_trust(error: EffectError, name: &str) -> EffectError {
    error.suggest_steps([NextStep::TrustToolbox {
        toolbox: name.to_owned(),
    }])
}

/// Makes the way to a server at an address. Its host is the one that it may reach, because it is what the model's words are sent to.
fn describe_address(
    name: &str,
    resolved: ResolvedProfile,
    address: &str,
) -> Result<ToolboxProfile, EffectError> {
    let url = HttpUrl::parse(address).map_err(|error| usage_error(error.to_string()))?;
    Ok(ToolboxProfile {
        name: name.to_owned(),
        launch: ToolboxLaunch {
            command: url.to_string(),
            args: Vec::new(),
            env: BTreeMap::new(),
            hosts: vec![url.endpoint().to_string()],
            files: BTreeMap::new(),
        },
        limit: Duration::from_secs(resolved.profile.timeouts.total_seconds),
        source: ToolSource::McpAddress(url, Box::new(resolved)),
        calls_per_minute: USUAL_RATE,
    })
}

/// Returns what a server is sent: a key of the environment, else the tokens of a sign-in, else a stored key.
fn find_auth(ground: &Ground, resolved: &ResolvedProfile, url: &HttpUrl) -> Result<ServerAuth, EffectError> {
    let is_given = resolved.given_keys.iter().any(|given| given.key_use.is_allowed());
    if !is_given && let Some(keeper) = sign_in::find_keeper(ground, resolved, url)? {
        return Ok(ServerAuth::SignIn(keeper));
    }
    let key = keys::find_usable_key(ground, resolved).key;
    Ok(ServerAuth::Fixed(Auth::from(key.as_ref())))
}

/// Makes the program of a toolbox, with what it is started with.
fn describe_program(
    ground: &Ground,
    name: &str,
    resolved: &ResolvedProfile,
) -> Result<ToolboxProfile, EffectError> {
    let profile = &resolved.profile;
    let file = profile.program.as_ref();
    let file =
        file.ok_or_else(|| usage_error("the profile names no program, and no address in `base_url`"))?;
    let places = programs::program_places(ground);
    let found = places.find(&file.command).filter(|found| found.is_file());
    let found = found.ok_or_else(|| {
        let message = format!(
            "the program `{}` of the toolbox `{name}` was not found",
            file.command
        );
        EffectError::new(Cause::Tool, "toolbox-failed", message)
            .hint("install it, or name it by its absolute path in the toolbox's profile")
    })?;
    let mut program = Program::new(name, &found.display().to_string(), &file.args);
    program.env = file.env.clone().into_iter().collect();
    let hosts = file.hosts.iter().filter_map(|ground| split_address(ground));
    program.hosts = hosts.map(|(host, port)| (host.to_owned(), port)).collect();
    // The script of an interpreter is an argument, and a toolbox has no other way to get at a file of the user.
    let scripts: Vec<PathBuf> = file.args.iter().map(PathBuf::from).collect();
    program.readable.extend(
        scripts
            .into_iter()
            .filter(|file| file.is_absolute() && file.is_file()),
    );
    for path in program.readable.iter().chain([&found]) {
        programs::require_own_place(ground, path)?;
    }
    let mut hashes = BTreeMap::new();
    for path in program.readable.iter().chain([&found]) {
        if let Some(hash) = hash_program(ground, path)? {
            hashes.insert(path.display().to_string(), hash);
        }
    }
    Ok(ToolboxProfile {
        name: name.to_owned(),
        launch: ToolboxLaunch {
            command: found.display().to_string(),
            args: file.args.clone(),
            env: file.env.clone(),
            hosts: file.hosts.clone(),
            files: hashes,
        },
        source: match profile.adapter {
            AdapterKind::Mcp => ToolSource::McpProgram(program),
            _ => ToolSource::Toolbox(program),
        },
        limit: Duration::from_secs(profile.timeouts.total_seconds),
        calls_per_minute: file.calls_per_minute.unwrap_or(USUAL_RATE),
    })
}

/// Returns the hash of a file. `None` for a file of the system.
fn hash_program(ground: &Ground, path: &Path) -> Result<Option<String>, EffectError> {
    // The file itself, because a link in a folder of the system may lead to one of the user, and the other way round.
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if SYSTEM_FOLDERS.iter().any(|folder| real.starts_with(folder)) && is_of_root(&real) {
        return Ok(None);
    }
    let bytes = files::read_file(ground.environment(), &real, LARGEST_PROGRAM)?;
    Ok(Some(hash_bytes(&bytes)))
}

/// Returns true if a file belongs to root, and only root can write it. `/usr/local` often belongs to a user.
#[cfg(unix)]
fn is_of_root(file: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    const OTHERS_WRITE: u32 = 0o022;
    file.metadata()
        .is_ok_and(|found| found.uid() == 0 && found.mode() & OTHERS_WRITE == 0)
}

/// Returns false: this system has none of those folders.
#[cfg(not(unix))]
fn is_of_root(_: &Path) -> bool {
    false
}

/// Makes the processes or the connection of a toolbox. Nothing is started yet.
pub fn start_toolbox(ground: &Ground, profile: &ToolboxProfile) -> Result<ToolServer, EffectError> {
    open_source(ground, profile, None)
}

/// Makes the processes or the connection of a toolbox, with a check before each process.
pub fn open_source(
    ground: &Ground,
    profile: &ToolboxProfile,
    check: Option<ProgramCheck>,
) -> Result<ToolServer, EffectError> {
    let make = |program: &Program| -> Result<Toolbox, EffectError> {
        let cache = ground.environment().cache_dir();
        let cache = cache
            .ok_or_else(|| usage_error("there is no home folder to run the tool in").hint("set `HOME`"))?;
        let (sandbox, held) = programs::probe_sandbox(ground)?;
        let name = format!("{}.{}", profile.name, clock::new_run());
        let place = (cache.join("tools"), name);
        let places = programs::program_places(ground);
        let toolbox = Toolbox::new(program.clone(), places, sandbox, held, place);
        Ok(match check {
            Some(check) => toolbox.with_check(check),
            None => toolbox,
        })
    };
    Ok(match &profile.source {
        ToolSource::Toolbox(program) => ToolServer::Toolbox(make(program)?),
        ToolSource::McpProgram(program) => {
            ToolServer::Mcp(Box::new(McpToolbox::new(McpServer::Program(make(program)?))))
        }
        ToolSource::McpAddress(url, resolved) => {
            ToolServer::at_address(url.clone(), find_auth(ground, resolved, url)?)?
        }
    })
}

/// Asks a toolbox for its tools, and checks that models can be offered them.
pub async fn describe_tools(
    server: &ToolServer,
    profile: &ToolboxProfile,
) -> Result<ListedTools, EffectError> {
    let name = &profile.name;
    let failed = |message: String| EffectError::new(Cause::Tool, "toolbox-failed", message);
    let described = tokio::time::timeout(profile.limit, server.describe()).await;
    let described = described.map_err(|_| {
        let seconds = profile.limit.as_secs();
        failed(format!(
            "`{name}` did not list its tools within its limit of {seconds} s"
        ))
    })?;
    let mut listed = described.map_err(|fault| {
        let message = format!("`{name}` did not list its tools: {}", fault.why);
        match fault.needs_sign_in {
            true => EffectError::new(Cause::Tool, sign_in::NEEDED, message)
                .caused_by(fault.causes)
                .suggest_steps([NextStep::SignIn {
                    provider: name.to_owned(),
                }]),
            false => failed(message).caused_by(fault.causes),
        }
    })?;
    listed.tools = prepare_tools(name, listed.tools)
        .map_err(|fault| failed(format!("`{name}` cannot be offered: {fault}")))?;
    let largest = listed.notes.values().map(|notes| notes.to_string().len()).max();
    if largest.is_some_and(|bytes| bytes > LARGEST_NOTES) {
        return Err(failed(format!(
            "`{name}` cannot be offered: it says more than {LARGEST_NOTES} bytes about a tool besides its description"
        )));
    }
    Ok(listed)
}
