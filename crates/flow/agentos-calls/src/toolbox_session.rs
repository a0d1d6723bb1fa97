//! The toolboxes of a session: started once, and called in its turns.
//!
//! Owns: which of them are offered, and the results of their calls. Never: offers one that is not as the user trusts it.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentos_api::{NextStep, Notice};
use agentos_chat::{ToolAnswer, TurnTool, TurnTools, split_name};
use agentos_engine::ports::EffectError;
use agentos_model::ToolCall;
use agentos_programs::ProgramCheck;
use agentos_tool::{BoxFuture, ExecutionMode};

use crate::chat_tools::RepositoryTools;
use crate::toolbox_offer::offer_tools;
use agentos_ground::Ground;
use agentos_ground::proposals::ModelFacts;
use agentos_ground::runtime::await_all;
use agentos_providers::Providers;
use agentos_providers::toolboxes::pins::{ToolboxPin, list_changes, read_pins};
use agentos_providers::toolboxes::server::{ListedTools, ToolServer};
use agentos_providers::toolboxes::{ToolboxLaunch, ToolboxProfile, describe_tools, open_source};

/// Toolboxes of a session. Their processes end when the last clone is dropped.
#[derive(Clone, Default)]
pub struct OpenToolboxes(Arc<BTreeMap<String, OpenToolbox>>);

struct OpenToolbox {
    toolbox: ToolServer,
    offered: Vec<TurnTool>,
    /// Hosts and ports that it may reach.
    hosts: Vec<String>,
}

/// Everything by which toolboxes can be offered, as files say it. A session compares it before each turn.
#[derive(Debug, PartialEq, Eq)]
pub struct ToolboxStates(Vec<ToolboxState>);

#[derive(Debug, PartialEq, Eq)]
struct ToolboxState {
    name: String,
    /// `None` if the user does not trust it.
    pin: Option<ToolboxPin>,
    /// How it would be started now. `None` if its profile cannot be used.
    launch: Option<ToolboxLaunch>,
}

impl ToolboxStates {
    /// Reads the states of toolboxes. None is started.
    pub fn read(ground: &Ground, names: &[String]) -> Self {
        if names.is_empty() {
            return Self(Vec::new());
        }
        // A damaged file trusts nothing, and is reported when the toolboxes are opened.
        let mut trusted = read_pins(ground).map(|pins| pins.toolboxes).unwrap_or_default();
        let read = names.iter().map(|name| ToolboxState {
            name: name.clone(),
            pin: trusted.remove(name),
            launch: Providers::of(ground)
                .read_toolbox(name)
                .ok()
                .map(|profile| profile.launch),
        });
        Self(read.collect())
    }
}

impl OpenToolboxes {
    /// Starts toolboxes. One that is not as the user trusts it, or does not start, is left out with a notice: a session that named it
    /// long ago goes on without it.
    pub async fn open(ground: &Ground, names: &[String]) -> Self {
        if names.is_empty() {
            return Self::default();
        }
        let mut trusted = match read_pins(ground) {
            Ok(pins) => pins.toolboxes,
            Err(error) => {
                for name in names {
                    ground.notify(leave_out(name, &error));
                }
                return Self::default();
            }
        };
        let mut started = Vec::new();
        for name in names {
            match prepare_toolbox(ground, name, trusted.remove(name)) {
                Ok(ready) => started.push(ready),
                Err(notice) => ground.notify(notice),
            }
        }
        // At once: each of them takes as long as an interpreter takes to start.
        let described = started
            .iter()
            .map(|ready| Box::pin(describe_tools(&ready.toolbox, &ready.profile)) as BoxFuture<'_, _>);
        let described = await_all(described.collect()).await;
        let mut open = BTreeMap::new();
        for (ready, described) in started.into_iter().zip(described) {
            match ready.judge_tools(described) {
                Ok((name, toolbox)) => drop(open.insert(name, toolbox)),
                Err(notice) => ground.notify(notice),
            }
        }
        Self(Arc::new(open))
    }

    /// Returns true if a process of one of them listed other tools than the user was shown.
    pub fn have_changed(&self) -> bool {
        self.0.values().any(|toolbox| toolbox.toolbox.has_changed())
    }

    /// Ends the processes that have nothing to do: between turns, nothing limits the time that they use.
    pub fn end_idle(&self) {
        self.0.values().for_each(|toolbox| toolbox.toolbox.end_idle());
    }

    /// Reports which toolboxes can reach hosts, where a model also reads a repository: it decides what they are sent.
    pub fn warn_of_network(&self, ground: &Ground) {
        for (name, toolbox) in self.0.iter().filter(|(_, toolbox)| !toolbox.hosts.is_empty()) {
            let hosts = toolbox.hosts.join(", ");
            let message = format!(
                "the model reads this repository, and can send what it reads to `{name}`, which reaches {hosts}"
            );
            ground.notify(Notice::new("toolbox-network", message));
        }
    }

    /// Lists the toolboxes that reach hosts, as policy judges what they are sent. Where the hosts are is not known, so they are
    /// taken for a cloud.
    pub fn list_receivers(&self) -> Vec<ModelFacts> {
        let reaching = self.0.iter().filter(|(_, toolbox)| !toolbox.hosts.is_empty());
        reaching
            .map(|(name, toolbox)| ModelFacts {
                provider: name.clone(),
                model: None,
                execution_mode: ExecutionMode::Cloud,
                adapter: "toolbox".to_owned(),
                address: Some(toolbox.hosts.join(" ")),
            })
            .collect()
    }

    /// Lists the tools, always in the same order.
    pub fn list_tools(&self) -> impl Iterator<Item = TurnTool> {
        self.0
            .values()
            .flat_map(|toolbox| toolbox.offered.iter().cloned())
    }

    /// Runs a call. `None` if it is not for one of these toolboxes.
    pub fn call_tool<'a>(&'a self, call: &'a ToolCall) -> Option<BoxFuture<'a, ToolAnswer>> {
        let (name, tool) = split_name(&call.name)?;
        let toolbox = &self.0.get(name)?.toolbox;
        Some(Box::pin(async move {
            match toolbox.call(tool, &call.arguments).await {
                Ok(result) => ToolAnswer {
                    is_error: result.is_error,
                    ..ToolAnswer::from_text(result.text)
                },
                Err(error) => ToolAnswer::from_error(format!("The tool failed: {error}.")),
            }
        }))
    }
}

/// A toolbox that was started, with what the user trusts.
struct ReadyToolbox {
    profile: ToolboxProfile,
    toolbox: ToolServer,
    pin: ToolboxPin,
}

fn prepare_toolbox(ground: &Ground, name: &str, pin: Option<ToolboxPin>) -> Result<ReadyToolbox, Notice> {
    let profile = Providers::of(ground)
        .read_toolbox(name)
        .map_err(|error| leave_out(name, &error))?;
    let Some(pin) = pin else {
        return Err(ask_again(name, "you were not asked about its tools"));
    };
    // Before it is started: other bytes may do anything with the time that it is given.
    if pin.launch != profile.launch {
        return Err(ask_again(name, "its program or its profile changed"));
    }
    let (asked, launch, toolbox_name) = (ground.clone(), profile.launch.clone(), name.to_owned());
    let check: ProgramCheck = Box::new(move || check_trusted(&asked, &toolbox_name, &launch));
    let opened = open_source(ground, &profile, Some(check));
    let toolbox = opened.map_err(|error| leave_out(name, &error))?;
    Ok(ReadyToolbox {
        profile,
        toolbox,
        pin,
    })
}

impl ReadyToolbox {
    fn judge_tools(
        self,
        described: Result<ListedTools, EffectError>,
    ) -> Result<(String, OpenToolbox), Notice> {
        let name = self.profile.name.clone();
        let listed = described.map_err(|error| leave_out(&name, &error))?;
        let offered = offer_tools(&self.profile, &listed.tools);
        let now = ToolboxPin::new(self.profile.launch, listed);
        if !list_changes(&self.pin, &now).is_empty() {
            return Err(ask_again(&name, "its tools changed"));
        }
        let opened = OpenToolbox {
            toolbox: self.toolbox,
            offered,
            hosts: now.launch.hosts,
        };
        Ok((name, opened))
    }
}

/// Checks before each process that the user still trusts a toolbox, and that it would be started as it was.
fn check_trusted(ground: &Ground, name: &str, launch: &ToolboxLaunch) -> Result<(), String> {
    let pins = read_pins(ground).map_err(|error| error.message)?;
    let pin = pins.toolboxes.get(name);
    if pin.is_none_or(|pin| pin.launch != *launch) {
        return Err("the user does not trust it any more".to_owned());
    }
    let now = Providers::of(ground)
        .read_toolbox(name)
        .map_err(|error| error.message)?;
    match now.launch == *launch {
        true => Ok(()),
        false => Err("its program or its profile changed".to_owned()),
    }
}

/// Makes the notice of a toolbox about which the user must be asked.
fn ask_again(name: &str, why: &str) -> Notice {
    let message = format!("the tools of `{name}` are not offered, because {why}");
    Notice {
        next: vec![NextStep::TrustToolbox {
            toolbox: name.to_owned(),
        }],
        ..Notice::new("toolbox-untrusted", message)
    }
}

fn leave_out(name: &str, error: &EffectError) -> Notice {
    let message = format!("the tools of `{name}` are not offered: {}", error.message);
    Notice {
        next: error.next.clone(),
        ..Notice::new("toolbox-failed", message)
    }
}

/// Tools of a turn: those of the repository, and those of toolboxes.
#[derive(Clone, Default)]
pub struct SessionTools {
    /// Tools of the repository. `None` if the session has none.
    pub repository: Option<RepositoryTools>,
    /// Open toolboxes.
    pub toolboxes: OpenToolboxes,
}

impl TurnTools for SessionTools {
    fn list_tools(&self) -> Vec<TurnTool> {
        let repository = self.repository.iter().flat_map(RepositoryTools::list_tools);
        repository.chain(self.toolboxes.list_tools()).collect()
    }

    fn call_tool<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, ToolAnswer> {
        match (self.toolboxes.call_tool(call), &self.repository) {
            (Some(answer), _) => answer,
            (None, Some(repository)) => repository.call_tool(call),
            // Not reached: a call of a tool that was not offered is answered without running anything.
            (None, None) => Box::pin(std::future::ready(ToolAnswer::from_error(format!(
                "There is no tool `{}`.",
                call.name
            )))),
        }
    }
}
