//! Asks the person at the terminal, or speaks for one who said `--yes`.
//!
//! Owns: the question. Never: takes silence for a yes.

use std::io::{BufRead, Write};

use agentos_diff::Change;
use agentos_engine::ports::{Answer, Clock, ConsentPort};
use agentos_policy::{Consent, Decision, Hashes};

use crate::clock::SystemClock;
use crate::printer::{paint, style};
use crate::render;

/// Who can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asker {
    /// The user said yes beforehand.
    Yes {
        /// Who said so.
        who: String,
    },
    /// A person at a terminal.
    Terminal {
        /// Who that is.
        who: String,
    },
    /// Nobody.
    Nobody,
}

impl ConsentPort for Asker {
    fn ask(&mut self, change: &Change, decision: &Decision, hashes: &Hashes) -> Answer {
        let yes = |who: &str, how: &str| {
            Answer::Yes(Consent {
                who: who.to_owned(),
                when: SystemClock.now(),
                how: how.to_owned(),
                hashes: hashes.clone(),
            })
        };
        match self {
            Self::Nobody => Answer::Nobody,
            Self::Yes { who } => yes(who, "--yes"),
            Self::Terminal { who } => {
                if ask_terminal(change, decision) {
                    yes(who, "terminal")
                } else {
                    Answer::No
                }
            }
        }
    }
}

fn ask_terminal(change: &Change, decision: &Decision) -> bool {
    let mut out = anstream::stderr().lock();
    let stats = change.stats();
    let files = change.files().len();
    let mut text = format!(
        "{} {files} {}, +{} -{}\n",
        paint(style::WARN, "policy asks for your consent:"),
        if files == 1 { "file" } else { "files" },
        stats.added,
        stats.removed
    );
    text.push_str(&render::outcome::groups(decision));
    let _ = out.write_all(text.as_bytes());
    loop {
        let _ = out
            .write_all(b"land it? [y]es, [n]o, [s]how the diff: ")
            .and_then(|()| out.flush());
        let mut line = String::new();
        match std::io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => return false,
            Ok(_) => {}
        }
        match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => return true,
            "n" | "no" | "" => return false,
            "s" | "show" => {
                let diff = String::from_utf8_lossy(change.canonical_diff());
                let _ = out.write_all(render::result::diff(&diff).as_bytes());
            }
            _ => {}
        }
    }
}
