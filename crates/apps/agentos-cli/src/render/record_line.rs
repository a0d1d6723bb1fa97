//! One record of a tape in one line.
//!
//! Owns: the selection of facts from a record. Never: relies on a record's shape; a missing fact is omitted.

use agentos_api::normalize_code;
use agentos_host::{Record, RecordKind};
use serde_json::Value;

use crate::escape;
use crate::printer::style;

/// Returns a record's content in one line, with its style.
pub fn describe_record(record: &Record) -> (&'static str, String) {
    let body = &record.body;
    let text = |pointer: &str| {
        body.pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let short = |pointer: &str| {
        text(pointer)
            // Ten digits identify an object within a repository and fit on the line; the JSON has all of them.
            .trim_start_matches("sha256:")
            .chars()
            .take(10)
            .collect::<String>()
    };
    match record.kind {
        RecordKind::Task => (
            style::BOLD,
            format!(
                "{} by {} on {}: {}",
                text("/verb"),
                text("/provider"),
                branch_name(&text("/target/refname")),
                text("/instruction")
            ),
        ),
        RecordKind::Attempt => (
            style::BOLD,
            format!(
                "attempt {}, shown: {}",
                number_at(body, "/attempt"),
                names_at(body, "/context")
            ),
        ),
        RecordKind::Answer => (
            style::BOLD,
            format!(
                "{} bytes, blob {}",
                number_at(body, "/bytes"),
                short("/answer_sha256")
            ),
        ),
        RecordKind::ToolResult => (style::BOLD, describe_call(body)),
        RecordKind::Boundary => (style::BOLD, String::new()),
        RecordKind::Landing => describe_landing(body),
        RecordKind::Check => describe_check(body),
        RecordKind::Decision => (style::BOLD, describe_decision(body)),
        RecordKind::Consent => {
            let given = body.pointer("/given").and_then(Value::as_bool) == Some(true);
            let device = text("/device/name");
            let words = if given && !device.is_empty() {
                format!(
                    "{} {} the device {device}",
                    text("/consent/who"),
                    text("/device/standing")
                )
            } else if given {
                format!("given by {} ({})", text("/consent/who"), text("/consent/how"))
            } else {
                "not given".to_owned()
            };
            (if given { style::GOOD } else { style::WARN }, words)
        }
        RecordKind::Intent => (
            style::BOLD,
            format!("about to write tree {}", short("/plan/tree")),
        ),
        RecordKind::Receipt => (style::GOOD, describe_receipt(body)),
        RecordKind::Refusal => (
            style::BAD,
            format!("{} [{}] {}", text("/outcome"), text("/code"), text("/message")),
        ),
        RecordKind::Undo => (style::BOLD, format!("undoes run {}", text("/undone"))),
        RecordKind::Recovered => (style::WARN, body.to_string()),
        RecordKind::Checkpoint => (style::DIM, describe_checkpoint(body)),
        RecordKind::Turn => (style::BOLD, describe_turn(body)),
        RecordKind::Session => (style::DIM, format!("{} {}", text("/session"), text("/event"))),
        RecordKind::Removed => {
            let blobs = body.pointer("/blobs").and_then(Value::as_array);
            (
                style::WARN,
                format!("{} texts removed", blobs.map_or(0, Vec::len)),
            )
        }
    }
}

/// Describes a turn by its session, the model that answered last, and its end.
fn describe_turn(body: &Value) -> String {
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
    let calls = body.pointer("/calls").and_then(Value::as_array);
    let last = calls.and_then(|calls| calls.last());
    let model = last.and_then(|call| call.get("model_id").or(call.get("model"))?.as_str());
    let provider = last.and_then(|call| call.get("provider")?.as_str());
    [text("/session"), provider, model, text("/end/end")]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ")
}

fn describe_checkpoint(body: &Value) -> String {
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
    match (text("/envelopes/0/signatures/0/keyid"), text("/unsigned")) {
        (Some(key), _) => format!("signed by {key}"),
        (None, Some(why)) => format!("not signed: {why}"),
        (None, None) => "not signed".to_owned(),
    }
}

fn branch_name(refname: &str) -> String {
    refname.strip_prefix("refs/heads/").unwrap_or(refname).to_owned()
}

fn number_at(body: &Value, pointer: &str) -> u64 {
    body.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
}

fn names_at(body: &Value, pointer: &str) -> String {
    let names: Vec<&str> = body
        .pointer(pointer)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if names.is_empty() {
        "no files".to_owned()
    } else {
        names.join(", ")
    }
}

fn describe_call(body: &Value) -> String {
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let mut words = format!(
        "{} from {} {}",
        text("/result/status"),
        text("/result/tool"),
        text("/result/model_id")
    );
    if let Some(message) = body.pointer("/result/error_message").and_then(Value::as_str) {
        words.push_str(&format!(": {message}"));
    }
    let changed = |pointer: &str| body.pointer(pointer).and_then(Value::as_bool) == Some(true);
    words.push_str(
        match (changed("/result/wrote_files"), changed("/result/committed")) {
            (false, false) => "; the repository was untouched",
            (true, false) => "; FILES WERE WRITTEN during the call",
            (false, true) => "; A REF MOVED during the call",
            (true, true) => "; FILES WERE WRITTEN AND A REF MOVED during the call",
        },
    );
    words
}

fn describe_landing(body: &Value) -> (&'static str, String) {
    match body.pointer("/report/refusal") {
        // Earlier versions recorded codes with underscores, which `normalize_code` translates.
        Some(refusal) if !refusal.is_null() => {
            let text = |name: &str| refusal.get(name).and_then(Value::as_str).unwrap_or_default();
            (
                style::BAD,
                format!("refused [{}] {}", normalize_code(text("code")), text("message")),
            )
        }
        Some(_) | None => {
            let files = body
                .pointer("/report/files")
                .and_then(Value::as_array)
                .map_or(0, Vec::len);
            let rungs: Vec<String> = body
                .pointer("/report/files")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(|file| file.get("hunks").and_then(Value::as_array))
                .flatten()
                .filter_map(|hunk| hunk.get("rung").and_then(Value::as_str))
                // A large change has hundreds of hunks. The first rungs show whether edits were exact; the report has
                // them all.
                .take(6)
                .map(str::to_owned)
                .collect();
            let noun = if files == 1 { "file" } else { "files" };
            (
                style::GOOD,
                format!("{files} {noun} found ({})", rungs.join(", ")),
            )
        }
    }
}

fn describe_check(body: &Value) -> (&'static str, String) {
    let command = body
        .pointer("/command")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let code = body.pointer("/code").and_then(Value::as_u64);
    let is_base = body.pointer("/diff_sha256").is_none_or(Value::is_null);
    if let Some(hook) = body.pointer("/hook").and_then(Value::as_str) {
        let is_passed = body.pointer("/passed").and_then(Value::as_bool) == Some(true);
        let colour = if is_passed { style::GOOD } else { style::BAD };
        let hook = escape::line(hook);
        return match (is_passed, code) {
            (true, _) => (colour, format!("the hook `{hook}` passes")),
            (false, Some(0)) => (
                colour,
                format!("the hook `{hook}` changed something, which was not taken"),
            ),
            (false, Some(code)) => (colour, format!("the hook `{hook}` ended with exit code {code}")),
            (false, None) => (colour, format!("the hook `{hook}` did not finish in time")),
        };
    }
    let without = if is_base { " without the change" } else { "" };
    match (body.pointer("/passed").and_then(Value::as_bool), code) {
        (Some(true), _) if is_base => (style::DIM, format!("`{command}` passes without the change")),
        (Some(true), _) => (style::GOOD, format!("the change passes `{command}`")),
        (_, Some(code)) => (
            style::BAD,
            format!("`{command}` ended with exit code {code}{without}"),
        ),
        (_, None) => (style::BAD, format!("`{command}` did not finish in time{without}")),
    }
}

fn describe_decision(body: &Value) -> String {
    let effect = body
        .pointer("/decision/effect")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let reasons = body.pointer("/decision/reasons").and_then(Value::as_array);
    let mut rules: Vec<&str> = Vec::new();
    for reason in reasons.into_iter().flatten() {
        let text = |name: &str| reason.get(name).and_then(Value::as_str).unwrap_or_default();
        if text("effect") == effect && !rules.contains(&text("rule")) {
            rules.push(text("rule"));
        }
    }
    if rules.is_empty() {
        format!("{effect}: no rule allows it")
    } else {
        format!("{effect} by {}", rules.join(", "))
    }
}

fn describe_receipt(body: &Value) -> String {
    let short = |pointer: &str| {
        body.pointer(pointer)
            .and_then(Value::as_str)
            .map(|id| id.chars().take(10).collect::<String>())
    };
    let tree = short("/tree").unwrap_or_default();
    match short("/commit") {
        Some(commit) => format!("commit {commit}, tree {tree}"),
        None => format!("tree {tree}, no commit"),
    }
}
