//! Keys and credentials that open nothing, put everywhere a person might put a real one; looked for afterwards.
//!
//! Owns: the canaries and the search. Never: uses a key of anybody's.

use std::path::Path;

use super::check;
use super::ground::{FIX, Ground};
use crate::error::GateError;
use crate::results::Check;
use crate::witness;

/// Put together here, so that no key-shaped text is in this file.
fn canary(begin: &str, of: &str) -> String {
    format!("{begin}{of}Zq7RkT2mWx9LpB4vNs6JdH8fGc3YtE5a")
}

/// No canary on a stream, in a stored file or in a commit.
pub(super) fn searched(ground: &Ground) -> Result<Vec<Check>, GateError> {
    let key = canary("sk-", "proj-gate");
    let password = canary("", "pw");
    let dotenv = canary("", "env");
    let repository = ground.repository()?;
    ground.put(&repository, ".env", format!("SECRET_TOKEN={dotenv}\n"))?;
    witness::commit_all(&repository, "settings")?;
    let streams = streams_of(ground, &repository, &key, &password)?;
    ground.give(&repository, &["apply", "-"], FIX)?;
    let mut checks = vec![answer(ground, &repository)?];
    for (id, name, secret) in [
        ("key", "the key is on no stream and in no file", &key),
        (
            "password",
            "a password in an address is on no stream and in no file",
            &password,
        ),
        ("env-file", "a file of keys is not stored as context", &dotenv),
    ] {
        let places = places(ground, &repository, &streams, secret)?;
        let found = places.join(", ");
        checks.push(check(format!("CANARY-{id}"), name, places.is_empty(), found));
    }
    let log = ground.git(&repository, &["log", "--format=%B"])?;
    let clean = [&key, &password]
        .iter()
        .all(|secret| !log.contains(secret.as_str()));
    checks.push(check("CANARY-commit", "no commit message shows one", clean, ""));
    Ok(checks)
}

/// What the verbs say that are given keys, a file of keys, and an address with a password.
fn streams_of(ground: &Ground, repository: &Path, key: &str, password: &str) -> Result<String, GateError> {
    // At a vendor's, as far as policy can tell; the name can never be found.
    let at_vendor = [
        "-p",
        "openai",
        "--base-url",
        "https://gate.invalid/v1",
        "--json",
        "-vv",
    ];
    let with_password = format!("https://user:{password}@gate.invalid/v1");
    let with_password = ["-p", "openai", "--base-url", &with_password, "--json"];
    let calls = [
        [&["tool", "list", "--json"][..], &[]],
        [&["tool", "auth", "status", "--json"], &[]],
        [&["tool", "health"], &at_vendor],
        [&["tool", "run", "x", "--file", ".env"], &at_vendor],
        [&["tool", "health"], &with_password],
        [&["run", "x"], &with_password],
    ];
    let environment =
        ["AGENTOS_OPENAI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"].map(|name| (name, key));
    let mut streams = String::new();
    for call in calls {
        let said = ground.call_with(repository, &call.concat(), "", &environment)?;
        streams.push_str(&said.stdout);
        streams.push_str(&said.stderr);
    }
    Ok(streams)
}

fn answer(ground: &Ground, repository: &Path) -> Result<Check, GateError> {
    let token = canary("ghp", "_0a1b");
    let adds = format!("--- /dev/null\n+++ b/src/key.rs\n@@ -0,0 +1 @@\n+let key = \"{token}\";\n");
    let refused = ground.give(repository, &["apply", "-", "--json"], &adds)?;
    let told = format!("{}{}", refused.stdout, refused.stderr);
    Ok(check(
        "CANARY-answer",
        "an answer that adds a credential is denied, and the refusal does not show it",
        refused.code == Some(3) && !told.contains(&token),
        refused.text("/message"),
    ))
}

/// Where a secret is.
fn places(ground: &Ground, repository: &Path, streams: &str, secret: &str) -> Result<Vec<String>, GateError> {
    let mut places = Vec::new();
    if streams.contains(secret) {
        places.push("a stream".to_owned());
    }
    for folder in [ground.home(), repository.join(".git/agentos")] {
        let stored = witness::containing(&folder, secret.as_bytes())?;
        places.extend(stored.iter().map(|path| path.display().to_string()));
    }
    Ok(places)
}
