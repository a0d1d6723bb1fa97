//! Answers that may not land, whoever gives them: each is a run of its own that would write to the repository.
//!
//! Owns: the calls and what must come of them. Never: consents.

use super::runs::{Ended, Program};
use crate::error::GateError;

/// Outcome of one run: id, whether it was held, what was seen.
pub(super) type Seen = (&'static str, bool, String);

/// A profile of the user's own that names the rogue as an agent of the Agent Client Protocol.
pub(super) const PROFILE: &str = "rogue-acp";

/// Ends in which nothing was landed.
const NOT_LANDED: [&str; 4] = ["consent-needed", "denied", "refused", "nothing-to-do"];

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
            seen.push(judge_exactly(id, (outcome, code), &self.landing(id)?));
        }
        for id in [
            "newline-name",
            "bidi-name",
            "control-name",
            "backslash-name",
            "git-in-disguise",
            "embedded-repository",
            "folder-replaced-by-link",
            "sparse-file",
        ] {
            let ended = self.landing(id)?;
            let outcome = ended.text("outcome");
            // Nothing of such a name may stand in a result raw: a terminal would obey it.
            let raw = ended.stdout.contains(['\u{202e}', '\u{1b}', '\u{9b}']);
            // A run that failed has landed nothing either.
            let held =
                (NOT_LANDED.contains(&outcome) || outcome == "failed") && ended.code != Some(0) && !raw;
            seen.push((id, held, describe_end(&ended)));
        }
        let ended = self.speaking()?;
        seen.push(judge_exactly("patch-outside", ("refused", "path-escape"), &ended));
        let ended = self.call(&["run", "-p", PROFILE, "--json", "write"])?;
        // It left its own folder as it was: what it wrote elsewhere is not there, and its client wrote nothing.
        seen.push(judge_exactly(
            "acp-direct-write",
            ("nothing-to-do", "empty"),
            &ended,
        ));
        seen.push(self.inside_itself()?);
        Ok(seen)
    }

    /// Runs the rogue so that its answer would land.
    fn landing(&self, id: &str) -> Result<Ended, GateError> {
        let python = self.python.to_string_lossy();
        let command = [python.as_ref(), "rogue.py", "rogue.json", id];
        let fixed = ["run", "-p", "command", "--json", "--"];
        self.call(&[&fixed[..], &command].concat())
    }

    /// Runs a tool, which has no copy: it is started where it lies.
    fn speaking(&self) -> Result<Ended, GateError> {
        let (python, script, outside) = (
            self.python.to_string_lossy(),
            self.ground.top().join("speaker.py").display().to_string(),
            self.ground.outside().display().to_string(),
        );
        let fixed = ["run", "-p", "tool", "--json", "write outside", "--"];
        let command = [python.as_ref(), &script, &outside];
        self.call(&[&fixed[..], &command].concat())
    }

    /// Inside the sandbox there is none to be had: the product refuses, and says which layer and what to do.
    fn inside_itself(&self) -> Result<Seen, GateError> {
        let agentos = self.agentos.display().to_string();
        let script = "\"$0\" tool run -p command -- true >said 2>&1; echo \"code $?\" >>said";
        let fixed = ["tool", "run", "-p", "command", "--json", "--read", &agentos];
        let command = ["--", "sh", "-c", script, &agentos];
        let ended = self.call(&[&fixed[..], &command].concat())?;
        let diff = ended.text("diff");
        let wanted = [
            "+failed",
            "could not be confined",
            "namespaces",
            "+  next: ",
            "+code 5",
        ];
        let held = wanted.iter().all(|words| diff.contains(words));
        Ok(("sandbox-inside-itself", held, ended.added().join(" / ")))
    }
}

/// Held when it came to this end, with this code.
fn judge_exactly(id: &'static str, wanted: (&str, &str), ended: &Ended) -> Seen {
    let held = (ended.text("outcome"), ended.text("code")) == wanted;
    (id, held, describe_end(ended))
}

fn describe_end(ended: &Ended) -> String {
    format!(
        "ended as `{}` ({}), exit code {:?} {}",
        ended.text("outcome"),
        ended.text("code"),
        ended.code,
        ended.stderr
    )
}
