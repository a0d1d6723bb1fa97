//! What one tool may be shown, asked of many files at once.
//!
//! Owns: the same answer as [`PolicySet::decide_read`], without its reasons, at the price of a look at the name. Never:
//! looks at content that cannot change the answer.

use agentos_landing::RepoPath;

use crate::digest::hash;
use crate::file::{Action, FindingKind};
use crate::question::{Bits, Question};
use crate::set::{PolicySet, read_question};
use crate::touch::Touches;
use crate::{Effect, ToolFacts};

/// What can be found in a file that is only read; the other kinds are about changes.
const IN_A_FILE: [FindingKind; 5] = [
    FindingKind::Bidi,
    FindingKind::Invisible,
    FindingKind::MaybeSecret,
    FindingKind::Nul,
    FindingKind::Secret,
];

/// The rules that have a say about one tool at one time, picked once.
#[derive(Debug)]
pub struct Reading<'p> {
    set: &'p PolicySet,
    open: Vec<usize>,
    tool: &'p ToolFacts,
}

impl PolicySet {
    /// For asking about many files that one tool may read.
    #[must_use]
    pub fn reading<'p>(&'p self, tool: &'p ToolFacts) -> Reading<'p> {
        Reading {
            set: self,
            open: self.open(tool),
            tool,
        }
    }
}

impl Reading<'_> {
    /// The answer about a file, as [`PolicySet::decide_read`] gives it. `content` is asked for only where it matters.
    pub fn effect(&self, path: &str, content: impl FnOnce() -> Vec<u8>) -> Effect {
        let Ok(path) = RepoPath::new(path) else {
            return Effect::Deny;
        };
        let asked = self.set.ask_path(path.as_str());
        let bare = self.question(Bits::default(), asked.touches);
        let full = self.question(Bits::of(&IN_A_FILE), asked.touches);
        let of = |question| self.set.strictest(&self.open, question, &asked.hits);
        // A finding only ever adds to the rules that match: what is allowed with none of them, and with all of them, is
        // allowed whatever is in the file.
        if of(&bare) == Effect::Allow && of(&full) == Effect::Allow {
            return Effect::Allow;
        }
        of(&read_question(&path, &content(), asked.touches, self.tool))
    }

    /// Two readings with the same key answer alike, whatever the file.
    #[must_use]
    pub fn key(&self) -> String {
        let open: Vec<String> = self.open.iter().map(ToString::to_string).collect();
        let numbers = format!("{} {}", self.tool.attempt, self.tool.context_bytes);
        hash(["agentos reading 1", self.set.sha256(), &open.join(" "), &numbers])
    }

    fn question(&self, findings: Bits<FindingKind>, touches: Touches) -> Question<'_> {
        Question {
            action: Action::Read,
            kinds: Bits::default(),
            findings,
            touches,
            added: 0,
            removed: 0,
            files: 1,
            deleted: 0,
            tool: self.tool,
        }
    }
}
