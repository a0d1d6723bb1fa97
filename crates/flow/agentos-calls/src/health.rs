//! Health of providers: all are checked at once.
//!
//! Owns: which providers are checked, the probes of connected ones, and remembering the checks of their keys. Never: waits
//! for one provider before it checks the next.

use agentos_api::NextStep;
use agentos_engine::Cause;
use agentos_engine::ports::{Clock, EffectError};
use agentos_tool::{BoxFuture, ErrorCategory, HealthStatus, ToolError, ToolHealth};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Calls;
use crate::pools;
use agentos_ground::Ground;
use agentos_ground::clock::SystemClock;
use agentos_ground::error::usage_error;
use agentos_ground::keys;
use agentos_ground::options::ProviderOverrides;
use agentos_ground::provider_kind::ProviderKind;
use agentos_ground::runtime;
use agentos_ground::runtime::await_all;
use agentos_providers::Providers;
use agentos_providers::key_checks;
use agentos_providers::known_tools::read_tools;
use agentos_providers::model_name::{ModelName, ModelNames, NamedModel};
use agentos_providers::pool_files::is_pool;
use agentos_providers::probe::{self, Probe};
use agentos_providers::profile_file::save_edit_format;
use agentos_providers::tool_calls::{self, ToolCallProbe};
use agentos_providers::tools::{Tool, Tools};

/// The order to check providers, with the probes to make.
#[derive(Debug, Clone, Default)]
pub struct HealthSpec {
    /// Names of the providers. An empty list means every provider with a profile.
    pub providers: Vec<String>,
    /// Settings that override the profile.
    pub overrides: ProviderOverrides,
    /// Have each connected tool make one tiny edit in each edit format.
    pub probes_edits: bool,
    /// Offer each connected model one tool.
    pub probes_tools: bool,
    /// Save the best edit format in the user's profile.
    pub saves: bool,
}

/// The output of `agentos tool health --json`.
#[derive(Serialize, JsonSchema)]
pub struct HealthReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// The health of each provider that was checked.
    pub tools: Vec<ToolHealth>,
    /// Names of the providers among them that nobody began to set up: nothing listens at the usual address, or there is no program or key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_set_up: Vec<String>,
    /// Results of the tiny edit by connected providers, with `--probe`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<Probe>,
    /// Results of the offered tool by connected providers, with `--probe-tools`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCallProbe>,
}

impl HealthReport {
    /// Returns true if every named provider is usable, or any provider if none was named. A provider is not usable if its probe got
    /// no usable answer, or if its tool calls were probed and do not work.
    #[must_use]
    pub fn is_good(&self, spec: &HealthSpec) -> bool {
        let no_use = |tool: &ToolHealth| {
            let mut probes = self.probes.iter();
            let mut calls = self.tool_calls.iter();
            probes.any(|probe| probe.provider == tool.provider && probe.best.is_none())
                || calls.any(|probe| probe.provider == tool.provider && probe.is_bad())
        };
        let mut good = self.tools.iter().map(|tool| tool.is_connected() && !no_use(tool));
        if spec.providers.is_empty() {
            good.any(|good| good)
        } else {
            good.all(|good| good)
        }
    }
}

/// Providers that can be checked repeatedly.
pub struct HealthWatch {
    ground: Ground,
    tools: Tools,
    kinds: Vec<ProviderKind>,
    spec: HealthSpec,
}

impl Calls<'_> {
    /// Finds the providers of a check, without contacting any.
    ///
    /// # Errors
    /// If there is no such provider, several are named with a model, or a profile folder cannot be read.
    pub fn watch_health(self, mut spec: HealthSpec) -> Result<HealthWatch, EffectError> {
        let tools = read_tools(self.ground)?;
        let (kinds, model) = select_providers(self.ground, &tools, &spec)?;
        spec.overrides.model = model;
        Ok(HealthWatch {
            ground: self.ground.clone(),
            tools,
            kinds,
            spec,
        })
    }
}

impl HealthWatch {
    /// Checks the providers once. Must be awaited on a thread with a runtime that has timers and sockets; see
    /// [`agentos_ground::runtime::block_on`].
    ///
    /// # Errors
    /// If an edit format was to be saved and cannot be.
    pub async fn check_once(&self) -> Result<HealthReport, EffectError> {
        check_with_probes(&self.ground, &self.spec, &self.tools, &self.kinds).await
    }
}

/// Returns the providers of a check, each once, and the model that the call names. `None` if it names none.
fn select_providers(
    ground: &Ground,
    tools: &Tools,
    spec: &HealthSpec,
) -> Result<(Vec<ProviderKind>, Option<String>), EffectError> {
    let given = spec.providers.iter().map(|name| ModelName::parse(name));
    let mut given: Vec<ModelName> = given.collect();
    let option = spec.overrides.model.as_deref();
    if let [name] = given.as_mut_slice() {
        let found = ModelNames::of_tools(tools).find_model(NamedModel {
            provider: Some(name.clone()),
            model: option,
            usual: None,
        })?;
        *name = found.unwrap_or_else(|| name.clone());
    }
    let mut kinds: Vec<ProviderKind> = Vec::new();
    for name in &given {
        tools.require_known(name.provider.name())?;
        // The health of a pool is that of its members' providers.
        let members = pools::list_providers(ground, tools, name.provider.name())?;
        let meant = members.unwrap_or_else(|| vec![name.provider.clone()]);
        for kind in meant {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
    }
    let model = match given.as_slice() {
        [name] => name.model.clone(),
        names if names.iter().any(|name| name.model.is_some()) => {
            return Err(usage_error("a check of a model needs exactly one provider"));
        }
        _ => option.map(str::to_owned),
    };
    if kinds.is_empty() {
        // A pool has no server of its own.
        let servers = tools.profiled_names().filter(|name| !is_pool(tools, name));
        kinds = servers.map(ProviderKind::from).collect();
    }
    Ok((kinds, model))
}

/// Checks the providers once, with the probes that the order names.
async fn check_with_probes(
    ground: &Ground,
    spec: &HealthSpec,
    tools: &Tools,
    kinds: &[ProviderKind],
) -> Result<HealthReport, EffectError> {
    let ready = make_tools(ground, tools, kinds, &spec.overrides)?;
    let found: Vec<ToolHealth> = probe_all(kinds, &ready)
        .await
        .into_iter()
        .zip(&ready)
        .map(|(health, tool)| with_key_remarks(health, tool))
        .collect();
    let mut found = found;
    keys::name_key_store(ground, found.iter_mut().flat_map(|tool| &mut tool.next));
    let answered = found.iter().zip(&ready);
    let answered: Vec<(&ToolHealth, &Tool)> = answered
        .filter_map(|(health, tool)| Some((health, tool.as_ref().ok()?)))
        .collect();
    // Before the probes, which take long: the checks are saved even if a person stops those.
    key_checks::save_checks(ground, &answered);
    let connected = answered.iter().filter(|(health, _)| health.is_connected());
    let mut probes = Vec::new();
    if spec.probes_edits {
        let edits = connected.clone();
        let edits = edits.map(|(_, tool)| -> BoxFuture<'_, Probe> { Box::pin(probe::probe_formats(tool)) });
        probes = await_all(edits.collect()).await;
    }
    let mut calls = Vec::new();
    if spec.probes_tools {
        let offers = connected.map(|(_, tool)| -> BoxFuture<'_, ToolCallProbe> {
            Box::pin(tool_calls::probe_tool_calls(tool))
        });
        calls = await_all(offers.collect()).await;
    }
    // The servers' documents may be right and their answers not: what a probe saw is stronger.
    for tool in &mut found {
        let mut own = probes.iter().filter(|probe| probe.provider == tool.provider);
        if let Some(failure) = own.find_map(|probe| probe.failure.as_ref()) {
            add_failure(tool, failure);
        }
    }
    if spec.saves {
        for probe in &mut probes {
            let Some(best) = probe.best else { continue };
            let user = tools.user_file(&probe.provider)?;
            let path = save_edit_format(ground, &probe.provider, user, best)?;
            probe.saved = Some(path.display().to_string());
        }
    }
    Ok(HealthReport {
        version: 1,
        not_set_up: list_not_set_up(ground, tools, &found),
        tools: found,
        probes,
        tool_calls: calls,
    })
}

/// Causes of a failed check that are usual for a provider that nobody set up.
const USUAL_ABSENCES: [&str; 4] = ["missing-key", "missing-url", "no-program", "refused"];

/// Returns the names of the checked providers that nobody began to set up.
fn list_not_set_up(ground: &Ground, tools: &Tools, found: &[ToolHealth]) -> Vec<String> {
    // A mistake in the settings is reported where they are used; the health of providers does not depend on them.
    let chosen = Providers::of(ground)
        .read_settings()
        .ok()
        .and_then(|settings| settings.default_provider());
    let default = chosen.as_ref().map(|chosen| chosen.provider.as_str());
    let absent = found.iter().filter(|tool| {
        let detail = tool.detail.as_deref().unwrap_or_default();
        !tool.is_connected() && USUAL_ABSENCES.contains(&detail)
    });
    absent
        .filter(|tool| tools.set_up_by(ground, &tool.provider, default).is_none())
        .map(|tool| tool.provider.clone())
        .collect()
}

/// Checks these providers, all at once.
///
/// # Errors
/// If the system refuses to wait for them.
pub fn check_providers(
    ground: &Ground,
    tools: &Tools,
    kinds: &[ProviderKind],
    over: &ProviderOverrides,
) -> Result<Vec<ToolHealth>, EffectError> {
    let ready = make_tools(ground, tools, kinds, over)?;
    let found = runtime::block_on(probe_all(kinds, &ready))?;
    let found = found.into_iter().zip(&ready);
    let found = found.map(|(health, tool)| with_key_remarks(health, tool));
    let mut found: Vec<ToolHealth> = found.collect();
    keys::name_key_store(ground, found.iter_mut().flat_map(|tool| &mut tool.next));
    Ok(found)
}

/// Makes the tools of these providers, all at once. A keyring that does not answer then costs one timeout, not one for
/// each provider.
fn make_tools(
    ground: &Ground,
    tools: &Tools,
    kinds: &[ProviderKind],
    over: &ProviderOverrides,
) -> Result<Vec<Result<Tool, EffectError>>, EffectError> {
    let settings = Providers::of(ground).read_settings()?;
    let with_model = |kind: &ProviderKind| ProviderOverrides {
        // The model that a task would use: a server that is connected but lacks it refuses the task.
        model: over
            .model
            .clone()
            .or_else(|| settings.usual_model(ground.environment(), kind)),
        ..over.clone()
    };
    Ok(std::thread::scope(|scope| {
        let lookups: Vec<_> = kinds
            .iter()
            .map(|kind| {
                let over = with_model(kind);
                scope.spawn(move || tools.make_probed(ground, kind, &over))
            })
            .collect();
        let lost = || {
            EffectError::new(
                Cause::Internal,
                "lookup",
                "looking up the profile and the key failed",
            )
        };
        lookups
            .into_iter()
            // A lookup that panics costs its own provider's result, not the others'.
            .map(|lookup| lookup.join().unwrap_or_else(|_| Err(lost())))
            .collect()
    }))
}

async fn probe_all(kinds: &[ProviderKind], ready: &[Result<Tool, EffectError>]) -> Vec<ToolHealth> {
    let probes = kinds
        .iter()
        .zip(ready)
        .map(|(kind, tool)| -> BoxFuture<'_, ToolHealth> {
            match tool {
                Ok(tool) => tool.adapter.health_check(SystemClock.now()),
                Err(error) => Box::pin(std::future::ready(misconfigured_health(kind.name(), error))),
            }
        });
    await_all(probes.collect()).await
}

/// Adds to a refused key that it came from an environment variable: a stored key would have no effect.
fn with_key_remarks(mut health: ToolHealth, tool: &Result<Tool, EffectError>) -> ToolHealth {
    let hosting = tool.as_ref().ok().and_then(|tool| tool.hosting.as_ref());
    // A store that could not be read may contain the key. A server that wants none would otherwise hide that.
    if let (true, Some(obstacle)) = (
        health.is_connected(),
        hosting.and_then(|hosting| hosting.key_obstacle.as_ref()),
    ) {
        health.details = format!("{}; {}", health.details, obstacle.why);
        health.next.extend(obstacle.next.iter().cloned());
    }
    let key = tool.as_ref().ok().and_then(|tool| tool.key.as_ref());
    let variable = key.and_then(|key| key.variable.as_ref());
    if let (HealthStatus::InvalidToken, Some(variable)) = (health.status, variable) {
        let variable = variable.clone();
        // The adapter's advice is to store another key, which the variable would override.
        health.fix = None;
        health.next = vec![NextStep::SetKeyVariable { variable }];
    }
    health
}

/// Changes a connected tool's health to that of a probe's failed call, if the answer did not follow the wire.
fn add_failure(tool: &mut ToolHealth, failure: &ToolError) {
    if failure.health != Some(HealthStatus::SchemaMismatch) {
        return;
    }
    tool.status = HealthStatus::SchemaMismatch;
    tool.error_category = Some(failure.category);
    tool.detail = Some(failure.detail.clone());
    tool.details = format!("it answers health checks, but not a task: {}", failure.message);
    tool.fix.clone_from(&failure.advice.fix);
    tool.next.clone_from(&failure.advice.next);
}

/// Makes the health of a provider whose tool cannot be made.
fn misconfigured_health(provider: &str, error: &EffectError) -> ToolHealth {
    let health = ToolHealth::new(
        provider,
        HealthStatus::NotConfigured,
        error.message.clone(),
        SystemClock.now(),
    )
    .with_detail(&error.code)
    .with_category(match error.cause {
        Cause::Internal => ErrorCategory::Runtime,
        _ => ErrorCategory::Config,
    });
    let mut health = health.suggest_steps(error.next.clone());
    health.fix.clone_from(&error.hint);
    if !health.says_next() {
        health.next = vec![NextStep::CorrectProfile {
            provider: provider.to_owned(),
        }];
    }
    health
}
