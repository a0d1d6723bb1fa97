//! Keys and credentials that open nothing, put everywhere a person might put a real one; looked for afterwards.
//!
//! Owns: the canaries and the search. Never: uses a key of anybody's.

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
    // At a vendor's, as far as policy can tell; the name can never be found.
    let nobody = "https://gate.invalid/v1";
    let with_password = format!("https://user:{password}@gate.invalid/v1");
    let environment = [
        ("AGENTOS_OPENAI_API_KEY", key.as_str()),
        ("OPENAI_API_KEY", key.as_str()),
        ("ANTHROPIC_API_KEY", key.as_str()),
    ];
    let mut streams = String::new();
    let calls: [&[&str]; 6] = [
        &["tool", "list", "--json"],
        &["tool", "auth", "status", "--json"],
        &[
            "tool",
            "health",
            "-p",
            "openai",
            "--base-url",
            nobody,
            "--json",
            "-vv",
        ],
        &[
            "tool",
            "run",
            "-p",
            "openai",
            "--base-url",
            nobody,
            "x",
            "--file",
            ".env",
            "--json",
            "-vv",
        ],
        &[
            "tool",
            "health",
            "-p",
            "openai",
            "--base-url",
            &with_password,
            "--json",
        ],
        &["run", "-p", "openai", "--base-url", &with_password, "x", "--json"],
    ];
    for args in calls {
        let said = ground.call_with(&repository, args, "", &environment)?;
        streams.push_str(&said.stdout);
        streams.push_str(&said.stderr);
    }
    ground.give(&repository, &["apply", "-"], FIX)?;

    let token = canary("ghp", "_0a1b");
    let adds = format!("--- /dev/null\n+++ b/src/key.rs\n@@ -0,0 +1 @@\n+let key = \"{token}\";\n");
    let refused = ground.give(&repository, &["apply", "-", "--json"], &adds)?;
    let told = format!("{}{}", refused.stdout, refused.stderr);
    let mut checks = vec![check(
        "CANARY-answer",
        "an answer that adds a credential is denied, and the refusal does not show it",
        refused.code == Some(3) && !told.contains(&token),
        refused.text("/message"),
    )];

    let own = repository.join(".git");
    for (id, name, secret) in [
        ("key", "the key is on no stream and in no file", &key),
        (
            "password",
            "a password in an address is on no stream and in no file",
            &password,
        ),
        ("env-file", "a file of keys is not stored as context", &dotenv),
    ] {
        let mut places: Vec<String> = Vec::new();
        if streams.contains(secret.as_str()) {
            places.push("a stream".to_owned());
        }
        let homes = [ground.home(), own.join("agentos")];
        for folder in homes {
            let stored = witness::containing(&folder, secret.as_bytes())?;
            places.extend(stored.iter().map(|path| path.display().to_string()));
        }
        checks.push(check(
            format!("CANARY-{id}"),
            name,
            places.is_empty(),
            places.join(", "),
        ));
    }
    let log = ground.git(&repository, &["log", "--format=%B"])?;
    let clean = [&key, &password]
        .iter()
        .all(|secret| !log.contains(secret.as_str()));
    checks.push(check("CANARY-commit", "no commit message shows one", clean, ""));
    Ok(checks)
}
