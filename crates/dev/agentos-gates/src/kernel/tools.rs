//! What a tool may claim: the kind of its output, its declared abilities, and that nobody is asked but who was named.
//!
//! Owns: holding a result against its own words. Never: reaches a server beyond loopback; what needs one that is not
//! there is skipped.

use std::path::Path;

use agentos_schema::{SchemaName, validate};
use serde_json::Value;

use super::ground::{FIX, Ground, Said};
use super::{check, skipped};
use crate::error::GateError;
use crate::results::Check;

/// A port on loopback where nobody listens: the one for discarding.
const NOBODY: &str = "http://127.0.0.1:9/v1";

/// A kind is bound to what is there: a diff to `diff`, and no diff to everything else.
pub(super) fn output_kinds(ground: &Ground) -> Result<Vec<Check>, GateError> {
    let repository = ground.repository()?;
    let stale = FIX.replace("    a - b", "    a * b");
    let cases = [
        ("diff", "a good diff is of kind `diff`", FIX, "success", true),
        (
            "words",
            "words are of another kind",
            "The function subtracts.\n",
            "success",
            false,
        ),
        (
            "stale",
            "a diff that does not land is no diff",
            &stale,
            "failed",
            false,
        ),
        (
            "junk",
            "a diff in name only is no diff",
            "--- hi\n+++ there\n",
            "failed",
            false,
        ),
        ("empty", "nothing is no diff", "", "failed", false),
    ];
    let mut checks = Vec::new();
    for (id, name, answer, status, is_diff) in cases {
        let said = asked(ground, &repository, answer)?;
        let problems = binding(&said, status, is_diff);
        let seen = if problems.is_empty() {
            said.short()
        } else {
            problems.join("; ")
        };
        checks.push(check(format!("OKIND-{id}"), name, problems.is_empty(), seen));
    }
    Ok(checks)
}

fn asked(ground: &Ground, repository: &Path, answer: &str) -> Result<Said, GateError> {
    let file = ground.put(ground.scratch(), "answer.md", answer)?;
    let file = file.to_string_lossy();
    ground.call(
        repository,
        &["tool", "run", "-p", "replay", "--replay", &file, "x", "--json"],
    )
}

fn binding(said: &Said, status: &str, is_diff: bool) -> Vec<String> {
    let json = said.json();
    let mut problems: Vec<String> = match validate(SchemaName::ToolResult, &json) {
        Ok(()) => Vec::new(),
        Err(violations) => violations.iter().map(ToString::to_string).collect(),
    };
    let diff = json.get("diff").and_then(Value::as_str).unwrap_or_default();
    let valid = json.pointer("/diff_validation/is_valid").and_then(Value::as_bool) == Some(true);
    let failed = said.text("/status") == "failed";
    let rules = [
        (
            (said.text("/output_kind") == "diff") == is_diff,
            "`output_kind` does not fit",
        ),
        (
            diff.is_empty() != is_diff,
            "there is a diff where none may be, or none where one must",
        ),
        (valid == is_diff, "`diff_validation` does not fit"),
        (said.text("/status") == status, "`status` is another"),
        (
            failed == json.get("error_category").is_some(),
            "`error_category` does not fit",
        ),
        ((said.code == Some(0)) != failed, "the exit code does not fit"),
    ];
    problems.extend(
        rules
            .iter()
            .filter(|(holds, _)| !holds)
            .map(|(_, what)| (*what).to_owned()),
    );
    problems
}

/// Each ability that a provider declares is probed where its server can be asked.
pub(super) fn capabilities(ground: &Ground) -> Result<Vec<Check>, GateError> {
    let repository = ground.repository()?;
    let list = ground.call(&repository, &["tool", "list", "--json"])?.json();
    let tools = list.get("tools").and_then(Value::as_array);
    let names: Vec<&str> = tools
        .into_iter()
        .flatten()
        .filter_map(|tool| tool.get("provider")?.as_str())
        .collect();
    let mut checks = vec![check(
        "CAP-list",
        "the providers can be listed",
        names.len() > 1,
        names.join(", "),
    )];
    for provider in names {
        checks.extend(abilities(ground, &repository, provider)?);
    }
    Ok(checks)
}

fn abilities(ground: &Ground, repository: &Path, provider: &str) -> Result<Vec<Check>, GateError> {
    let profile = ground
        .call(repository, &["profile", "show", provider, "--json"])?
        .json();
    let declared = |ability: &str| {
        let values = profile.get("values")?;
        values
            .get(format!("capabilities.{ability}"))?
            .get("value")?
            .as_str()
    };
    let mut checks = Vec::new();
    let (id, name) = (
        format!("CAP-{provider}-health"),
        "a declared health check answers",
    );
    let health = ground.call(repository, &["tool", "health", "-p", provider, "--json"])?;
    let answer = health.json().pointer("/tools/0").cloned().unwrap_or_default();
    let fits = validate(SchemaName::ToolHealth, &health.json()).is_ok()
        && answer.get("provider").and_then(Value::as_str) == Some(provider);
    let connected = answer.get("status").and_then(Value::as_str) == Some("connected");
    checks.push(match declared("supports_health_check") {
        Some("yes") => check(
            id,
            name,
            fits && connected == (health.code == Some(0)),
            health.short(),
        ),
        Some(_) | None => skipped(id, name, "not declared"),
    });
    let (id, name) = (format!("CAP-{provider}-diff"), "a declared diff comes back");
    checks.push(match (declared("supports_diff"), connected) {
        (Some("yes"), true) => {
            let task = "Make `add` in src/lib.rs add. Answer with one unified diff.";
            let run = [
                "tool",
                "run",
                "-p",
                provider,
                task,
                "--file",
                "src/lib.rs",
                "--json",
            ];
            let said = ground.call(repository, &run)?;
            check(id, name, said.text("/output_kind") == "diff", said.short())
        }
        (Some("yes"), false) => skipped(id, name, "no server can be asked"),
        (Some(_) | None, _) => skipped(id, name, "not declared"),
    });
    let (id, name) = (format!("CAP-{provider}-tools"), "declared tool calls work");
    checks.push(match (declared("tools"), connected) {
        (Some("yes"), true) => {
            let probe = ["tool", "health", "--probe-tools", "-p", provider, "--json"];
            let said = ground.call(repository, &probe)?;
            check(
                id,
                name,
                said.text("/tool_calls/0/verdict") == "pass",
                said.text("/tool_calls/0/details"),
            )
        }
        (Some("yes"), false) => skipped(id, name, "no server can be asked"),
        (Some(_) | None, _) => skipped(id, name, "not declared"),
    });
    Ok(checks)
}

/// Who is named is asked, and nobody else: no choice, no fallback, no comparison of cost.
pub(super) fn no_selection(ground: &Ground) -> Result<Vec<Check>, GateError> {
    let repository = ground.repository()?;
    let task = [
        "run",
        "-p",
        "lmstudio",
        "--base-url",
        NOBODY,
        "mend add",
        "--json",
    ];
    let (said, changed) = ground.changed_by(&repository, || ground.call(&repository, &task))?;
    let held = said.code == Some(5) && changed.is_empty();
    let mut checks = vec![check(
        "SEL-A",
        "a provider that is down is not replaced",
        held,
        said.short(),
    )];

    let show = ground.call(&repository, &["evidence", "show", "--json"])?;
    let records = show.json();
    let mut asked: Vec<&str> = Vec::new();
    tools_in(&records, &mut asked);
    asked.sort_unstable();
    asked.dedup();
    let alone = asked == ["lmstudio"];
    checks.push(check(
        "SEL-B",
        "the evidence names nobody else",
        alone,
        asked.join(", "),
    ));

    for (id, name, args) in [
        (
            "SEL-C",
            "without a provider nobody is chosen",
            &["run", "mend add"][..],
        ),
        (
            "SEL-D",
            "an unknown provider is no other one",
            &["run", "-p", "lmstudioo", "mend add"],
        ),
    ] {
        let said = ground.call(&repository, args)?;
        checks.push(check(id, name, said.code == Some(2), said.short()));
    }
    let help = ground.call(&repository, &["run", "--help"])?.stdout;
    let offers: Vec<&str> = [
        "--fallback",
        "--auto",
        "--cheapest",
        "--best",
        "--route",
        "--compare",
    ]
    .into_iter()
    .filter(|flag| help.contains(flag))
    .collect();
    checks.push(check(
        "SEL-E",
        "no flag offers a choice",
        offers.is_empty() && !help.is_empty(),
        offers.join(", "),
    ));
    Ok(checks)
}

/// Every tool and provider that a document names.
fn tools_in<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match value.as_str() {
                    // A result's `provider` is where it works: `local` or `cloud`.
                    Some(text) if ["tool", "provider"].contains(&name.as_str()) => {
                        if !["local", "cloud"].contains(&text) {
                            found.push(text);
                        }
                    }
                    Some(_) => {}
                    None => tools_in(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| tools_in(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
