//! Invented keys and credentials in every place where a person might have a real one, and a search for them afterwards.
//!
//! Owns: the invented secrets and the search. Never: uses a real key.

use std::path::Path;

use super::GateChecks;
use super::ground::{FIX, Ground};
use crate::error::GateError;
use crate::witness;

/// Composes an invented secret, so that no text of this file looks like a key.
fn compose_secret(begin: &str, of: &str) -> String {
    format!("{begin}{of}Zq7RkT2mWx9LpB4vNs6JdH8fGc3YtE5a")
}

/// Checks that no invented secret appears on a stream, in a stored file or in a commit.
pub(super) fn check_canaries(ground: &Ground, checks: &mut GateChecks<'_>) -> Result<(), GateError> {
    let [key, password, dotenv] =
        [("sk-", "proj-gate"), ("", "pw"), ("", "env")].map(|(begin, of)| compose_secret(begin, of));
    let repository = ground.make_repository()?;
    ground.write_file(&repository.join(".env"), format!("SECRET_TOKEN={dotenv}\n"))?;
    witness::commit_all(&repository, "settings")?;
    let streams = streams_of(ground, &repository, &key, &password)?;
    ground.call_with_input(&repository, &["apply", "-"], FIX)?;
    check_answer(ground, &repository, checks)?;
    for (id, secret) in [
        ("CANARY-key", &key),
        ("CANARY-password", &password),
        ("CANARY-env-file", &dotenv),
    ] {
        let places = find_secret(ground, &repository, &streams, secret)?;
        checks.add_check(id, places.is_empty(), places.join(", "));
    }
    let log = ground.run_git(&repository, &["log", "--format=%B"])?;
    checks.add_check(
        "CANARY-commit",
        ![key, password].iter().any(|secret| log.contains(secret)),
        "",
    );
    Ok(())
}

/// Returns the output of commands that get keys, a file with a key, and an address with a password.
fn streams_of(ground: &Ground, repository: &Path, key: &str, password: &str) -> Result<String, GateError> {
    // For policy this is a vendor's server, but `.invalid` never resolves (RFC 2606), so nothing is sent.
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
    let variables = ["AGENTOS_OPENAI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"].map(|name| (name, key));
    let mut streams = String::new();
    for call in calls {
        let ended = ground.call_with(repository, &call.concat(), "", &variables)?;
        streams.push_str(&(ended.stdout + &ended.stderr));
    }
    Ok(streams)
}

/// Checks that a secret in a refused answer is not shown.
fn check_answer(ground: &Ground, repository: &Path, checks: &mut GateChecks<'_>) -> Result<(), GateError> {
    let token = compose_secret("ghp", "_0a1b");
    let adds = format!("--- /dev/null\n+++ b/src/key.rs\n@@ -0,0 +1 @@\n+let key = \"{token}\";\n");
    let refused = ground.call_with_input(repository, &["apply", "-", "--json"], &adds)?;
    let is_shown = refused.stdout.contains(&token) || refused.stderr.contains(&token);
    checks.add_check(
        "CANARY-answer",
        refused.code == Some(3) && !is_shown,
        refused.text_at("message"),
    );
    Ok(())
}

/// Returns the places in which a secret appears.
fn find_secret(
    ground: &Ground,
    repository: &Path,
    streams: &str,
    secret: &str,
) -> Result<Vec<String>, GateError> {
    let mut places: Vec<String> = streams
        .contains(secret)
        .then(|| "a stream".to_owned())
        .into_iter()
        .collect();
    for folder in [ground.home(), repository.join(".git/agentos")] {
        let stored = witness::files_containing(&folder, secret.as_bytes())?;
        places.extend(stored.iter().map(|path| path.display().to_string()));
    }
    Ok(places)
}
