//! Answers that may not land, whoever gives them: each is a run of its own that would write to the repository.
//!
//! Owns: the calls and what must come of them. Never: consents.

use serde_json::Value;

use super::runs::{Program, Said};
use crate::error::GateError;

/// What came of one run: id, whether it was held, what was seen.
type Seen = (&'static str, bool, String);

/// A profile of the user's own that names the rogue as an agent of the Agent Client Protocol.
pub(super) const PROFILE: &str = "rogue-acp";

impl Program<'_> {
    /// Every answer, and a sandbox inside the sandbox.
    pub(super) fn answers(&self) -> Result<Vec<Seen>, GateError> {
        let mut seen = Vec::new();
        for (id, outcome, code) in [
            ("policy-in-the-copy", "consent-needed", "protected-path"),
            ("agent-settings", "consent-needed", "protected-path"),
            ("ci-workflow", "consent-needed", "protected-path"),
            ("denied-by-rule", "denied", "secret"),
            ("link-in-the-answer", "refused", "mode-change"),
        ] {
            let python = self.python.to_string_lossy();
            let command = [python.as_ref(), "rogue.py", "rogue.json", id];
            let fixed = ["run", "-p", "command", "--json", "--"];
            let said = self.call(&[&fixed[..], &command].concat())?;
            seen.push(judged(id, (outcome, code), &said));
        }
        let said = self.speaking("patch-outside")?;
        seen.push(judged("patch-outside", ("refused", "path-escape"), &said));
        let said = self.call(&["run", "-p", PROFILE, "--json", "write"])?;
        // It left its own folder as it was: what it wrote elsewhere is not there, and its client wrote nothing.
        seen.push(judged("acp-direct-write", ("nothing-to-do", "empty"), &said));
        seen.push(self.inside_itself()?);
        Ok(seen)
    }

    /// A tool has no copy: it is started where it lies.
    fn speaking(&self, name: &str) -> Result<Said, GateError> {
        let place = |file: &str| self.ground.repository().join(file).display().to_string();
        let (python, script, config) = (
            self.python.to_string_lossy(),
            place("rogue.py"),
            place("rogue.json"),
        );
        let fixed = ["run", "-p", "tool", "--json", "write outside", "--"];
        let command = [python.as_ref(), &script, &config, name];
        self.call(&[&fixed[..], &command].concat())
    }

    /// Inside the sandbox there is none to be had: the product refuses, and says which layer and what to do.
    fn inside_itself(&self) -> Result<Seen, GateError> {
        let agentos = self.agentos.display().to_string();
        let script = "\"$0\" tool run -p command -- true >said 2>&1; echo \"code $?\" >>said";
        let fixed = ["tool", "run", "-p", "command", "--json", "--read", &agentos];
        let command = ["--", "sh", "-c", script, &agentos];
        let said = self.call(&[&fixed[..], &command].concat())?;
        let told = said
            .result
            .get("diff")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let wanted = [
            "+failed",
            "could not be confined",
            "namespaces",
            "+  next: ",
            "+code 5",
        ];
        let held = wanted.iter().all(|words| told.contains(words));
        let lines: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix('+')).collect();
        Ok(("sandbox-inside-itself", held, lines.join(" / ")))
    }
}

/// Held when it came to this end, with this code.
fn judged(id: &'static str, wanted: (&str, &str), said: &Said) -> Seen {
    let word = |name: &str| said.result.get(name).and_then(Value::as_str).unwrap_or_default();
    let end = (word("outcome"), word("code"));
    let seen = format!(
        "ended as `{}` ({}), exit code {:?} {}",
        end.0, end.1, said.code, said.stderr
    );
    (id, end == wanted, seen)
}
