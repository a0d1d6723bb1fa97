//! A program that behaves like `agentos` as far as a gate can see, and misbehaves on demand.
//!
//! Owns: a shell script that prints prepared JSON. Never: judges.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The right answer to the task for a diff, in the canonical form.
pub const DIFF: &str = "diff --git a/src/lib.rs b/src/lib.rs\n--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,3 +1,3 @@\n \
    pub fn add(a: i32, b: i32) -> i32 {\n-    a - b\n+    a + b\n }\n";
/// SHA-256 of [`DIFF`].
const DIFF_SHA256: &str = "7e56600424fa62f5751e3e97ed73a371a16e7dc70c33d6cd522d97ae1b1c437a";

/// One gate run over a stand-in.
pub struct StandIn {
    folder: TempDir,
    health: Value,
    words: Value,
    diff: Value,
    misdeed: String,
    mode: &'static str,
    args: Vec<OsString>,
    /// Exit codes of health, the smallest task and the task for a diff, where they shall not be true.
    codes: [Option<u8>; 3],
    key: Option<&'static str>,
    stored_key: bool,
}

impl StandIn {
    /// One that behaves.
    pub fn new() -> Self {
        let health = json!({
            "provider": "lmstudio", "status": "connected", "details": "1 model is loaded",
            "endpoint": "127.0.0.1:1234", "models": ["tiny"], "latency_ms": 3,
            "checked_at": "2026-11-21T09:14:00.000Z",
        });
        let mut words = result();
        words["output_kind"] = json!("explanation");
        words["diff_validation"] = json!({
            "is_valid": false, "code": "no-diff", "errors": ["the answer holds no diff"], "warnings": [], "hunks": 0,
        });
        for field in ["diff", "diff_sha256"] {
            words.as_object_mut().unwrap().remove(field);
        }
        Self {
            folder: TempDir::new().unwrap(),
            health,
            words,
            diff: result(),
            misdeed: String::new(),
            mode: "1",
            args: Vec::new(),
            codes: [None; 3],
            key: None,
            stored_key: false,
        }
    }

    /// The exit codes of `tool health`, the smallest task and the task for a diff; none leaves the true one.
    pub fn codes(mut self, codes: [Option<u8>; 3]) -> Self {
        self.codes = codes;
        self
    }

    /// The key that the person who starts the gate has set.
    pub fn key(mut self, key: &'static str) -> Self {
        self.key = Some(key);
        self
    }

    /// The program says that it has a key of its own for the provider.
    pub fn stored_key(mut self) -> Self {
        self.stored_key = true;
        self
    }

    /// Changes what it says of the server.
    pub fn health(mut self, change: impl FnOnce(&mut Value)) -> Self {
        change(&mut self.health);
        self
    }

    /// Changes its answer to the smallest task.
    pub fn words(mut self, change: impl FnOnce(&mut Value)) -> Self {
        change(&mut self.words);
        self
    }

    /// Changes its answer to the task for a diff.
    pub fn diff(mut self, change: impl FnOnce(&mut Value)) -> Self {
        change(&mut self.diff);
        self
    }

    /// Shell commands that each `tool run` does besides, in the repository.
    pub fn misdeed(mut self, commands: &str) -> Self {
        commands.clone_into(&mut self.misdeed);
        self
    }

    /// The value of `AGENTOS_GATE_MODE`.
    pub fn mode(mut self, mode: &'static str) -> Self {
        self.mode = mode;
        self
    }

    /// One more argument of the gate.
    pub fn arg(mut self, arg: &str) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Where the evidence is.
    pub fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    /// Runs the gate.
    pub fn run(&self) -> Output {
        let program = self.program();
        Command::new(env!("CARGO_BIN_EXE_gate"))
            .arg("tl_r2_lmstudio")
            .arg("--agentos")
            .arg(program)
            .arg("--out")
            .arg(self.out())
            .args(&self.args)
            .env("AGENTOS_GATE_MODE", self.mode)
            .env_remove("AGENTOS_LMSTUDIO_API_KEY")
            .envs(self.key.map(|key| ("AGENTOS_LMSTUDIO_API_KEY", key)))
            .output()
            .unwrap()
    }

    /// Runs the gate and reads its verdict.
    pub fn verdict(&self) -> Value {
        let output = self.run();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
        read(&self.out().join("reports/gate_results.json"))
    }

    /// The verdict of one run as one letter a check, and the exit code.
    pub fn judged(&self) -> (String, Option<i32>) {
        let code = self.run().status.code();
        (
            letters(&read(&self.out().join("reports/gate_results.json"))),
            code,
        )
    }

    /// The verdict as one letter a check.
    pub fn letters(&self) -> String {
        self.judged().0
    }

    fn program(&self) -> PathBuf {
        let folder = self.folder.path();
        let print = |name: &str, text: &Value| {
            let file = folder.join(name);
            std::fs::write(&file, text.to_string()).unwrap();
            format!("cat '{}'", file.display())
        };
        let health = print("health.json", &json!({"version": 1, "tools": [self.health]}));
        let words = print("words.json", &self.words);
        let diff = print("diff.json", &self.diff);
        let source = self.stored_key.then_some("keyring");
        let key = json!({"version": 1, "keys": {"lmstudio": {"source": source, "withheld": null}}});
        let key = print("key.json", &key);
        let [on_health, on_words, on_diff] = self.codes;
        let on_health = on_health.unwrap_or(if self.health["status"] == "connected" {
            0
        } else {
            5
        });
        let of_result = |value: &Value| if value["status"] == "failed" { 6 } else { 0 };
        let on_words = on_words.unwrap_or(of_result(&self.words));
        let on_diff = on_diff.unwrap_or(of_result(&self.diff));
        let misdeed = &self.misdeed;
        let script = format!(
            "#!/bin/sh\ncase \"$1 $2 $5\" in\n'tool auth '*) {key} ;;\n\
             'tool health '*) {health}\n exit {on_health} ;;\n\
             *\"Say 'ok'.\") {misdeed}\n {words}\n exit {on_words} ;;\n\
             *) {misdeed}\n {diff}\n exit {on_diff} ;;\nesac\n"
        );
        let program = folder.join("agentos");
        std::fs::write(&program, script).unwrap();
        assert!(
            Command::new("chmod")
                .arg("+x")
                .arg(&program)
                .status()
                .unwrap()
                .success()
        );
        program
    }
}

fn result() -> Value {
    let state = json!({"head": "main 1", "refs": "r", "index": "i", "worktree": "w", "git_files": "g"});
    json!({
        "tool": "lmstudio", "status": "success", "output_kind": "diff", "diff": DIFF, "diff_sha256": DIFF_SHA256,
        "files_touched": ["src/lib.rs"], "line_count": 2, "tool_run_id": "20261121T091400Z-1a2b3c4d.1",
        "task_id": "20261121T091400Z-1a2b3c4d", "timestamp": "2026-11-21T09:14:00.000Z", "model_id": "tiny",
        "provider": "local", "endpoint": "127.0.0.1:1234", "latency_ms": 5,
        "diff_validation": {"is_valid": true, "errors": [], "warnings": [], "hunks": 1},
        "boundary": {
            "enforcement": "observed", "before": state, "after": state, "violations": [], "wrote_files": false,
            "committed": false,
        },
        "wrote_files": false, "committed": false,
    })
}

/// One letter a check, A to E, as in `PPFPS`: passed, failed or skipped.
pub fn letters(verdict: &Value) -> String {
    let checks = verdict["checks"].as_array().unwrap();
    let letter = |check: &Value| check["status"].as_str().unwrap().chars().next().unwrap();
    checks.iter().map(letter).collect::<String>().to_uppercase()
}

/// Reads a report.
pub fn read(file: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}
