//! Claims of tools: the kind of their output, their declared capabilities, and that only the named tool is used.
//!
//! Owns: comparing a result with these claims. Never: reaches a server beyond loopback; a check without its server is
//! skipped.

use std::path::Path;

use agentos_schema::{SchemaName, validate_value};
use serde_json::Value;

use super::GateChecks;
use super::ground::{FIX, Ground};
use crate::child::FinishedCall;
use crate::error::GateError;

/// An address on loopback where no server listens: port 9 is reserved for the discard protocol.
const NO_SERVER: &str = "http://127.0.0.1:9/v1";
/// Flags that would let the program choose a provider.
const CHOICES: &str = "--fallback --auto --cheapest --best --route --compare";

/// Checks that `output_kind` is `diff` exactly if the result contains a diff.
pub(super) fn output_kinds(ground: &Ground, checks: &mut GateChecks<'_>) -> Result<(), GateError> {
    let repository = ground.make_repository()?;
    let stale = FIX.replace("    a - b", "    a * b");
    for (id, answer, status, is_diff) in [
        ("OKIND-diff", FIX, "success", true),
        ("OKIND-words", "The function subtracts.\n", "success", false),
        ("OKIND-stale", &stale, "failed", false),
        ("OKIND-junk", "--- hi\n+++ there\n", "failed", false),
        ("OKIND-empty", "", "failed", false),
    ] {
        let file = ground.write_scratch("answer.md", answer)?;
        let run = ["tool", "run", "-p", "replay", "--replay", &file, "x", "--json"];
        let ended = ground.call(&repository, &run)?;
        let problems = find_contradictions(&ended, status, is_diff);
        let said = format!("{}; {}", ended.describe_end(), problems.join("; "));
        checks.add_check(id, problems.is_empty(), said);
    }
    Ok(())
}

/// Returns the contradictions between the fields of a result.
fn find_contradictions(ended: &FinishedCall, status: &str, is_diff: bool) -> Vec<String> {
    let json = &ended.json;
    let violations = validate_value(SchemaName::ToolResult, json)
        .err()
        .unwrap_or_default();
    let mut problems: Vec<String> = violations.iter().map(ToString::to_string).collect();
    let valid = json.pointer("/diff_validation/is_valid").and_then(Value::as_bool) == Some(true);
    let failed = ended.text_at("status") == "failed";
    let rules = [
        (
            (ended.text_at("output_kind") == "diff") == is_diff,
            "`output_kind` does not match the answer",
        ),
        (
            ended.text_at("diff").is_empty() != is_diff,
            "there is an unexpected diff, or an expected diff is missing",
        ),
        (valid == is_diff, "`diff_validation` does not match the answer"),
        (
            ended.text_at("status") == status,
            "`status` is not the expected one",
        ),
        (
            failed == json.get("error_category").is_some(),
            "`error_category` does not match the status",
        ),
        (
            (ended.code == Some(0)) != failed,
            "the exit code does not match the status",
        ),
    ];
    let broken = rules.iter().filter(|(holds, _)| !holds);
    problems.extend(broken.map(|(_, what)| (*what).to_owned()));
    problems
}

/// Tests each capability that a provider declares, if its server can be reached.
pub(super) fn check_capabilities(ground: &Ground, checks: &mut GateChecks<'_>) -> Result<(), GateError> {
    let repository = ground.make_repository()?;
    let list = ground.call(&repository, &["tool", "list", "--json"])?;
    let names = list.texts_at("tools", "/provider");
    checks.add_check("CAP-list", names.len() > 1, names.join(", "));
    names
        .iter()
        .try_for_each(|provider| check_provider(ground, &repository, provider, checks))
}

fn check_provider(
    ground: &Ground,
    repository: &Path,
    provider: &str,
    checks: &mut GateChecks<'_>,
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
    let connected = health.text_at("tools/0/status") == "connected";
    let id = format!("CAP-{provider}-health");
    if declares("supports_health_check") {
        let fits = validate_value(SchemaName::ToolHealth, &health.json).is_ok()
            && health.text_at("tools/0/provider") == provider;
        checks.add_check(
            &id,
            fits && connected == (health.code == Some(0)),
            health.describe_end(),
        );
    } else {
        checks.skip_check(&id, "not declared");
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
            checks.skip_check(&id, "not declared");
        } else if !connected {
            checks.skip_check(&id, "no server can be reached");
        } else {
            let ended = ground.call(repository, args)?;
            let details = ended.text_at("tool_calls/0/details");
            let said = format!("{} {details}", ended.describe_end());
            checks.add_check(&id, ended.text_at(path) == wanted, said);
        }
    }
    Ok(())
}

/// Checks that only the named provider is used: no automatic choice, no fallback, no comparison of cost.
pub(super) fn no_selection(ground: &Ground, checks: &mut GateChecks<'_>) -> Result<(), GateError> {
    let repository = ground.make_repository()?;
    let at_no_server = ["--base-url", NO_SERVER, "fix add", "--json"];
    let task = [&["run", "-p", "lmstudio"], &at_no_server[..]].concat();
    let (ended, changed) = ground.changed_by(&repository, || ground.call(&repository, &task))?;
    checks.add_check(
        "SEL-A",
        ended.code == Some(5) && changed.is_empty(),
        ended.describe_end(),
    );

    let show = ground.call(&repository, &["evidence", "show", "--json"])?;
    let mut asked: Vec<&str> = Vec::new();
    tools_in(&show.json, &mut asked);
    asked.sort_unstable();
    asked.dedup();
    checks.add_check("SEL-B", asked == ["lmstudio"], asked.join(", "));

    let unknown = ["run", "-p", "lmstudioo", "fix add"];
    // A missing name and a misspelt one: guessing the provider in either case would be a selection.
    for (id, args) in [("SEL-C", &["run", "fix add"][..]), ("SEL-D", &unknown)] {
        let ended = ground.call(&repository, args)?;
        checks.add_check(id, ended.code == Some(2), ended.describe_end());
    }
    let help = ground.call(&repository, &["run", "--help"])?.stdout;
    let offers: Vec<&str> = CHOICES.split(' ').filter(|flag| help.contains(flag)).collect();
    checks.add_check("SEL-E", offers.is_empty() && !help.is_empty(), offers.join(", "));
    check_unnamed_pool(ground, &repository, checks)
}

/// A pool that would choose and fail over, if somebody named it.
const POOL: &str = r#"{ "provider": "mine", "adapter": "pool", "pool": { "selector": "cheapest", "members": [
    { "alias": "first", "model": "lmstudio" }, { "alias": "second", "model": "ollama" }, { "alias": "third", "model": "llamacpp" } ] } }"#;

/// Checks that a pool chooses for nobody who does not name it, and that no model takes the place of the one that was named. LM Studio
/// answers `local-model` with any model that it has loaded, so that name must be sent and recorded as it is.
fn check_unnamed_pool(
    ground: &Ground,
    repository: &Path,
    checks: &mut GateChecks<'_>,
) -> Result<(), GateError> {
    ground.write_file(&ground.home().join(".config/agentos/profiles/mine.json"), POOL)?;
    // The pool is valid: else it could choose for nobody anyway.
    let known = ground.call(repository, &["pool", "select", "-p", "mine", "--json"])?;
    let chosen = known.text_at("alias").to_owned();
    checks.add_check("SEL-F", known.code == Some(0) && !chosen.is_empty(), chosen);

    let unnamed = ground.call(repository, &["run", "fix add"])?;
    checks.add_check("SEL-G", unnamed.code == Some(2), unnamed.describe_end());

    for (id, more, model) in [
        ("SEL-H", &[][..], "local-model"),
        ("SEL-I", &["--model", "qwen3-coder"], "qwen3-coder"),
    ] {
        let task = [
            &["run", "-p", "lmstudio", "--base-url", NO_SERVER, "fix add"],
            more,
        ]
        .concat();
        let ended = ground.call(repository, &task)?;
        let show = ground.call(repository, &["evidence", "show", "--json"])?;
        let mut asked: Vec<&str> = Vec::new();
        tools_in(&show.json, &mut asked);
        asked.sort_unstable();
        asked.dedup();
        let recorded = show.json.pointer("/records/0/body/model").and_then(Value::as_str);
        let is_named = asked == ["lmstudio"] && recorded == Some(model);
        let said = format!(
            "{}; {} {}",
            ended.describe_end(),
            asked.join(", "),
            recorded.unwrap_or("no model")
        );
        checks.add_check(id, ended.code == Some(5) && is_named, said);
    }
    // Needs are words about a pool's members. Followed for a named provider, they would be a selection behind the user's back.
    let needs = [
        "run",
        "-p",
        "lmstudio",
        "--require",
        "supports_vision=true",
        "fix add",
    ];
    let (ended, changed) = ground.changed_by(repository, || ground.call(repository, &needs))?;
    let is_refused = ended.code == Some(2) && changed.is_empty();
    checks.add_check("SEL-J", is_refused, ended.describe_end());
    Ok(())
}

/// Collects every tool and provider in a document.
fn tools_in<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match value.as_str() {
                    // The field `provider` of a result is a location, `local` or `cloud`, and not a provider's id.
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
