//! What a tool may claim: the kind of its output, its declared abilities, and that nobody is asked but who was named.
//!
//! Owns: holding a result against its own words. Never: reaches a server beyond loopback; what needs one that is not
//! there is skipped.

use std::path::Path;

use agentos_schema::{SchemaName, validate_value};
use serde_json::Value;

use super::Checks;
use super::ground::{FIX, Ground};
use crate::child::Ended;
use crate::error::GateError;

/// A port on loopback where nobody listens: the one for discarding.
const NOBODY: &str = "http://127.0.0.1:9/v1";
/// Flags that would offer a choice of who is asked.
const CHOICES: &str = "--fallback --auto --cheapest --best --route --compare";

/// A kind is bound to what is there: a diff to `diff`, and no diff to everything else.
pub(super) fn output_kinds(ground: &Ground, checks: &mut Checks<'_>) -> Result<(), GateError> {
    let repository = ground.repository()?;
    let stale = FIX.replace("    a - b", "    a * b");
    for (id, answer, status, is_diff) in [
        ("OKIND-diff", FIX, "success", true),
        ("OKIND-words", "The function subtracts.\n", "success", false),
        ("OKIND-stale", &stale, "failed", false),
        ("OKIND-junk", "--- hi\n+++ there\n", "failed", false),
        ("OKIND-empty", "", "failed", false),
    ] {
        let file = ground.put_scratch("answer.md", answer)?;
        let run = ["tool", "run", "-p", "replay", "--replay", &file, "x", "--json"];
        let ended = ground.call(&repository, &run)?;
        let problems = binding(&ended, status, is_diff);
        let said = format!("{}; {}", ended.short(), problems.join("; "));
        checks.add(id, problems.is_empty(), said);
    }
    Ok(())
}

fn binding(ended: &Ended, status: &str, is_diff: bool) -> Vec<String> {
    let json = &ended.json;
    let violations = validate_value(SchemaName::ToolResult, json)
        .err()
        .unwrap_or_default();
    let mut problems: Vec<String> = violations.iter().map(ToString::to_string).collect();
    let valid = json.pointer("/diff_validation/is_valid").and_then(Value::as_bool) == Some(true);
    let failed = ended.text("status") == "failed";
    let rules = [
        (
            (ended.text("output_kind") == "diff") == is_diff,
            "`output_kind` does not fit",
        ),
        (
            ended.text("diff").is_empty() != is_diff,
            "there is a diff where none may be, or none where one must",
        ),
        (valid == is_diff, "`diff_validation` does not fit"),
        (ended.text("status") == status, "`status` is another"),
        (
            failed == json.get("error_category").is_some(),
            "`error_category` does not fit",
        ),
        ((ended.code == Some(0)) != failed, "the exit code does not fit"),
    ];
    let broken = rules.iter().filter(|(holds, _)| !holds);
    problems.extend(broken.map(|(_, what)| (*what).to_owned()));
    problems
}

/// Each ability that a provider declares is probed where its server can be asked.
pub(super) fn capabilities(ground: &Ground, checks: &mut Checks<'_>) -> Result<(), GateError> {
    let repository = ground.repository()?;
    let list = ground.call(&repository, &["tool", "list", "--json"])?;
    let names = list.texts("tools", "/provider");
    checks.add("CAP-list", names.len() > 1, names.join(", "));
    names
        .iter()
        .try_for_each(|provider| abilities(ground, &repository, provider, checks))
}

fn abilities(
    ground: &Ground,
    repository: &Path,
    provider: &str,
    checks: &mut Checks<'_>,
) -> Result<(), GateError> {
    let profile = ground.call(repository, &["profile", "show", provider, "--json"])?;
    let declares = |ability: &str| {
        let values = profile.json.get("values");
        let value = values.and_then(|values| {
            values
                .get(format!("capabilities.{ability}"))?
                .get("value")?
                .as_str()
        });
        value == Some("yes")
    };
    let health = ground.call(repository, &["tool", "health", "-p", provider, "--json"])?;
    let connected = health.text("tools/0/status") == "connected";
    let id = format!("CAP-{provider}-health");
    if declares("supports_health_check") {
        let fits = validate_value(SchemaName::ToolHealth, &health.json).is_ok()
            && health.text("tools/0/provider") == provider;
        checks.add(&id, fits && connected == (health.code == Some(0)), health.short());
    } else {
        checks.skip(&id, "not declared");
    }
    let task = "Make `add` in src/lib.rs add. Answer with one unified diff.";
    let shown = ["--file", "src/lib.rs", "--json"];
    let run = [&["tool", "run", "-p", provider, task], &shown[..]].concat();
    let probe = ["tool", "health", "--probe-tools", "-p", provider, "--json"];
    for (what, ability, args, path, wanted) in [
        ("diff", "supports_diff", &run[..], "output_kind", "diff"),
        ("tools", "tools", &probe, "tool_calls/0/verdict", "pass"),
    ] {
        let id = format!("CAP-{provider}-{what}");
        if !declares(ability) {
            checks.skip(&id, "not declared");
        } else if !connected {
            checks.skip(&id, "no server can be asked");
        } else {
            let ended = ground.call(repository, args)?;
            let details = ended.text("tool_calls/0/details");
            let said = format!("{} {details}", ended.short());
            checks.add(&id, ended.text(path) == wanted, said);
        }
    }
    Ok(())
}

/// Who is named is asked, and nobody else: no choice, no fallback, no comparison of cost.
pub(super) fn no_selection(ground: &Ground, checks: &mut Checks<'_>) -> Result<(), GateError> {
    let repository = ground.repository()?;
    let at_nobody = ["--base-url", NOBODY, "mend add", "--json"];
    let task = [&["run", "-p", "lmstudio"], &at_nobody[..]].concat();
    let (ended, changed) = ground.changed_by(&repository, || ground.call(&repository, &task))?;
    checks.add(
        "SEL-A",
        ended.code == Some(5) && changed.is_empty(),
        ended.short(),
    );

    let show = ground.call(&repository, &["evidence", "show", "--json"])?;
    let mut asked: Vec<&str> = Vec::new();
    tools_in(&show.json, &mut asked);
    asked.sort_unstable();
    asked.dedup();
    checks.add("SEL-B", asked == ["lmstudio"], asked.join(", "));

    let unknown = ["run", "-p", "lmstudioo", "mend add"];
    for (id, args) in [("SEL-C", &["run", "mend add"][..]), ("SEL-D", &unknown)] {
        let ended = ground.call(&repository, args)?;
        checks.add(id, ended.code == Some(2), ended.short());
    }
    let help = ground.call(&repository, &["run", "--help"])?.stdout;
    let offers: Vec<&str> = CHOICES.split(' ').filter(|flag| help.contains(flag)).collect();
    checks.add("SEL-E", offers.is_empty() && !help.is_empty(), offers.join(", "));
    Ok(())
}

/// Collects every tool and provider that a document names.
fn tools_in<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match value.as_str() {
                    // A result's `provider` is where it works: `local` or `cloud`.
                    Some("local" | "cloud") => {}
                    Some(text) if ["tool", "provider"].contains(&name.as_str()) => found.push(text),
                    Some(_) => {}
                    None => tools_in(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| tools_in(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
