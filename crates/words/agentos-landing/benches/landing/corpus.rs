//! The public landing corpus as cases to measure.
//!
//! Owns: reading it. Never: scores; tests do.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use crate::edits::Case;
use agentos_landing::MemoryBase;

/// Every input of the corpus with its base. Empty when the corpus cannot be read.
pub fn cases() -> Vec<Case> {
    let blobs: HashMap<String, String> = rows("blobs.jsonl")
        .iter()
        .filter_map(|row| Some((text(row, "sha")?, text(row, "text")?)))
        .collect();
    let bases: HashMap<String, Value> = rows("bases.jsonl")
        .into_iter()
        .filter_map(|row| Some((text(&row, "id")?, row.get("base")?.clone())))
        .collect();
    rows("inputs.jsonl")
        .iter()
        .filter_map(|row| {
            Some(Case {
                base: base(bases.get(&text(row, "base_id")?)?, &blobs)?,
                answer: text(row, "input")?.into_bytes(),
            })
        })
        .collect()
}

fn base(files: &Value, blobs: &HashMap<String, String>) -> Option<MemoryBase> {
    let mut base = MemoryBase::default();
    for (path, entry) in files.as_object()? {
        let content = blobs.get(entry.get(1)?.as_str()?)?;
        base.put(path, Arc::from(content.as_bytes()));
    }
    Some(base)
}

fn text(row: &Value, name: &str) -> Option<String> {
    Some(row.get(name)?.as_str()?.to_owned())
}

fn rows(name: &str) -> Vec<Value> {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../dev/agentos-testkit/fixtures/landing"
    );
    let text = std::fs::read_to_string(format!("{folder}/{name}")).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}
