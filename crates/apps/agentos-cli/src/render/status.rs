//! Status of the repository, as text for people.
//!
//! Owns: the wording. Never: reads the repository.

use agentos_tool::short_run;

use super::config::describe_default;
use super::format_columns;
use super::log::{LogLayout, describe_result};
use super::when::format_when;
use crate::commands::tool_list::describe_broken;
use crate::escape;
use crate::printer::{paint, style};
use agentos_host::{Layer, LayerPreset, PolicyStatus, Preset, RepositoryStatus, StatusReport, log_run};

/// Returns the report as lines with a label each.
pub fn format_status(report: &StatusReport, layout: &LogLayout) -> String {
    let mut rows: Vec<(&str, String)> = Vec::new();
    if let Some(repository) = &report.repository {
        add_repository(repository, &mut rows);
    }
    if let Some(policy) = &report.policy {
        add_policy(policy, &mut rows);
    }
    let mut providers = report.providers.iter().map(|known| {
        if known.problem.is_some() {
            let text = format!(
                "{} ({})",
                escape::line(&known.provider),
                describe_broken(&known.provider)
            );
            return paint(style::BAD, &text);
        }
        let model = known
            .model
            .as_ref()
            .map_or_else(String::new, |model| format!(", {model}"));
        let place = known.endpoint.as_deref().unwrap_or("no address");
        escape::line(&format!(
            "{} ({place}{model}; {})",
            known.provider, known.known_from
        ))
    });
    match providers.next() {
        Some(first) => {
            rows.push(("providers", first));
            rows.extend(providers.map(|other| ("", other)));
        }
        None => rows.push((
            "providers",
            "none is set up; `agentos tool health` checks all known providers".to_owned(),
        )),
    }
    if let Some(chosen) = &report.default_provider {
        rows.push(("default", escape::line(&describe_default(chosen))));
    }
    if let Some(obstacle) = &report.settings_obstacle {
        let text = format!("{} [{}]", escape::line(&obstacle.message), obstacle.code);
        rows.push(("settings", paint(style::BAD, &text)));
    }
    if let Some(run) = &report.last_run {
        let run = log_run(run, &layout.now);
        let when = format_when(&run.began, &layout.now, layout.offset_minutes);
        let end = describe_result(&run.result);
        // A run that failed before it began has no record of its task.
        let task = run.task.map_or_else(String::new, |task| format!("; {task}"));
        let text = escape::line(&format!("{} {when}: {end}{task}", run.short));
        rows.push(("last run", text));
    }
    if report.waiting > 0 {
        rows.push(("waiting", format!("{} for a person's consent", report.waiting)));
    }
    let mut out: String = rows
        .iter()
        .map(|(word, text)| format!("{} {text}\n", paint(style::DIM, &format!("{word:11}"))))
        .collect();
    out.push_str(&format!("\n{}\n", paint(style::BOLD, "next")));
    let steps: Vec<Vec<String>> = report
        .next
        .iter()
        .map(|step| vec![format!("  {}", escape::line(&step.command)), step.why.clone()])
        .collect();
    out.push_str(&format_columns(&steps));
    out
}

fn add_repository(repository: &RepositoryStatus, rows: &mut Vec<(&'static str, String)>) {
    let bare = if repository.bare { " (bare)" } else { "" };
    rows.push(("repository", format!("{}{bare}", escape::line(&repository.path))));
    let commit = repository.commit.as_deref().map(|id| id.get(..10).unwrap_or(id));
    rows.push((
        "branch",
        match (&repository.branch, commit) {
            (Some(branch), Some(commit)) => format!("{} at {commit}", escape::line(branch)),
            (None, Some(commit)) => format!("none, at {commit}"),
            (Some(_) | None, None) => "no commit yet".to_owned(),
        },
    ));
    if let Some(run) = &repository.unfinished {
        let text = format!(
            "the landing of run {} was interrupted",
            escape::line(short_run(run))
        );
        rows.push(("unfinished", paint(style::WARN, &text)));
    }
    if let Some(obstacle) = &repository.obstacle {
        rows.push((
            "obstacle",
            paint(
                style::WARN,
                &format!("{} [{}]", escape::line(&obstacle.message), obstacle.code),
            ),
        ));
    }
}

fn add_policy(policy: &PolicyStatus, rows: &mut Vec<(&'static str, String)>) {
    // Rules that cannot be loaded allow nothing, so their number and layers would be misleading.
    if let Some(obstacle) = &policy.obstacle {
        rows.push((
            "policy",
            paint(
                style::BAD,
                &format!("{} [{}]", escape::line(&obstacle.message), obstacle.code),
            ),
        ));
        return;
    }
    let presets: String = policy.stands.iter().map(describe_preset).collect();
    rows.push(("policy", format!("{} rules{presets}", policy.rules)));
    if policy.uncommitted {
        rows.push((
            "",
            "rules in the working tree become active when they are committed".to_owned(),
        ));
    }
    for file in &policy.files {
        rows.push(("", escape::line(&format!("{} ({})", file.name, file.layer))));
    }
}

/// Returns the preset of a layer with a separator, such as "; preset `strict` (machine)". Empty for a layer whose files say
/// everything themselves.
fn describe_preset(one: &LayerPreset) -> String {
    let name = one.preset.as_str();
    match (one.preset, one.layer) {
        (Preset::None, _) => String::new(),
        (_, Layer::Floor | Layer::Default) => format!("; preset `{name}`"),
        (_, Layer::Machine | Layer::User | Layer::Repository | Layer::CommandLine) => {
            format!("; preset `{name}` ({})", one.layer.as_str())
        }
    }
}
