//! Values of the wrong type, everywhere that something is read: refused in words, never a crash, never taken.
//!
//! Owns: the wrong values. Never: judges how an error reads; the snapshots of the program do.

use super::check;
use super::ground::{FIX, Ground};
use crate::error::GateError;
use crate::results::Check;

const EDITS: &[&str] = &[
    "{\"edits\":\"src/lib.rs\"}",
    "{\"edits\":[1]}",
    "{\"edits\":[null]}",
    "{\"edits\":{\"path\":\"src/lib.rs\"}}",
    "{\"edits\":[{\"path\":1,\"search\":[],\"replace\":{}}]}",
    "{\"edits\":[{\"path\":[\"src/lib.rs\"],\"search\":\"a - b\",\"replace\":\"a + b\"}]}",
    "{\"edits\":[{\"path\":\"src/lib.rs\",\"search\":null,\"replace\":\"x\"}]}",
];

const POLICIES: &[&str] = &[
    "version = \"1\"\n",
    "version = 1\nrule = 3\n",
    "version = 1\nrule = [3]\n",
    "version = 1\n[[rule]]\nid = 3\neffect = \"deny\"\nwhy = \"w\"\n",
    "version = 1\n[[rule]]\nid = \"r\"\neffect = true\nwhy = \"w\"\n",
    "version = 1\n[[rule]]\nid = \"r\"\neffect = \"deny\"\nwhy = [\"w\"]\n",
    "version = 1\n[[rule]]\nid = \"r\"\neffect = \"deny\"\nwhy = \"w\"\npaths = { a = 1 }\n",
    "version = 1\n[[rule]]\nid = \"r\"\neffect = \"deny\"\nwhy = \"w\"\npaths = [1]\n",
    "version = 1\n[[rule]]\nid = \"r\"\neffect = \"deny\"\nwhy = \"w\"\nmax_files = \"many\"\n",
    "\u{0}\u{1}",
];

const PROFILES: &[&str] = &[
    "[]",
    "null",
    "{\"provider\":3}",
    "{\"provider\":\"x\",\"adapter\":[],\"base_url\":\"http://localhost:1\"}",
    "{\"provider\":\"x\",\"adapter\":\"openai\",\"base_url\":7}",
    "{\"provider\":\"x\",\"adapter\":\"openai\",\"base_url\":\"http://localhost:1\",\"timeout_seconds\":\"soon\"}",
    "{\"provider\":\"x\",\"adapter\":\"openai\",\"base_url\":\"http://localhost:1\",\"capabilities\":[true]}",
];

const LINES: &[&str] = &[
    "[]",
    "null",
    "7",
    "\"x\"",
    "{}",
    "{\"v\":\"1\",\"seq\":\"0\"}",
    "{\"v\":1,\"seq\":-1}",
];

/// Every reader is given every wrong value.
pub(super) fn robustness(ground: &Ground) -> Result<Vec<Check>, GateError> {
    let repository = ground.repository()?;
    let mut checks = Vec::new();
    let deep = format!("{{\"edits\":{}{}}}", "[".repeat(5_000), "]".repeat(5_000));
    for (number, edits) in EDITS.iter().copied().chain([deep.as_str()]).enumerate() {
        let call = || ground.give(&repository, &["apply", "-", "--json"], edits);
        let (said, changed) = ground.changed_by(&repository, call)?;
        let held = said.code == Some(6) && changed.is_empty() && !said.broke();
        checks.push(check(
            format!("TYPE-edits-{number}"),
            "wrong types in edits",
            held,
            said.short(),
        ));
    }
    for (number, policy) in POLICIES.iter().enumerate() {
        let file = ground.put(ground.scratch(), "wrong.toml", policy)?;
        let file = file.to_string_lossy();
        let args = ["apply", "-", "--policy", &file, "--json"];
        let (said, changed) = ground.changed_by(&repository, || ground.give(&repository, &args, FIX))?;
        let held = said.code == Some(3) && changed.is_empty() && !said.broke();
        checks.push(check(
            format!("TYPE-policy-{number}"),
            "wrong types in a policy",
            held,
            said.short(),
        ));
    }
    for (number, profile) in PROFILES.iter().enumerate() {
        let file = ground.put(&ground.home().join(".config/agentos/profiles"), "x.json", profile)?;
        let said = ground.call(&repository, &["profile", "show", "x", "--json"])?;
        std::fs::remove_file(&file).map_err(GateError::file(&file))?;
        let held = said.code != Some(0) && !said.broke();
        checks.push(check(
            format!("TYPE-profile-{number}"),
            "wrong types in a profile",
            held,
            said.short(),
        ));
    }
    ground.give(&repository, &["apply", "-"], FIX)?;
    let tape = repository.join(".git/agentos/tape.jsonl");
    let good = std::fs::read_to_string(&tape).map_err(GateError::file(&tape))?;
    for (number, line) in LINES.iter().enumerate() {
        let rest = good.split_once('\n').map_or("", |(_, rest)| rest);
        std::fs::write(&tape, format!("{line}\n{rest}")).map_err(GateError::file(&tape))?;
        let said = ground.call(&repository, &["evidence", "verify", "--json"])?;
        let held = said.code == Some(7) && !said.broke();
        checks.push(check(
            format!("TYPE-tape-{number}"),
            "wrong types on the tape",
            held,
            said.short(),
        ));
    }
    Ok(checks)
}
