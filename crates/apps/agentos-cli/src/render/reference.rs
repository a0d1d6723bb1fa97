//! The reference page: every verb's help, every exit code, every error code, as Markdown.
//!
//! Owns: the page's form. Never: words of its own about a verb or a code; those are the arguments' and the lists'.

use agentos_api::ERROR_CODES;
use clap::Command;

use crate::codes;
use crate::exit::Exit;

/// As wide as help text on a terminal of 100 columns, wherever it is made.
const WIDTH: usize = 100;

/// The whole page.
pub fn page(program: Command) -> String {
    let mut out = String::from(
        "# Reference\n\nMade by `agentos man --reference`; a test compares it with the program. JSON documents have schemas \
         (`agentos schema --list`).\n\n## Verbs\n",
    );
    let mut program = program.term_width(WIDTH);
    program.build();
    verbs(&mut program, "agentos", &mut out);
    out.push_str("\n## Exit codes\n\n| code | meaning |\n|--:|---|\n");
    for exit in Exit::ALL {
        out.push_str(&format!("| {} | {} |\n", exit as u8, exit.meaning()));
    }
    out.push_str(
        "\n## Error codes\n\nThey stand between brackets on the screen and in `code` in JSON. A policy rule may name one of its \
         own.\n\n| code | exit | what | next |\n|---|---|---|---|\n",
    );
    for code in ERROR_CODES {
        let exits: Vec<String> = code.exits.iter().map(u8::to_string).collect();
        out.push_str(&format!(
            "| `{}` | {} | {} | {} |\n",
            code.code,
            exits.join(", "),
            code.meaning,
            codes::next(code.code).unwrap_or_default()
        ));
    }
    out
}

/// One verb and those below it.
fn verbs(verb: &mut Command, name: &str, out: &mut String) {
    let help = verb.render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    out.push_str(&format!(
        "\n### {name}\n\n```text\n{}\n```\n",
        help.join("\n").trim_end()
    ));
    for below in verb.get_subcommands_mut().filter(|below| !below.is_hide_set()) {
        let name = format!("{name} {}", below.get_name());
        verbs(below, &name, out);
    }
}
