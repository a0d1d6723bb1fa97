//! Question for consent at the terminal.
//!
//! Owns: the question and its screen. Never: treats silence as consent, or hides a reason.

use std::io::{self, BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use agentos_host::Decision;
use agentos_landing::Change;
use agentos_pager::PagerProgram;

use crate::escape;
use crate::printer::{paint, style};
use crate::render;
use crate::terminal::screen::{self, ScreenSize};

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
    /// Size of the screen.
    pub size: ScreenSize,
    /// True while a pager owns the terminal.
    pub is_paging: &'a AtomicBool,
    /// Pager for long text. `None` if this screen shows it page by page.
    pub pager: Option<PagerProgram>,
}

/// Asks the person on standard input. Returns false if the question cannot be asked.
pub fn ask_consent(screen: &ConsentScreen<'_>) -> bool {
    let asked = screen.ask_until_answered(&mut io::stdin().lock(), &mut anstream::stderr().lock());
    asked.unwrap_or(false)
}

impl ConsentScreen<'_> {
    /// Asks until there is an answer. The end of the input counts as no.
    fn ask_until_answered(&self, input: &mut dyn BufRead, out: &mut dyn Write) -> io::Result<bool> {
        out.write_all(self.format_summary().as_bytes())?;
        loop {
            out.write_all(b"land it? [y]es, [n]o, [s]how the diff, [e]xplain: ")?;
            out.flush()?;
            // The end of input is a closed terminal or an empty pipe, and neither is a person who agrees.
            let Some(word) = read_word(input)? else {
                return Ok(false);
            };
            match word.as_str() {
                "y" | "yes" => return Ok(true),
                // An empty line is a no: a person who only presses Enter has not read the question.
                "n" | "no" | "" => return Ok(false),
                "s" | "show" => {
                    let diff = String::from_utf8_lossy(self.change.canonical_diff());
                    let text = render::diff::format_diff(&diff, self.size.width, None);
                    self.show_pages(&text, input, out)?;
                }
                "e" | "explain" => {
                    let text = format!("{}\n", escape::block(&self.decision.explanation()));
                    self.show_pages(&text, input, out)?;
                }
                _ => out.write_all(b"answer y, n, s or e\n")?,
            }
        }
    }

    /// Returns a summary: the change, its target, and the rules that require consent.
    pub fn format_summary(&self) -> String {
        let stats = self.change.stats();
        let files = self.change.files().len();
        let place = escape::line(self.target.strip_prefix("refs/heads/").unwrap_or(self.target));
        let what = match self.writes {
            "work-tree-only" => "in the working tree, without a commit".to_owned(),
            _ => format!("as a commit on {place}"),
        };
        let mut text = format!(
            "{} {files} {}, +{} -{}, {what}\n",
            paint(style::WARN, "policy asks for your consent:"),
            if files == 1 { "file" } else { "files" },
            stats.added,
            stats.removed
        );
        for file in self.change.files().iter().take(20) {
            let path = escape::line(file.path.as_str());
            text.push_str(&format!(
                "  {path} +{} -{}\n",
                file.stats.added, file.stats.removed
            ));
        }
        if files > 20 {
            text.push_str(&format!("  and {} more\n", files - 20));
        }
        text.push_str(&render::outcome::format_groups(self.decision));
        text
    }

    /// Shows text in the pager if it is longer than the screen, or page by page if there is no pager.
    fn show_pages(&self, text: &str, input: &mut dyn BufRead, out: &mut dyn Write) -> io::Result<()> {
        let lines: Vec<&str> = text.lines().collect();
        // One line of the screen is needed for the prompt.
        let screen = self.size.height.saturating_sub(1).max(1);
        let pager = self.pager.as_ref().filter(|_| lines.len() > screen);
        if let Some(pager) = pager {
            self.is_paging.store(true, Ordering::SeqCst);
            let shown = screen::show_in_pager(pager, text);
            self.is_paging.store(false, Ordering::SeqCst);
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

/// Reads a line in lower case. `None` at the end of the input.
fn read_word(input: &mut dyn BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    let read = input.read_line(&mut line)?;
    Ok((read > 0).then(|| line.trim().to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use agentos_host::{PolicySet, ToolFacts, now};
    use agentos_landing::{FileState, RepoPath, ResultFacts};

    use agentos_tool::{Enforcement, ExecutionMode};

    use super::*;

    /// What a person sees who types these lines, without colours, and whether it is a yes.
    fn typed(lines: &str) -> (bool, String) {
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
            size: ScreenSize {
                height: 10,
                width: 80,
            },
            is_paging: &AtomicBool::new(false),
            pager: None,
        };
        let mut out = Vec::new();
        let yes = screen
            .ask_until_answered(&mut lines.as_bytes(), &mut out)
            .unwrap();
        (
            yes,
            anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string(),
        )
    }

    #[test]
    fn only_a_yes_is_a_yes() {
        for (lines, expected) in [
            ("y\n", true),
            ("YES\n", true),
            ("s\n\n\ny\n", true),
            ("what\ny\n", true),
            ("n\n", false),
            ("\n", false),
            ("", false),
            ("s\n", false),
            ("maybe\n", false),
        ] {
            assert_eq!(typed(lines).0, expected, "{lines:?}");
        }
    }

    #[test]
    fn the_screen_says_what_where_and_which_rule_asks() {
        insta::assert_snapshot!(typed("s\nq\ne\nn\n").1, @r"
        policy asks for your consent: 2 files, +7 -0, as a commit on main
          .github/workflows/ci.yml +6 -0
          src/a.rs +1 -0
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
          ask .github/workflows/ci.yml: continuous integration runs this with the project's own rights (default.ci, built-in/default.toml:104)
          allow the change: a change whose paths are allowed may land (default.land, built-in/default.toml:16)
          allow .github/workflows/ci.yml and 1 more: ordinary files may be edited (default.edit, built-in/default.toml:7)
        land it? [y]es, [n]o, [s]how the diff, [e]xplain:
        ");
    }
}
