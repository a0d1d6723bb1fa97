//! Pools and choices as text for people.
//!
//! Owns: the tables. Never: returns untrusted text unescaped.

use agentos_host::{
    ChoiceReplay, ListedPool, NeedOrigin, PoolAbilities, PoolChoice, PoolImport, PoolList, PoolStatistics,
    RefusedMember, SwitchReport, describe_calls,
};

use super::{count_noun, format_columns};
use crate::escape;

/// Returns each pool with its members.
pub fn format_pools(list: &PoolList) -> String {
    let texts: Vec<String> = list.pools.iter().map(format_pool).collect();
    texts.join("\n")
}

fn format_pool(pool: &ListedPool) -> String {
    let selector = serde_json::to_value(pool.selector).unwrap_or_default();
    let mut facts = vec![format!("selector {}", selector.as_str().unwrap_or_default())];
    if let Some(program) = &pool.selector_program {
        facts.push(format!("chosen by the program {}", escape::line(program)));
    }
    if let Some(default) = &pool.default {
        facts.push(format!("default {}", escape::line(default)));
    }
    if pool.allow_cloud {
        facts.push("may use the cloud".to_owned());
    }
    if let Some(fallback) = &pool.fallback {
        facts.push(match fallback.as_slice() {
            [] => "no fallback".to_owned(),
            all => format!("fallback {}", escape::line(&all.join(", "))),
        });
    }
    if let Some(next) = &pool.next_pool {
        facts.push(format!("then pool {}", escape::line(next)));
    }
    let head = format!("{}  ({})\n", escape::line(&pool.name), facts.join("; "));
    let members = pool.members.iter().map(|member| {
        vec![
            format!("  {}", escape::line(&member.alias)),
            escape::line(&member.model),
            member.execution_mode.as_str().to_owned(),
        ]
    });
    let problem = pool
        .problem
        .as_ref()
        .map(|problem| format!("  problem: {}\n", escape::line(problem)));
    format!(
        "{head}{}{}",
        format_columns(&members.collect::<Vec<_>>()),
        problem.unwrap_or_default()
    )
}

/// Returns a choice: the member, its reason, the needs, and one line for each refused member.
pub fn format_choice(choice: &PoolChoice) -> String {
    let mut text = String::new();
    let mut rows = Vec::new();
    match (&choice.alias, &choice.model, &choice.reason) {
        (Some(alias), model, reason) => {
            rows.push(vec!["chosen".to_owned(), escape::line(alias)]);
            rows.extend(
                model
                    .iter()
                    .map(|model| vec!["model".to_owned(), escape::line(model)]),
            );
            rows.extend(
                reason
                    .iter()
                    .map(|reason| vec!["reason".to_owned(), escape::line(reason)]),
            );
        }
        (None, _, _) => rows.push(vec!["chosen".to_owned(), "none".to_owned()]),
    }
    for (position, (name, need)) in choice.input.needs.iter().enumerate() {
        let why = match &need.origin {
            NeedOrigin::Stated => String::new(),
            NeedOrigin::Inferred(reason) => format!("  ({})", escape::line(reason)),
        };
        let head = if position == 0 { "needs" } else { "" };
        let need = escape::line(&format!("{name}={}", need.value));
        rows.push(vec![head.to_owned(), format!("{need}{why}")]);
    }
    if let Some(kind) = choice.input.kind {
        rows.push(vec!["kind".to_owned(), kind.to_string()]);
    }
    text.push_str(&format_columns(&rows));
    push_members(&mut text, "not certain to fit", &choice.uncertain);
    push_members(&mut text, "not chosen, because they do not fit", &choice.refused);
    text
}

/// Adds members with their reasons below a heading. Nothing without members.
fn push_members(text: &mut String, heading: &str, members: &[RefusedMember]) {
    if members.is_empty() {
        return;
    }
    text.push_str(&format!("\n{heading}:\n"));
    let rows = members.iter().map(|member| {
        let alias = format!("  {}", escape::line(&member.alias));
        vec![alias, escape::line(&member.reason)]
    });
    text.push_str(&format_columns(&rows.collect::<Vec<_>>()));
}

/// Returns the abilities of each member with their sources.
pub fn format_abilities(report: &PoolAbilities) -> String {
    let members = report.members.iter().map(|member| {
        let head = format!(
            "{}  {}  ({}: {})\n",
            escape::line(&member.alias),
            escape::line(&member.model),
            member.status.as_str(),
            escape::line(&member.details)
        );
        let rows = member.abilities.iter().map(|(name, ability)| {
            vec![
                format!("  {}", escape::line(name)),
                escape::line(&ability.value.to_string()),
                escape::line(&ability.source),
            ]
        });
        format!("{head}{}", format_columns(&rows.collect::<Vec<_>>()))
    });
    members.collect::<Vec<_>>().join("\n")
}

/// Returns a table with a line for each member.
pub fn format_statistics(report: &PoolStatistics) -> String {
    let head = [
        "MEMBER",
        "MODEL",
        "CALLS",
        "SUCCESS",
        "MEAN",
        "PROMPT",
        "ANSWER",
        "COST (USD)",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(report.members.iter().map(|member| {
        let known = member
            .cost_usd
            .map_or_else(|| "(too large to count)".to_owned(), |cost| cost.to_string());
        vec![
            escape::line(&member.alias),
            escape::line(&member.model),
            member.calls.to_string(),
            member
                .success_rate
                .map_or_else(|| "-".to_owned(), |rate| format!("{:.0} %", rate * 100.0)),
            member
                .mean_ms
                .map_or_else(|| "-".to_owned(), |ms| format!("{ms} ms")),
            member.input_tokens.to_string(),
            member.output_tokens.to_string(),
            // A sum of nothing known would read as free.
            match (member.calls > 0 && member.unknown == member.calls, member.unknown) {
                (true, _) => "unknown".to_owned(),
                (false, 0) => known,
                (false, unknown) => format!("{known} and {} of unknown cost", count_noun(unknown, "call")),
            },
        ]
    }));
    let table = format_columns(&rows);
    let switches = report.switches.iter().map(describe_switch);
    match report.switches.is_empty() {
        true => table,
        false => format!("{table}\nswitches:\n{}", switches.collect::<String>()),
    }
}

fn describe_switch(switch: &SwitchReport) -> String {
    let unloaded = switch.unloaded.as_ref().map(|unloaded| match &unloaded.failure {
        None => format!("; {} unloaded", escape::line(&unloaded.model)),
        Some(failure) => format!(
            "; {} not unloaded: {}",
            escape::line(&unloaded.model),
            escape::line(failure)
        ),
    });
    format!(
        "  {}  {} -> {}  {}{}\n",
        switch.at,
        escape::line(&switch.from),
        escape::line(&switch.to),
        escape::line(&switch.reason),
        unloaded.unwrap_or_default()
    )
}

/// Describes an imported pool.
pub fn describe_import(report: &PoolImport) -> String {
    let mut lines = vec![format!(
        "wrote the pool {} to {}",
        escape::line(&report.pool),
        escape::line(&report.file)
    )];
    lines.extend(report.budgets.iter().map(|limit| {
        let calls = describe_calls(limit, None);
        let period = limit.period.name();
        format!("  budget: {}/{period} of {}", limit.amount, escape::line(&calls))
    }));
    lines.extend(
        report
            .notes
            .iter()
            .map(|note| format!("  note: {}", escape::line(note))),
    );
    lines.extend(
        report
            .skipped
            .iter()
            .map(|entry| format!("  not taken: {}", escape::line(entry))),
    );
    lines.extend(
        report
            .problem
            .iter()
            .map(|problem| format!("  it cannot be used yet: {}", escape::line(problem))),
    );
    lines.join("\n")
}

/// Returns the result of a replay.
pub fn format_replay(report: &ChoiceReplay) -> String {
    let chosen = report.chosen.as_deref().unwrap_or("no member");
    if report.differences.is_empty() {
        let again = match report.choices {
            0 | 1 => "the same choice".to_owned(),
            several => format!("the same {several} choices, the last one"),
        };
        return format!("{again}: {}\n", escape::line(chosen));
    }
    let lines = report
        .differences
        .iter()
        .map(|line| format!("  {}\n", escape::line(line)));
    format!(
        "another choice: {}\n{}",
        escape::line(chosen),
        lines.collect::<String>()
    )
}
