//! The public hostile corpus: outputs that try to break the rule, outputs that are broken, and harmless ones
//! that look suspicious.
//!
//! Owns: the verdict on what is landing's to judge. What only a policy or a work tree can judge is left to the
//! crates that own those. Never: lets a look-alike be refused.

use std::sync::Arc;

use agentos_landing::{Change, FileState, LandError, LandOptions, RepoPath, land, scan_change};
use serde_json::Value;

use crate::memory::{Memory, Tree};

fn read(path: &str) -> Value {
    let path = format!(
        "{}/../../dev/agentos-testkit/fixtures/hostile/{path}",
        env!("CARGO_MANIFEST_DIR")
    );
    serde_json::from_str(&std::fs::read_to_string(&path).expect(&path)).expect("a case")
}

fn fill(text: &str) -> String {
    text.replace("%OUTSIDE%", "/outside")
        .replace("%HOME%", "/home/someone")
        .replace("%PARENT%", "/parent")
        .replace("%REPO%", "/parent/repo")
        .replace("%TOKEN%", "canary")
}

fn content(file: &Value) -> Vec<u8> {
    if let Some(target) = file["target"].as_str() {
        return fill(target).into_bytes();
    }
    if let Some(text) = file["text"].as_str() {
        return fill(text).into_bytes();
    }
    if let Some(lines) = file["lines"].as_array() {
        return lines
            .iter()
            .map(|line| fill(line.as_str().expect("a line")) + "\n")
            .collect::<String>()
            .into_bytes();
    }
    match file["build"].as_array() {
        Some(parts) => build(parts, 0),
        None => base64(file["b64"].as_str().expect("some content")),
    }
}

fn base64(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'a'..=b'z' => u32::from(byte - b'a') + 26,
        b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u32> = text.bytes().filter(|byte| *byte != b'=').map(value).collect();
    digits
        .chunks(4)
        .flat_map(|chunk| {
            let bits = chunk.iter().fold(0, |bits, digit| bits << 6 | digit) << (6 * (4 - chunk.len()));
            bits.to_be_bytes()[1..chunk.len()].to_vec()
        })
        .collect()
}

/// A binary patch that gives this content, as the canonical diff has it.
fn binary_patch(content: &[u8]) -> Vec<u8> {
    let path = RepoPath::new("f").expect("a path");
    let change = Change::new(vec![(path, None, Some(FileState::regular(content)))]).expect("a change");
    let diff = String::from_utf8(change.canonical_diff().to_vec()).expect("ASCII");
    let at = diff.find("GIT binary patch").expect("binary data");
    diff.into_bytes().split_off(at)
}

/// The model's output, from the parts a case gives.
fn build(parts: &[Value], round: u64) -> Vec<u8> {
    let mut out = Vec::new();
    for part in parts {
        if let Some(line) = part.as_str() {
            out.extend_from_slice(fill(line).replace("{i}", &round.to_string()).as_bytes());
            out.push(b'\n');
        } else if let Some(raw) = part["raw"].as_str() {
            out.extend_from_slice(fill(raw).as_bytes());
        } else if let Some(text) = part["b64"].as_str() {
            out.extend(base64(text));
        } else if let Some(text) = part["fill"].as_str() {
            out.extend(
                text.repeat(part["count"].as_u64().expect("a count") as usize)
                    .into_bytes(),
            );
        } else if let Some(rounds) = part["repeat"].as_u64() {
            let start = part["start"].as_u64().unwrap_or(0);
            for round in start..start + rounds {
                out.extend(build(part["of"].as_array().expect("parts"), round));
            }
        } else if let Some(lines) = part["crlf"].as_array() {
            for line in lines {
                out.extend_from_slice(fill(line.as_str().expect("a line")).as_bytes());
                out.extend_from_slice(b"\r\n");
            }
        } else {
            let literal = part["git_binary"]["literal"].as_str().expect("some content");
            out.extend(binary_patch(&base64(literal)));
        }
    }
    out
}

fn base(case: &Value) -> Memory {
    let bases = read("bases.json");
    let mut memory = Memory::default();
    let without: Vec<&str> = case["without"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let files = case["base"]
        .as_str()
        .map(|name| bases[name].as_array().expect("files").clone());
    for file in files
        .into_iter()
        .flatten()
        .chain(case["files"].as_array().cloned().into_iter().flatten())
    {
        let path = file["path"].as_str().expect("a path");
        if !without.contains(&path) {
            memory.put(path, file["mode"].as_str().unwrap_or("100644"), &content(&file));
        }
    }
    memory
}

fn expected(case: &Value, base: &Memory) -> Option<Tree> {
    let result = case["result"].as_object()?;
    let mut tree = base.tree.clone();
    for path in result.get("del").and_then(Value::as_array).into_iter().flatten() {
        tree.remove(path.as_str().expect("a path"));
    }
    for file in result.get("set").and_then(Value::as_array).into_iter().flatten() {
        let mode = file["mode"].as_str().unwrap_or("100644").to_owned();
        let path = file["path"].as_str().expect("a path").to_owned();
        tree.insert(path, (mode, Arc::from(content(file))));
    }
    Some(tree)
}

/// What is not landing's to judge: policy does (`protected-path`, new executables, binary files, links, findings), or the
/// executor.
fn left_to_others(case: &Value) -> bool {
    matches!(case["class"].as_str(), Some("protected-path"))
        || ["mode-exec-default", "mode-symlink-new", "binary-literal"]
            .contains(&case["id"].as_str().expect("an id"))
        || case["worktree_only"] == true
}

#[test]
fn hostile_answers_are_refused_and_harmless_ones_land() {
    let dir = format!(
        "{}/../../dev/agentos-testkit/fixtures/hostile/cases",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .expect("the cases")
        .map(|entry| entry.expect("a case").file_name().into_string().expect("a name"))
        .collect();
    names.sort();
    assert!(names.len() > 50, "the corpus is there");
    let mut failures = Vec::new();
    for name in &names {
        let case = read(&format!("cases/{name}"));
        let base = base(&case);
        let answer = build(case["patch"].as_array().expect("parts"), 0);
        let result = land(&answer, &base, &LandOptions::default());
        let expect = case["expect"].as_str().expect("an expectation");
        let failure = match result {
            Ok(landed) => {
                let found = scan_change(&landed.change);
                let denied = !found.secrets.is_empty() || !found.bidi.is_empty() || !found.nul.is_empty();
                match expect {
                    "reject" if denied || left_to_others(&case) => None,
                    "reject" => Some("landed".to_owned()),
                    _ if denied => Some(format!("{found:?}")),
                    _ => (Some(base.after(&landed.change)) != expected(&case, &base))
                        .then(|| "another tree".to_owned()),
                }
            }
            Err(LandError::Refused(report)) => {
                let refusal = report.refusal.expect("a refusal");
                let code = Value::from(refusal.code.as_str());
                let also = case["also"].as_array().cloned().unwrap_or_default();
                match expect {
                    "accept" => Some(format!("{code}: {refusal}")),
                    "reject" if case["class"] != code && !also.contains(&code) => {
                        Some(format!("{code} where {} is right: {refusal}", case["class"]))
                    }
                    _ => None,
                }
            }
            Err(LandError::Base(error)) => Some(error.to_string()),
        };
        failures.extend(failure.map(|failure| format!("{name}: {failure}")));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
