//! `cargo xtask picture`: the picture of a terminal in the README, made from a real run.
//!
//! Owns: which calls are shown, and turning what a terminal would get into SVG. Never: writes a line that the program
//! did not print.

use std::path::Path;
use std::process::Command;

use crate::metadata::Metadata;
use crate::say;

const PICTURE: &str = "crates/apps/agentos-cli/demo/picture.svg";
/// The recorded answers that the demo lands and refuses.
const ANSWERS: &str = "crates/apps/agentos-cli/demo";
/// What is shown, in a repository that the demo made.
const CALLS: &[&[&str]] = &[
    &["apply", "../answer.md"],
    &["apply", "../escape.md"],
    &["apply", "../workflow.md"],
    &["evidence", "verify"],
    &["undo"],
];
/// What ends a colour.
const RESET: &str = "\u{1b}[0m";
const COLUMNS: usize = 108;
/// Pixels: the width of a character and the height of a line of the font below.
const ADVANCE: f64 = 7.8;
const LINE: usize = 18;
const MARGIN: usize = 16;

/// Builds the product, runs it and draws what it printed.
///
/// # Errors
/// When the product does not build or run, or the picture cannot be written.
pub fn run(root: &Path) -> Result<bool, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--package", "agentos", "--bins"])
        .current_dir(root)
        .status()
        .map_err(|error| format!("`cargo build` cannot be run: {error}"))?;
    if !built.success() {
        return Err("the product does not build".to_owned());
    }
    let program = Path::new(&Metadata::load(root)?.target_directory).join("debug/agentos");
    let scratch = std::env::temp_dir().join(format!("agentos-picture-{}", std::process::id()));
    let text = recorded(root, &program, &scratch);
    std::fs::remove_dir_all(&scratch).ok();
    let file = root.join(PICTURE);
    std::fs::write(&file, drawn(&text?))
        .map_err(|error| format!("`{PICTURE}` cannot be written: {error}"))?;
    say(&format!("{PICTURE} is written"));
    Ok(true)
}

/// The calls with what they print, colours included.
fn recorded(root: &Path, program: &Path, scratch: &Path) -> Result<String, String> {
    let io = |error: std::io::Error| format!("`{}` cannot be used: {error}", scratch.display());
    std::fs::create_dir_all(scratch).map_err(io)?;
    let shop = scratch.join("shop");
    let folder = shop.display().to_string();
    printed(program, scratch, scratch, &["demo", "--dir", &folder])?;
    for name in ["answer.md", "escape.md", "workflow.md"] {
        let text = std::fs::read(root.join(ANSWERS).join(name)).map_err(io)?;
        std::fs::write(scratch.join(name), text).map_err(io)?;
    }
    // The demo has landed the answer already.
    printed(program, scratch, &shop, &["undo"])?;
    let mut text = String::new();
    for call in CALLS {
        text.push_str(&format!("\u{1b}[1m$ agentos {}\u{1b}[0m\n", call.join(" ")));
        let printed = printed(program, scratch, &shop, call)?;
        // What is painted may end in a line of its own.
        let printed = printed.trim_end().trim_end_matches(RESET).trim_end();
        text.push_str(&format!("{printed}{RESET}\n\n"));
    }
    Ok(text.trim_end().to_owned())
}

fn printed(program: &Path, home: &Path, dir: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(args)
        .current_dir(dir)
        .env_clear()
        .env("HOME", home)
        .env("CLICOLOR_FORCE", "1")
        .env("GIT_AUTHOR_NAME", "A. Developer")
        .env("GIT_AUTHOR_EMAIL", "dev@example.com")
        .stdin(std::process::Stdio::null())
        .output()
        .map_err(|error| format!("`agentos {}` cannot be run: {error}", args.join(" ")))?;
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8(text).map_err(|_| format!("`agentos {}` does not print UTF-8", args.join(" ")))
}

/// A run of characters in one style.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Span {
    class: &'static str,
    text: String,
}

/// Lines of spans, longer ones broken as a terminal breaks them.
fn lines(text: &str) -> Vec<Vec<Span>> {
    let mut all = Vec::new();
    for line in text.lines() {
        let (mut spans, mut class, mut column) = (vec![Span::default()], "", 0);
        let mut chars = line.chars();
        while let Some(c) = chars.next() {
            if c == '\u{1b}' {
                let code: String = chars.by_ref().skip(1).take_while(|c| *c != 'm').collect();
                class = style(&code);
                spans.push(Span {
                    class,
                    text: String::new(),
                });
                continue;
            }
            if column == COLUMNS {
                all.push(std::mem::take(&mut spans));
                spans.push(Span {
                    class,
                    text: String::new(),
                });
                column = 0;
            }
            if let Some(last) = spans.last_mut() {
                last.text.push(c);
            }
            column += 1;
        }
        all.push(spans);
    }
    all
}

fn style(code: &str) -> &'static str {
    match code {
        "1" => "b",
        "2" => "d",
        "31" => "r",
        "32" => "g",
        "33" => "y",
        _ => "",
    }
}

fn drawn(text: &str) -> String {
    let lines = lines(text);
    let width = (COLUMNS as f64 * ADVANCE) as usize + 2 * MARGIN;
    let height = lines.len() * LINE + 2 * MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" aria-label=\"A terminal: answers of a model land, or are refused with a reason\">\n\
         <style>text{{font:13px ui-monospace,Menlo,Consolas,monospace;fill:#d4d4d4;white-space:pre}}\
         .b{{font-weight:700;fill:#fff}}.d{{fill:#8b949e}}.r{{fill:#ff7b72}}.g{{fill:#7ee787}}.y{{fill:#e3b341}}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#161b22\"/>\n"
    );
    for (number, spans) in lines.iter().enumerate() {
        let y = MARGIN + number * LINE + 13;
        out.push_str(&format!("<text x=\"{MARGIN}\" y=\"{y}\" xml:space=\"preserve\">"));
        for span in spans.iter().filter(|span| !span.text.is_empty()) {
            let text = escaped(&span.text);
            match span.class {
                "" => out.push_str(&text),
                class => out.push_str(&format!("<tspan class=\"{class}\">{text}</tspan>")),
            }
        }
        out.push_str("</text>\n");
    }
    out.push_str("</svg>\n");
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_become_classes_and_text_stays_text() {
        let drawn = drawn("plain \u{1b}[32mgood <a&b>\u{1b}[0m end");
        assert!(
            drawn.contains(">plain <tspan class=\"g\">good &lt;a&amp;b&gt;</tspan> end</text>"),
            "{drawn}"
        );
    }

    #[test]
    fn long_lines_are_broken() {
        let found = lines(&"x".repeat(COLUMNS + 1));
        assert_eq!(found.len(), 2);
    }
}
