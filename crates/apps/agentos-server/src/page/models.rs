//! Models and pools on the page: what answers, what is in memory, and how it did.
//!
//! Owns: this page and its buttons. Never: loads a model that nobody named.

use std::time::Duration;

use agentos_host::{
    EffectError, ExecutionMode, HealthReport, HealthSpec, ListedPool, LoadedModel, MachineReport,
    ModelAction, ModelActionSpec, PoolStatistics, block_on,
};
use agentos_tool::HealthStatus;
use askama::Template;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;

use super::forms::SentForm;
use super::views::{PageFrame, render};
use super::{PageAnswer, Person, lead_to, read_frame};
use crate::desk::{ServiceDesk, SharedDesk};
use crate::fault::RequestFault;
use crate::marked_text::mark;

/// Longest time to load a model.
const LOAD_TIME: Duration = Duration::from_secs(120);
/// Most models of a provider that are listed.
const MOST_MODELS: usize = 40;

#[derive(Template)]
#[template(path = "models.html")]
struct ModelsPage {
    frame: PageFrame,
    machine: Vec<(&'static str, String)>,
    providers: Vec<ShownProvider>,
    absent: String,
    pools: Vec<ShownPool>,
}

struct ShownProvider {
    name: String,
    state: &'static str,
    class: &'static str,
    details: String,
    models: Vec<ShownModel>,
    not_shown: usize,
}

struct ShownModel {
    name: String,
    memory: String,
    /// Word of the button. Empty if there is none.
    action: &'static str,
}

struct ShownPool {
    name: String,
    rule: String,
    problem: String,
    members: Vec<ShownMember>,
}

struct ShownMember {
    alias: String,
    model: String,
    place: &'static str,
    calls: String,
    success: String,
    time: String,
    cost: String,
}

/// `GET /models`
pub async fn show_models(State(desk): State<SharedDesk>, Extension(person): Person) -> PageAnswer {
    let (health, machine, pools) = desk.call(look_now).await?;
    let (frame, _) = read_frame(&desk, &person, "Models", "models").await?;
    Ok(render(&ModelsPage {
        frame,
        machine: describe_machine(&machine),
        providers: describe_providers(&health, &machine),
        absent: mark(&health.not_set_up.join(", ")),
        pools: pools.iter().map(describe_pool).collect(),
    }))
}

type ModelLook = (
    HealthReport,
    MachineReport,
    Vec<(ListedPool, Option<PoolStatistics>)>,
);

/// Looks at the providers, the machine and the pools now.
fn look_now(desk: &ServiceDesk) -> Result<ModelLook, EffectError> {
    let host = &desk.host;
    let health = host.calls().watch_health(HealthSpec::default())?;
    let mut machine = host.calls().watch_machine()?;
    let health = block_on(health.check_once())??;
    let machine = block_on(machine.look_once())??;
    let pools = host.calls().list_pools()?.pools.into_iter().map(|pool| {
        // A pool with a problem has no statistics, and its problem is shown.
        let statistics = host.calls().pool_statistics(&pool.name, None).ok();
        (pool, statistics)
    });
    Ok((health, machine, pools.collect()))
}

/// `POST /models/{action}`: loads or unloads a model.
pub async fn change_model(
    State(desk): State<SharedDesk>,
    Extension(person): Person,
    Path(action): Path<String>,
    form: SentForm,
) -> PageAnswer {
    form.require_secret(&person.form)?;
    let action = match action.as_str() {
        "load" => ModelAction::Load,
        "unload" => ModelAction::Unload,
        _ => {
            let what = "there is no such action";
            return Err(RequestFault::new(StatusCode::NOT_FOUND, "not-found", what).into());
        }
    };
    let spec = ModelActionSpec {
        model: form.text("model").to_owned(),
        provider: Some(form.text("provider").to_owned()).filter(|name| !name.is_empty()),
        action,
        limit: LOAD_TIME,
    };
    desk.call(move |desk| block_on(desk.host.calls().change_model(&spec))?)
        .await?;
    Ok(lead_to("/models"))
}

fn describe_machine(report: &MachineReport) -> Vec<(&'static str, String)> {
    let sample = &report.sample;
    let mut facts = Vec::new();
    if let Some(memory) = &sample.memory {
        let text = format!(
            "{} free of {}",
            format_size(memory.free_bytes),
            format_size(memory.total_bytes)
        );
        facts.push(("Memory", text));
    }
    if let Some(cores) = sample.processor.cores {
        let used = sample
            .processor
            .used_percent
            .map(|used| format!(", {used} % used"));
        facts.push(("Processor", format!("{cores} cores{}", used.unwrap_or_default())));
    }
    for gpu in &sample.gpus {
        let memory = gpu.used_bytes.zip(gpu.total_bytes);
        let memory =
            memory.map(|(used, total)| format!(", {} of {} used", format_size(used), format_size(total)));
        facts.push((
            "Graphics card",
            mark(&format!("{}{}", gpu.name, memory.unwrap_or_default())),
        ));
    }
    for switch in &report.switches {
        let text = format!(
            "{}: {} → {}, because {}",
            switch.pool, switch.from, switch.to, switch.reason
        );
        facts.push(("Last switch", mark(&text)));
    }
    facts
}

/// Returns a number of bytes in gigabytes, as servers of models state them.
fn format_size(bytes: u64) -> String {
    let tenths = bytes / 100_000_000;
    format!("{}.{} GB", tenths / 10, tenths % 10)
}

fn describe_providers(health: &HealthReport, machine: &MachineReport) -> Vec<ShownProvider> {
    let set_up = health
        .tools
        .iter()
        .filter(|tool| !health.not_set_up.contains(&tool.provider));
    set_up
        .map(|tool| {
            let loaded: Vec<&LoadedModel> = machine
                .models
                .iter()
                .filter(|model| model.provider == tool.provider)
                .collect();
            // Only servers on this machine say which models are in memory, and only those load one.
            let is_server = !loaded.is_empty()
                || tool
                    .endpoint
                    .as_ref()
                    .is_some_and(|endpoint| is_local(&endpoint.to_string()));
            let mut models: Vec<ShownModel> = loaded.iter().map(|model| describe_loaded(model)).collect();
            let others = tool
                .models
                .iter()
                .filter(|name| !loaded.iter().any(|model| model.model == **name));
            models.extend(others.map(|name| ShownModel {
                name: mark(name),
                memory: String::new(),
                action: if is_server { "load" } else { "" },
            }));
            let not_shown = models.len().saturating_sub(MOST_MODELS);
            models.truncate(MOST_MODELS);
            ShownProvider {
                name: mark(&tool.provider),
                state: tool.status.as_str(),
                class: match tool.status {
                    HealthStatus::Connected => "good",
                    HealthStatus::NotConfigured | HealthStatus::ModelMissing => "warn",
                    HealthStatus::InvalidToken | HealthStatus::Unreachable | HealthStatus::SchemaMismatch => {
                        "bad"
                    }
                },
                details: mark(&tool.details),
                models,
                not_shown,
            }
        })
        .collect()
}

fn is_local(endpoint: &str) -> bool {
    ["localhost:", "127.", "[::1]:"]
        .iter()
        .any(|begin| endpoint.starts_with(begin))
}

fn describe_loaded(model: &LoadedModel) -> ShownModel {
    let mut facts = vec![
        if model.is_loading {
            "is being loaded"
        } else {
            "in memory"
        }
        .to_owned(),
    ];
    facts.extend(model.memory_bytes.map(format_size));
    facts.extend(model.context_window.map(|tokens| format!("{tokens} tokens")));
    ShownModel {
        name: mark(&model.model),
        memory: facts.join(", "),
        action: if model.is_loading { "" } else { "unload" },
    }
}

fn describe_pool((pool, statistics): &(ListedPool, Option<PoolStatistics>)) -> ShownPool {
    let members = pool.members.iter().map(|member| {
        let all = statistics.iter().flat_map(|statistics| &statistics.members);
        let own = all.into_iter().find(|counted| counted.alias == member.alias);
        let number = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
        let rate = own.and_then(|own| own.success_rate);
        ShownMember {
            alias: mark(&member.alias),
            model: mark(&member.model),
            place: match member.execution_mode {
                ExecutionMode::Local => "this machine",
                ExecutionMode::Cloud => "cloud",
            },
            calls: number(own.map(|own| own.calls.to_string())),
            success: number(rate.map(|rate| format!("{:.0} %", rate * 100.0))),
            time: number(own.and_then(|own| own.mean_ms).map(|time| format!("{time} ms"))),
            cost: number(own.and_then(|own| own.cost_usd).map(|cost| cost.to_string())),
        }
    });
    let selector = serde_json::to_value(pool.selector).ok();
    let selector = selector.and_then(|word| Some(word.as_str()?.to_owned()));
    let mut rule = format!("chooses by {}", selector.unwrap_or_default());
    if let Some(next) = &pool.next_pool {
        rule.push_str(&format!(", then asks the pool {next}"));
    }
    rule.push_str(match pool.allow_cloud {
        true => "; may leave this machine",
        false => "",
    });
    ShownPool {
        name: mark(&pool.name),
        rule: mark(&rule),
        problem: mark(pool.problem.as_deref().unwrap_or_default()),
        members: members.collect(),
    }
}
