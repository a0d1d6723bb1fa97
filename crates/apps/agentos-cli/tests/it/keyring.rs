//! Keys in a real keyring: gnome-keyring under a session bus of its own. Skipped, and said so, where one of them is not
//! installed.

use std::process::Stdio;

use agentos_testkit::cli::program;
use serde_json::Value;

use crate::support::{agentos, chat_server};

/// Starts the keyring with a password of its own, then goes through a key's whole life. What the program prints comes
/// out, each answer after a line that names it.
const LIFE: &str = r#"
set -eu
mkdir -p "$XDG_RUNTIME_DIR" && chmod 700 "$XDG_RUNTIME_DIR"
printf 'a test only' | gnome-keyring-daemon --unlock --components=secrets > /dev/null 2>&1
say() { echo "== $1"; }
say set; printf %s "$KEY" | "$AGENTOS" tool auth set --provider openai --json
say status; "$AGENTOS" tool auth status --json
say health; "$AGENTOS" tool health -p openai --base-url "$URL" --model tiny-coder --send-key --json
say clear; "$AGENTOS" tool auth clear --provider openai --json
say gone; "$AGENTOS" tool auth status --json
"#;

#[test]
fn a_real_keyring_keeps_gives_and_forgets_keys_of_any_length() {
    for (needed, flag) in [
        ("dbus-run-session", "--version"),
        ("gnome-keyring-daemon", "--version"),
    ] {
        if program(needed).arg(flag).output().is_err() {
            eprintln!("skipped: keys in a real keyring, since `{needed}` is not installed");
            return;
        }
    }
    let long = format!("sk-{}WXYZ", "0123456789abcdef".repeat(500));
    for key in ["sk-test-0123456789abcdefWXYZ", &long] {
        let server = chat_server("ok", || {});
        let cli = agentos();
        let output = program("dbus-run-session")
            .args(["--", "sh", "-c", LIFE])
            .current_dir(cli.home())
            .env_clear()
            .envs(cli.world())
            .env("AGENTOS", env!("CARGO_BIN_EXE_agentos"))
            .env("KEY", key)
            .env("URL", format!("{}/v1", server.url()))
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{text}\n{error}");
        assert!(!text.contains(key) && !error.contains(key));
        let answer = |name: &str| -> Value {
            let (_, after) = text.split_once(&format!("== {name}\n")).unwrap();
            let document = after.split("== ").next().unwrap();
            serde_json::from_str(document).unwrap()
        };
        assert_eq!(answer("set")["stored"], true);
        let status = answer("status");
        assert_eq!(status["keys"]["openai"]["source"], "keyring", "{status}");
        assert_eq!(status["keys"]["openai"]["hint"], "WXYZ");
        assert_eq!(answer("health")["tools"][0]["status"], "connected");
        let bearer = format!("Bearer {key}");
        let requests = server.requests();
        assert!(!requests.is_empty());
        for request in requests {
            assert_eq!(request.header("authorization"), Some(bearer.as_str()));
        }
        assert_eq!(answer("gone")["keys"]["openai"]["source"], Value::Null);
        // Nothing of it lies in the home folder in clear text, the keyring's own file included.
        let mut folders = vec![cli.home().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                let kind = entry.file_type().unwrap();
                if kind.is_dir() {
                    folders.push(entry.path());
                } else if kind.is_file() {
                    let bytes = std::fs::read(entry.path()).unwrap();
                    let needle = key.as_bytes();
                    assert!(
                        !bytes.windows(needle.len()).any(|part| part == needle),
                        "{}",
                        entry.path().display()
                    );
                }
            }
        }
    }
}
