//! The memory of pools with the selector `resources`: who answered last, the looks before, and the last switch.
//!
//! Owns: one file for each pool, in the user's state folder. Never: decides, or fails a turn: without the file, a choice knows no earlier one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use agentos_generic_http::MemoryState;
use agentos_machine::MachineMonitor;
use agentos_pool::{PoolChoice, UnloadedModel};
use agentos_select::{MachineFacts, MachineLook};
use agentos_tool::{BoxFuture, ExecutionMode, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::machine::{is_scripted, list_loaded, open_machine};
use crate::pools::{LoadedMember, LoadedPool};
use agentos_ground::Ground;
use agentos_ground::clock;
use agentos_ground::own_file::{read_own_text, write_own_text};
use agentos_ground::runtime::{await_all, block_on_other_thread};
use agentos_providers::known_tools::read_tools;
use agentos_providers::servers::Hosting;
use agentos_providers::tools::make_server_tool;

/// Looks that are kept.
const MOST_LOOKS: usize = 64;
/// Switches that are kept.
const MOST_SWITCHES: usize = 50;
/// Most lines of a script that are read for one look.
const MOST_LINES: usize = 10_000;
/// Largest file, in bytes.
const LARGEST: u64 = 1 << 20;
/// Error code of the file. No front end shows it, because nothing here fails a turn.
const CODE: &str = "machine-state";

/// Memory of a pool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PoolState {
    /// Alias that answered last.
    pub running: Option<String>,
    /// Failures in a row of that member.
    pub failures: u32,
    /// Looks, the oldest first.
    pub looks: Vec<MachineLook>,
    /// Last switch.
    pub last_switch: Option<SwitchReport>,
    /// Switches, the oldest first.
    pub switches: Vec<SwitchReport>,
}

/// Switch of a pool from one member to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchReport {
    /// Name of the pool.
    pub pool: String,
    /// Alias of the member that answered before.
    pub from: String,
    /// Alias of the member that answers now.
    pub to: String,
    /// Reason, in words.
    pub reason: String,
    /// Time of the switch.
    pub at: Timestamp,
    /// Time of the switch, in milliseconds of the looks at the machine.
    pub at_ms: u64,
    /// Model that the switch unloaded. `None` if nothing was to be unloaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unloaded: Option<UnloadedModel>,
}

/// Collects what a choice of this pool needs to know about the machine. `None` if the machine's memory is not known.
pub(crate) fn collect_facts(ground: &Ground, pool: &LoadedPool) -> Option<MachineFacts> {
    let state = read_state(ground, &pool.name);
    let now = look_now(ground, state.looks.last())?;
    let watched = ground
        .monitor()
        .map(MachineMonitor::list_looks)
        .unwrap_or_default();
    // By time: looks of this process may be in the file already.
    let all = state.looks.iter().chain(&watched).copied().chain([now]);
    let all: BTreeMap<u64, MachineLook> = all.map(|look| (look.at_ms, look)).collect();
    // A look from the future is of a clock that was set back since.
    let mut looks: Vec<MachineLook> = all.into_values().filter(|look| look.at_ms <= now.at_ms).collect();
    let surplus = looks.len().saturating_sub(MOST_LOOKS);
    looks.drain(..surplus);
    Some(MachineFacts {
        free_memory_bytes: now.free_bytes,
        loaded: list_loaded_aliases(ground, pool),
        running: state.running,
        failures: state.failures,
        looks,
        last_switch_ms: state.last_switch.map(|switch| switch.at_ms),
        rules: pool.file.resources.unwrap_or_default(),
    })
}

/// Looks at the machine. With a script, takes the first line after the last look. `None` if the memory is not known.
fn look_now(ground: &Ground, last: Option<&MachineLook>) -> Option<MachineLook> {
    let mut machine = open_machine(ground).ok()?;
    let mut now = machine.read_sample(clock::now_ms()).ok()?.to_look()?;
    for _ in 0..MOST_LINES {
        if !is_scripted(ground) || last.is_none_or(|last| last.at_ms < now.at_ms) {
            break;
        }
        now = machine.read_sample(clock::now_ms()).ok()?.to_look()?;
    }
    Some(now)
}

/// Lists the members that a server on this machine has in memory. One that does not say so counts as not loaded.
fn list_loaded_aliases(ground: &Ground, pool: &LoadedPool) -> Vec<String> {
    let Ok(tools) = read_tools(ground) else {
        return Vec::new();
    };
    let members = pool
        .members
        .iter()
        .filter(|member| member.execution_mode == ExecutionMode::Local);
    let hosted = members.filter_map(|member| {
        let resolved = tools
            .resolve_profile(ground, &member.model.provider, &member.overrides())
            .ok()?;
        Some((member, make_server_tool(ground, &resolved).ok()?.hosting?))
    });
    let hosted: Vec<(&LoadedMember, Hosting)> = hosted.collect();
    let ask = || {
        let asked = hosted
            .iter()
            .map(|(_, hosting)| -> BoxFuture<'_, _> { Box::pin(list_loaded(hosting)) });
        await_all(asked.collect())
    };
    let answers = block_on_other_thread(ask).unwrap_or_default();
    let loaded = hosted.iter().zip(answers).filter_map(|((member, _), answer)| {
        let models = answer.ok()?;
        let mut loaded = models.iter().filter(|model| model.state == MemoryState::Loaded);
        let is_loaded = match &member.model.model {
            Some(name) => loaded.any(|model| model.answers_to(name)),
            None => loaded.count() == 1,
        };
        is_loaded.then(|| member.model.alias.clone())
    });
    loaded.collect()
}

/// Remembers a choice, and the switch if it is one.
pub(crate) fn remember_choice(ground: &Ground, choice: &PoolChoice) -> Option<SwitchReport> {
    let (machine, alias) = choice.input.machine.as_ref().zip(choice.alias.as_ref())?;
    let mut switched = None;
    ground.start_monitor(|| start_monitor(ground));
    let mut state = read_state(ground, &choice.pool);
    state.looks.clone_from(&machine.looks);
    let before = machine.running.as_deref();
    // The needs of this turn led elsewhere, and the machine did not: the next turn goes on where the last one was.
    let was_refused = choice
        .refused
        .iter()
        .any(|refused| Some(refused.alias.as_str()) == before);
    if !was_refused && before != Some(alias.as_str()) {
        state.failures = 0;
        state.running = Some(alias.clone());
        if let Some(before) = before {
            switched = Some(SwitchReport {
                pool: choice.pool.clone(),
                from: before.to_owned(),
                to: alias.clone(),
                reason: choice.reason.clone().unwrap_or_default(),
                at: clock::now(),
                at_ms: machine.looks.last().map_or(0, |look| look.at_ms),
                unloaded: None,
            });
            state.last_switch.clone_from(&switched);
            state.switches.extend(switched.clone());
            let surplus = state.switches.len().saturating_sub(MOST_SWITCHES);
            state.switches.drain(..surplus);
        }
    }
    write_state(ground, &choice.pool, &state);
    switched
}

/// Adds to the last switch of a pool what it unloaded.
pub(crate) fn remember_unload(ground: &Ground, pool: &str, unloaded: &UnloadedModel) {
    let mut state = read_state(ground, pool);
    let last = state.last_switch.as_mut().into_iter();
    for switch in last.chain(state.switches.last_mut()) {
        switch.unloaded = Some(unloaded.clone());
    }
    write_state(ground, pool, &state);
}

/// Lists the switches of a pool, the newest first.
pub(crate) fn list_switches_of(ground: &Ground, pool: &str) -> Vec<SwitchReport> {
    let mut switches = read_state(ground, pool).switches;
    switches.reverse();
    switches
}

/// Remembers the end of an attempt of a member.
pub(crate) fn remember_end(ground: &Ground, pool: &str, alias: &str, has_failed: bool) {
    let mut state = read_state(ground, pool);
    if state.running.as_deref() != Some(alias) {
        return;
    }
    let failures = match has_failed {
        true => state.failures.saturating_add(1),
        false => 0,
    };
    if failures != state.failures {
        state.failures = failures;
        write_state(ground, pool, &state);
    }
}

/// Lists the last switches, by the names of the pools. Empty if there is none.
pub(crate) fn list_switches(ground: &Ground) -> Vec<SwitchReport> {
    let Some(folder) = state_folder(ground) else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let names = entries.filter_map(|entry| {
        let path = entry.ok()?.path();
        let is_state = path.extension().is_some_and(|extension| extension == "json");
        is_state.then(|| path.file_stem()?.to_str().map(str::to_owned))?
    });
    let mut switches: Vec<SwitchReport> = names
        .filter_map(|pool| read_state(ground, &pool).last_switch)
        .collect();
    switches.sort_by(|one, other| one.pool.cmp(&other.pool));
    switches
}

/// Starts to look at the machine at the side. `None` if it is scripted: a script has its looks in order.
fn start_monitor(ground: &Ground) -> Option<MachineMonitor> {
    const EVERY: std::time::Duration = std::time::Duration::from_secs(1);
    (!is_scripted(ground)).then(|| MachineMonitor::start(EVERY, clock::now_ms))
}

fn state_folder(ground: &Ground) -> Option<PathBuf> {
    Some(ground.environment().state_dir()?.join("machine").join("pools"))
}

fn read_state(ground: &Ground, pool: &str) -> PoolState {
    let read = || {
        let file = state_folder(ground)?.join(format!("{pool}.json"));
        let text = read_own_text(ground.environment(), &file, CODE, LARGEST).ok()??;
        serde_json::from_str(&text).ok()
    };
    // A file that cannot be read is one that a choice goes without.
    read().unwrap_or_default()
}

fn write_state(ground: &Ground, pool: &str, state: &PoolState) {
    let Some(folder) = state_folder(ground) else {
        return;
    };
    if let Ok(text) = serde_json::to_string(state) {
        // What cannot be remembered is no reason to refuse the turn; the choice itself is recorded with it.
        write_own_text(&folder.join(format!("{pool}.json")), &text, CODE).ok();
    }
}
