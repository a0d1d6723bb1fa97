//! `cargo xtask picture`: draws the pictures of terminals in the documents from real runs.
//!
//! Owns: the list of shown calls. Never: draws a line that the program did not print.

use std::path::Path;

use anstyle_svg::{Term, WIN10_CONSOLE};
use anyhow::Result;
use xshell::{Shell, cmd};

use crate::metadata::Metadata;
use crate::say;

/// Folder of the recorded answers that the demo lands or refuses, and of the picture.
const DEMO: &str = "crates/apps/agentos-cli/demo";
/// The shown calls; they run in a repository that the demo creates.
const CALLS: &[&str] = &[
    "apply ../answer.md",
    "apply ../escape.md",
    "apply ../workflow.md",
    "evidence verify",
    "undo",
];
/// The captured conversations.
const CAPTURES: &[&str] = &["chat-60", "chat-120"];
/// Width of the terminal in characters; longer lines are wrapped.
const COLUMNS: usize = 108;

/// Builds the product, runs it and draws its output.
///
/// # Errors
/// When the product does not build or run, or the picture cannot be written.
pub fn run(sh: &Shell) -> Result<bool> {
    cmd!(sh, "cargo build --quiet --package agentos --bins")
        .quiet()
        .run()?;
    let program = Metadata::load(sh)?.debug_folder().join("agentos");
    let text = record_calls(sh, &program)?;
    let lines: Vec<String> = text.lines().map(wrap_line).collect();
    sh.write_file(
        format!("{DEMO}/picture.svg"),
        Term::new().palette(WIN10_CONSOLE).render_svg(&lines.join("\n")),
    )?;
    say(format_args!("wrote {DEMO}/picture.svg"));
    draw_captures(sh)?;
    Ok(true)
}

/// Draws the conversations that `scripts/pictures/chat.py` captured on real terminals.
///
/// # Errors
/// When a capture cannot be read, or a picture cannot be written.
fn draw_captures(sh: &Shell) -> Result<()> {
    for name in CAPTURES {
        let text = sh.read_file(format!("{DEMO}/{name}.ans"))?;
        let picture = Term::new().palette(WIN10_CONSOLE).render_svg(text.trim_end());
        sh.write_file(format!("{DEMO}/{name}.svg"), picture)?;
        say(format_args!("wrote {DEMO}/{name}.svg"));
    }
    Ok(())
}

/// Runs the calls and returns them with their coloured output.
///
/// # Errors
/// When the program cannot be run or prints text that is not UTF-8.
fn record_calls(sh: &Shell, program: &Path) -> Result<String> {
    let scratch = sh.create_temp_dir()?;
    let home = scratch.path();
    for name in ["answer.md", "escape.md", "workflow.md"] {
        sh.copy_file(format!("{DEMO}/{name}"), home)?;
    }
    let shop = home.join("shop");
    let printed = |call: &str| -> Result<String> {
        let words = call.split(' ');
        let command = cmd!(sh, "{program} {words...}")
            // Nothing of the machine's own settings may appear in the picture.
            .env_clear()
            .env("HOME", home)
            .env("CLICOLOR_FORCE", "1");
        let command = command
            .env("GIT_AUTHOR_NAME", "A. Developer")
            .env("GIT_AUTHOR_EMAIL", "dev@example.com");
        let output = command.quiet().ignore_status().output()?;
        Ok(String::from_utf8([output.stdout, output.stderr].concat())?)
    };
    printed(&format!("demo --dir {}", shop.display()))?;
    let _in_shop = sh.push_dir(&shop);
    // The demo lands the answer at its end, and the first shown call lands it again.
    printed("undo")?;
    let mut text = String::new();
    for call in CALLS {
        let printed = printed(call)?;
        text.push_str(&format!(
            "\u{1b}[1m$ agentos {call}\u{1b}[0m\n{}\n\n",
            printed.trim_end()
        ));
    }
    Ok(text.trim_end().to_owned())
}

/// Wraps a line after [`COLUMNS`] characters; the escape sequences that colour it have no width.
fn wrap_line(line: &str) -> String {
    let (mut text, mut column, mut in_code) = (String::new(), 0, false);
    for c in line.chars() {
        in_code |= c == '\u{1b}';
        if !in_code && column == COLUMNS {
            text.push('\n');
            column = 0;
        }
        column += usize::from(!in_code);
        // Every escape sequence of the program sets a style, and those end with `m`.
        in_code &= c != 'm';
        text.push(c);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_and_codes_have_no_width() {
        let bold = format!("\u{1b}[1m{}\u{1b}[0m", "x".repeat(COLUMNS));
        assert_eq!(wrap_line(&bold), bold);
        assert_eq!(wrap_line(&"x".repeat(COLUMNS + 1)).lines().count(), 2);
    }
}
