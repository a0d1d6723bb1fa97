//! Question for consent at the terminal.
//!
//! Owns: the question and its screen. Never: treats silence as consent, or hides a reason.

use std::io::{self, Write};

use agentos_host::{Decision, Effect, RequestDrift};
use agentos_landing::Change;
use agentos_pager::PagerProgram;

use crate::escape;
use crate::printer::{paint, style};
use crate::render;
use crate::terminal::keyboard::{Keyboard, LineSource, TypedLine};
use crate::terminal::last_line;
use crate::terminal::screen::{self, ScreenSize};
use crate::terminal::signals::Signals;

/// Question for consent, as the person sees it.
pub struct ConsentScreen<'a> {
    /// Change that would land.
    pub change: &'a Change,
    /// Policy decision about the change.
    pub decision: &'a Decision,
    /// Ref that would move.
    pub target: &'a str,
    /// Kind of landing.
    pub writes: &'a str,
    /// Differences from the request that is answered. `None` if there are none.
    pub drift: Option<&'a RequestDrift>,
    /// True if the diff is shown above the question.
    pub shows_diff: bool,
    /// True if the person can choose not to be asked about such a change in this repository again.
    pub offers_always: bool,
    /// Size of the screen.
    pub size: ScreenSize,
    /// Signals that end the question.
    pub signals: &'a Signals,
    /// Pager for long text. `None` if this screen shows it page by page.
    pub pager: Option<PagerProgram>,
}

/// A person's answer to the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PersonAnswer {
    /// The change may land.
    Yes,
    /// The change may land, and text of withheld files that it has is released.
    Release,
    /// The change may land, and others that policy allows may land in this repository without the question.
    AlwaysHere,
    /// The change may not land.
    No,
    /// The person closed the terminal or ended the program: the question stays open.
    Unanswered,
}

/// Asks the person on standard input.
pub fn ask_consent(screen: &ConsentScreen<'_>) -> PersonAnswer {
    // The status line would be drawn over the question.
    last_line::end_status();
    let mut keyboard = Keyboard::new(screen.signals);
    // Not a locked stream: another thread prints the last words of the program if a signal ends it.
    let asked = screen.ask_until_answered(&mut keyboard, &mut anstream::stderr());
    // A terminal that cannot be read has nobody in front of it.
    asked.unwrap_or(PersonAnswer::Unanswered)
}

impl ConsentScreen<'_> {
    /// Asks until there is an answer, or nobody is left to give one.
    fn ask_until_answered(
        &self,
        input: &mut dyn LineSource,
        out: &mut dyn Write,
    ) -> io::Result<PersonAnswer> {
        out.write_all(self.format_summary().as_bytes())?;
        loop {
            out.write_all(self.prompt().as_bytes())?;
            out.flush()?;
            // The end of input is a closed terminal, which is no person who agrees, and none who declines.
            let Some(word) = read_word(input)? else {
                // The terminal has shown `^C` or `^D` in the middle of the question, so the next text needs a new line.
                out.write_all(b"\n")?;
                return Ok(PersonAnswer::Unanswered);
            };
            match word.as_str() {
                "y" | "yes" => return Ok(PersonAnswer::Yes),
                // No rule asks, and the diff is on the screen.
                "" if self.is_allowed() => return Ok(PersonAnswer::Yes),
                "r" | "release" if self.decision.is_about_withheld() => return Ok(PersonAnswer::Release),
                "a" | "always" if self.offers_always => return Ok(PersonAnswer::AlwaysHere),
                // An empty line is a no to a question of policy: a person who only presses Enter has not read it.
                "n" | "no" | "" => return Ok(PersonAnswer::No),
                "s" | "show" => {
                    self.show_pages(&self.format_change(), input, out)?;
                }
                "e" | "explain" => {
                    self.show_pages(&self.format_explanation(), input, out)?;
                }
                _ if self.decision.is_about_withheld() => out.write_all(b"answer y, r, n, s or e\n")?,
                _ if self.offers_always => out.write_all(b"answer y, n, a, s or e\n")?,
                _ => out.write_all(b"answer y, n, s or e\n")?,
            }
        }
    }

    /// Returns true if no rule asks. Then Enter is a yes.
    fn is_allowed(&self) -> bool {
        self.decision.effect() == Effect::Allow
    }

    fn prompt(&self) -> &'static str {
        if self.decision.is_about_withheld() {
            return "land it? [y]es and keep it withheld, [r]elease it, [n]o, [s]how the diff, [e]xplain: ";
        }
        match (self.is_allowed(), self.offers_always) {
            (false, _) => "land it? [y]es, [n]o, [s]how the diff, [e]xplain: ",
            (true, false) => "land it? [Y/n], [s]how the diff, [e]xplain: ",
            (true, true) => "land it? [Y/n], [a]lways here, [s]how the diff, [e]xplain: ",
        }
    }

    fn format_change(&self) -> String {
        render::diff::format_diff(self.change.canonical_diff(), self.size.width, None)
    }

    fn format_explanation(&self) -> String {
        format!("{}\n", escape::block(&self.decision.explanation()))
    }

    /// Shows the diff, page by page if it is long.
    pub fn show_diff(&self, input: &mut dyn LineSource) -> io::Result<()> {
        self.show_pages(&self.format_change(), input, &mut anstream::stderr())
    }

    /// Shows the rules that decide, page by page if there are many.
    pub fn show_explanation(&self, input: &mut dyn LineSource) -> io::Result<()> {
        self.show_pages(&self.format_explanation(), input, &mut anstream::stderr())
    }

    /// Returns what stands above the question: the diff, the target of the change, and the rules that require consent.
    pub fn format_summary(&self) -> String {
        let stats = self.change.stats();
        let files = self.change.files().len();
        let place = escape::line(self.target.strip_prefix("refs/heads/").unwrap_or(self.target));
        let what = match self.writes {
            "work-tree-only" => "in the working tree, without a commit".to_owned(),
            _ => format!("as a commit on {place}"),
        };
        let lead = match self.decision.effect() {
            Effect::Ask => "policy asks for your consent:",
            Effect::Allow => "policy allows it:",
            // Rules may have changed since the request.
            Effect::Deny => "policy denies this now:",
        };
        let color = if self.is_allowed() {
            style::GOOD
        } else {
            style::WARN
        };
        let mut text = String::new();
        if self.shows_diff {
            text.push_str(&render::diff::format_view(
                self.change.canonical_diff(),
                self.size,
            ));
        }
        text.push_str(&format!(
            "{} {files} {}, +{} -{}, {what}\n",
            paint(color, lead),
            if files == 1 { "file" } else { "files" },
            stats.added,
            stats.removed
        ));
        // The view of the diff names the files.
        let listed = if self.shows_diff { 0 } else { 20 };
        for file in self.change.files().iter().take(listed) {
            let path = escape::line(file.path.as_str());
            text.push_str(&format!(
                "  {path} +{} -{}\n",
                file.stats.added, file.stats.removed
            ));
        }
        if listed > 0 && files > listed {
            text.push_str(&format!("  and {} more\n", files - listed));
        }
        text.push_str(&render::outcome::format_groups(self.decision));
        if let Some(drift) = self.drift {
            text.push_str(&render::requests::format_drift(drift));
        }
        text
    }

    /// Shows text in the pager if it is longer than the screen, or page by page if there is no pager.
    fn show_pages(&self, text: &str, input: &mut dyn LineSource, out: &mut dyn Write) -> io::Result<()> {
        let lines: Vec<&str> = text.lines().collect();
        // One line of the screen is needed for the prompt.
        let screen = self.size.height.saturating_sub(1).max(1);
        let pager = self.pager.as_ref().filter(|_| lines.len() > screen);
        if let Some(pager) = pager {
            let shown = screen::show_in_pager(self.signals, pager, text);
            // A pager that cannot start must not keep the person from seeing the change, so the text is shown page by
            // page below.
            if shown.is_ok() {
                return Ok(());
            }
        }
        let mut shown = 0;
        for chunk in lines.chunks(screen) {
            for line in chunk {
                out.write_all(line.as_bytes())?;
                out.write_all(b"\n")?;
            }
            shown += chunk.len();
            if shown < lines.len() {
                let more = format!("-- {shown} of {} lines; enter: more, q: back -- ", lines.len());
                out.write_all(paint(style::DIM, &more).as_bytes())?;
                out.flush()?;
                if read_word(input)?.is_none_or(|word| word.starts_with('q')) {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Reads a line in lower case. `None` at the end of the input, and after a signal.
fn read_word(input: &mut dyn LineSource) -> io::Result<Option<String>> {
    Ok(match input.read_line()? {
        TypedLine::Line(line) => Some(line.trim().to_ascii_lowercase()),
        TypedLine::End | TypedLine::Stopped => None,
    })
}

#[cfg(test)]
mod tests {
    use agentos_host::{PolicySet, ToolFacts, now};
    use agentos_landing::{FileState, RepoPath, ResultFacts};

    use agentos_tool::{Enforcement, ExecutionMode};

    use super::*;
    use crate::terminal::keyboard::TextLines;

    /// What a person sees who types these lines, without colours, and the answer.
    fn typed(lines: &str) -> (PersonAnswer, String) {
        let file = |path: &str, new: &str| {
            let path = RepoPath::new(path).unwrap();
            (path, None, Some(FileState::regular(new.as_bytes())))
        };
        let workflow: String = (1..=6).map(|n| format!("step {n}\n")).collect();
        let files = vec![
            file(".github/workflows/ci.yml", &workflow),
            file("src/a.rs", "fn a() {}\n"),
        ];
        let change = Change::new(files).unwrap();
        let facts = ResultFacts::default();
        let tool = ToolFacts {
            provider: "patch".to_owned(),
            model: None,
            execution_mode: ExecutionMode::Local,
            enforcement: Enforcement::Observed,
            attempt: 1,
            at: now(),
            context_bytes: 0,
            target_ref: None,
            checked: false,
        };
        let decision = PolicySet::builtin().unwrap().decide(&change, &facts, &tool);
        let screen = ConsentScreen {
            change: &change,
            decision: &decision,
            target: "refs/heads/main",
            writes: "commit-and-work-tree",
            drift: None,
            shows_diff: true,
            offers_always: false,
            size: ScreenSize {
                height: 10,
                width: 80,
            },
            signals: &Signals::new(),
            pager: None,
        };
        let mut out = Vec::new();
        let yes = screen
            .ask_until_answered(&mut TextLines(lines.lines()), &mut out)
            .unwrap();
        (
            yes,
            anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string(),
        )
    }

    #[test]
    fn only_a_yes_is_a_yes() {
        use PersonAnswer::{No, Unanswered, Yes};
        for (lines, expected) in [
            ("y\n", Yes),
            ("YES\n", Yes),
            ("s\n\n\ny\n", Yes),
            ("what\ny\n", Yes),
            ("n\n", No),
            ("\n", No),
            ("", Unanswered),
            ("s\n", Unanswered),
            ("maybe\n", Unanswered),
        ] {
            assert_eq!(typed(lines).0, expected, "{lines:?}");
        }
    }

    #[test]
    fn the_screen_says_what_where_and_which_rule_asks() {
        insta::assert_snapshot!(typed("s\nq\ne\nn\n").1, @r"
        .github/workflows/ci.yml
        new file mode 100644
        index 0000000000000000000000000000000000000000..79c57697129782419ceb789b8057389f6117fe76
        --- /dev/null
        … 15 lines left out; every file:
          .github/workflows/ci.yml +6 -0
          src/a.rs +1 -0
        policy asks for your consent: 2 files, +7 -0, as a commit on main
          ask .github/workflows/ci.yml: continuous integration runs this with the project's own rights (default.ci)
        land it? [y]es, [n]o, [s]how the diff, [e]xplain: .github/workflows/ci.yml
        new file mode 100644
        index 0000000000000000000000000000000000000000..79c57697129782419ceb789b8057389f6117fe76
        --- /dev/null
        +++ b/.github/workflows/ci.yml
        @@ -0,0 +1,6 @@
              1 +step 1
              2 +step 2
              3 +step 3
        -- 9 of 19 lines; enter: more, q: back -- land it? [y]es, [n]o, [s]how the diff, [e]xplain: ask
          ask .github/workflows/ci.yml: continuous integration runs this with the project's own rights (default.ci, built-in/default.toml:131)
          allow the change: a change whose paths are allowed may land (default.land, built-in/default.toml:16)
          allow .github/workflows/ci.yml and 1 more: ordinary files may be edited (default.edit, built-in/default.toml:7)
        land it? [y]es, [n]o, [s]how the diff, [e]xplain:
        ");
    }
}
