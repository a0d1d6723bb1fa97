//! Examples at the end of every verb's help text, in one style.
//!
//! Owns: the examples. Never: shows one that does not parse; a test parses them all.

use clap::Command;

/// Example commands for each verb. The key is the verb without the program's name, and is empty for `agentos` itself.
/// The first example is the most common use.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "",
        &["agentos demo", "agentos run -p lmstudio \"add a --version flag\""],
    ),
    ("demo", &["agentos demo", "agentos demo --dir shop"]),
    (
        "init",
        &[
            "agentos init",
            "agentos init --provider ollama --preset solo --yes",
        ],
    ),
    ("use", &["agentos use ollama --model qwen3-coder", "agentos use"]),
    (
        "config",
        &["agentos config --origin", "agentos config set attempts 3"],
    ),
    ("config list", super::config::LIST_EXAMPLES),
    ("config get", super::config::GET_EXAMPLES),
    (
        "config set",
        &[
            "agentos config set check \"cargo test\"",
            "agentos config set pager \"less -S\"",
        ],
    ),
    (
        "config unset",
        &["agentos config unset check", "agentos config unset model"],
    ),
    ("config path", super::config::PATH_EXAMPLES),
    ("doctor", &["agentos doctor", "agentos doctor --offline --json"]),
    (
        "apply",
        &[
            "agentos apply fix.patch",
            "pbpaste | agentos apply - --explain",
            "agentos apply reply.md --branch ai/fix --json",
            "agentos apply fix.patch --run-hooks",
        ],
    ),
    (
        "run",
        &[
            "agentos run -p lmstudio \"add a --version flag\" --file 'src/**/*.rs'",
            "agentos run -p ollama \"total() ignores the count\" --symbol total --check \"cargo test\"",
            "agentos run -p command -- cargo fmt",
            "agentos run -p claude-code \"add a --version flag\"",
        ],
    ),
    (
        "land",
        &[
            "agentos land @",
            "agentos land RUN --branch ai/fix",
            "agentos land RUN --dry-run",
        ],
    ),
    (
        "retry",
        &[
            "agentos retry @ --with \"keep the name of the function\"",
            "agentos retry RUN -p anthropic --check \"cargo test\"",
        ],
    ),
    (
        "diff",
        &[
            "agentos diff normalize < reply.md | git apply --check",
            "agentos diff normalize --base main~3 < old.patch",
        ],
    ),
    (
        "diff normalize",
        &[
            "agentos diff normalize < reply.md | git apply --check",
            "agentos diff normalize --base main~3 < old.patch",
        ],
    ),
    ("status", super::start::STATUS_EXAMPLES),
    (
        "log",
        &[
            "agentos log",
            "agentos log --waiting",
            "agentos log --grep parser --landed -n 5",
        ],
    ),
    (
        "show",
        &[
            "agentos show",
            "agentos show @- --answer",
            "agentos show --output",
            "agentos show RUN --diff | git apply --check",
        ],
    ),
    (
        "approve",
        &[
            "agentos approve",
            "agentos approve RUN --show",
            "agentos approve RUN --yes",
        ],
    ),
    (
        "deny",
        &["agentos deny RUN", "agentos deny @ -c \"pin the action\""],
    ),
    ("undo", &["agentos undo", "agentos undo RUN --dry-run"]),
    ("recover", &["agentos recover", "agentos recover --json"]),
    (
        "policy",
        &[
            "agentos policy init --preset team",
            "git diff | agentos policy check -",
            "agentos policy explain --read .env --cloud",
        ],
    ),
    (
        "policy init",
        &[
            "agentos policy init --preset team && git diff --cached .agentos",
            "agentos policy init --preset strict --print",
        ],
    ),
    (
        "policy check",
        &[
            "git diff | agentos policy check -",
            "agentos policy check --commit HEAD --provider openai --cloud",
            "agentos policy check --read .env --cloud",
        ],
    ),
    (
        "policy explain",
        &[
            "git diff | agentos policy explain -",
            "agentos policy explain --read .env --cloud",
        ],
    ),
    (
        "policy test",
        &["agentos policy test", "agentos policy test --rules drafts/policy"],
    ),
    (
        "policy lint",
        &[
            "agentos policy lint",
            "agentos policy lint --rules drafts/policy --json",
        ],
    ),
    (
        "policy show",
        &["agentos policy show", "agentos policy show --origin"],
    ),
    (
        "policy facts",
        &[
            "agentos policy facts",
            "agentos policy facts > .agentos/policy/own.toml",
        ],
    ),
    (
        "tool",
        &[
            "agentos tool list",
            "agentos tool health",
            "agentos tool auth set --provider openai",
        ],
    ),
    ("tool list", &["agentos tool list", "agentos tool list --json"]),
    (
        "tool health",
        &[
            "agentos tool health",
            "agentos tool health -p lmstudio -p ollama",
            "agentos tool health -p openai --base-url http://localhost:8000/v1 --json",
        ],
    ),
    (
        "tool auth",
        &[
            "agentos tool auth set --provider openai",
            "agentos tool auth status",
        ],
    ),
    (
        "tool auth set",
        &[
            "agentos tool auth set --provider openai",
            "pass show openai | agentos tool auth set --provider openai",
        ],
    ),
    ("tool auth sign-in", super::tool::SIGN_IN_EXAMPLES),
    (
        "tool auth status",
        &["agentos tool auth status", "agentos tool auth status --json"],
    ),
    ("tool auth clear", super::tool::CLEAR_EXAMPLES),
    ("chat", super::chat::TALK_EXAMPLES),
    ("chat send", super::chat::EXAMPLES),
    ("cost", super::cost::COST_EXAMPLES),
    ("mcp", super::mcp::EXAMPLES),
    ("mcp install", super::mcp::INSTALL_EXAMPLES),
    ("serve", super::serve::SERVE_EXAMPLES),
    ("open", super::serve::OPEN_EXAMPLES),
    ("budget", super::budget::EXAMPLES),
    ("budget set", super::budget::SET_EXAMPLES),
    ("budget list", super::budget::LIST_EXAMPLES),
    ("budget remove", super::budget::REMOVE_EXAMPLES),
    ("store", super::cost::STORE_EXAMPLES),
    ("store rebuild", super::cost::STORE_EXAMPLES),
    ("tool run", super::tool::RUN_EXAMPLES),
    ("trust", super::policy::TRUST_EXAMPLES),
    (
        "tool trust",
        &["agentos tool trust weather", "agentos tool trust weather --json"],
    ),
    (
        "tool conform",
        &[
            "agentos tool conform -- python3 scripts/examples/tool.py",
            "agentos tool conform --timeout 5 --json -- sh scripts/examples/tool.sh",
        ],
    ),
    (
        "evidence",
        &[
            "agentos evidence list",
            "agentos evidence show",
            "agentos evidence verify",
        ],
    ),
    (
        "evidence list",
        &[
            "agentos evidence list",
            "agentos evidence list --decision deny --since 2days",
            "agentos evidence list --path src -n 5",
        ],
    ),
    (
        "evidence show",
        &["agentos evidence show", "agentos evidence show RUN --json"],
    ),
    (
        "evidence verify",
        &[
            "agentos evidence verify",
            "agentos evidence verify --range origin/main..HEAD --require",
            "agentos evidence verify --dir review",
        ],
    ),
    (
        "evidence replay",
        &["agentos evidence replay", "agentos evidence replay --all"],
    ),
    (
        "evidence stats",
        &["agentos evidence stats", "agentos evidence stats --json"],
    ),
    (
        "evidence publish",
        &["agentos evidence publish", "agentos evidence publish --full"],
    ),
    (
        "evidence export",
        &[
            "agentos evidence export --out review",
            "agentos evidence export --out review --redact",
        ],
    ),
    (
        "evidence key",
        &[
            "agentos evidence key show",
            "agentos evidence key rotate --store file",
        ],
    ),
    (
        "evidence key show",
        &["agentos evidence key show", "agentos evidence key show --json"],
    ),
    (
        "evidence key rotate",
        &[
            "agentos evidence key rotate",
            "agentos evidence key rotate --store file",
        ],
    ),
    (
        "evidence key trust",
        &[
            "agentos evidence key trust ci.pub --name ci",
            "agentos evidence key trust \"ssh-ed25519 AAAA…\" --name anna",
        ],
    ),
    (
        "profile",
        &[
            "agentos profile list",
            "agentos profile show lmstudio",
            "agentos profile validate .agentos/profiles/own.json",
        ],
    ),
    (
        "profile list",
        &["agentos profile list", "agentos profile list --json"],
    ),
    (
        "profile show",
        &["agentos profile show vllm", "agentos profile show vllm --json"],
    ),
    (
        "profile init",
        &[
            "agentos profile init my-vllm --base-url http://localhost:8000/v1 --model qwen",
            "agentos profile init lmstudio --model qwen/qwen3-coder-30b",
        ],
    ),
    ("models", super::models::EXAMPLES),
    ("models list", super::models::LIST_EXAMPLES),
    ("models show", super::models::SHOW_EXAMPLES),
    ("models add", super::models::ADD_EXAMPLES),
    ("models remove", super::models::REMOVE_EXAMPLES),
    ("models import", super::models::IMPORT_EXAMPLES),
    ("models load", super::models::LOAD_EXAMPLES),
    ("models unload", super::models::UNLOAD_EXAMPLES),
    ("models warmup", super::models::WARMUP_EXAMPLES),
    ("models default", super::models::DEFAULT_EXAMPLES),
    (
        "profile validate",
        &[
            "agentos profile validate .agentos/profiles/own.json",
            "agentos profile validate ~/.config/agentos/profiles/own.json",
        ],
    ),
    ("schema", &["agentos schema --list", "agentos schema outcome"]),
    (
        "completions",
        &[
            "echo 'source <(agentos completions bash)' >> ~/.bashrc",
            "echo 'source <(agentos completions zsh)' >> ~/.zshrc",
            "agentos completions fish > ~/.config/fish/completions/agentos.fish",
        ],
    ),
    (
        "man",
        &[
            "agentos man run",
            "agentos man tool auth set > agentos-tool-auth-set.1",
            "agentos man --list",
            "agentos man --reference",
        ],
    ),
];

/// Returns the examples of every verb.
fn all_examples() -> impl Iterator<Item = &'static (&'static str, &'static [&'static str])> {
    let more = super::chat::SESSION_EXAMPLES
        .iter()
        .chain(super::pool::POOL_EXAMPLES)
        .chain(super::service_token::TOKEN_EXAMPLES);
    EXAMPLES.iter().chain(more)
}

/// Adds the examples to the end of the help text of `command` and of all verbs below it.
pub fn with_examples(command: Command) -> Command {
    add_examples(command, "")
}

fn add_examples(command: Command, path: &str) -> Command {
    let found = all_examples().find(|(verb, _)| *verb == path);
    let command = match found {
        Some((_, calls)) => {
            let lines: String = calls.iter().map(|call| format!("\n  {call}")).collect();
            // `after_help` replaces the notes that a verb may already have at the end of its help.
            let before = command.get_after_help().map(|text| format!("{text}\n\n"));
            let before = before.unwrap_or_default();
            // The short help has to fit a screen.
            // The program's own help lists all verbs, and one example more would not fit a screen.
            let most = if path.is_empty() { 1 } else { 2 };
            let short: String = calls
                .iter()
                .take(most)
                .map(|call| format!("\n  {call}"))
                .collect();
            command
                .after_help(format!("Examples:{short}"))
                .after_long_help(format!("{before}Examples:{lines}"))
        }
        None => command,
    };
    command.mut_subcommands(|verb| {
        // The program itself has no name in the table.
        let path = format!("{path} {}", verb.get_name());
        add_examples(verb, path.trim_start())
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::args::full_command;

    /// Collects the full name of every verb, such as `evidence key show`.
    fn verbs(command: &Command, above: &str, found: &mut BTreeSet<String>) {
        found.insert(above.to_owned());
        for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
            let name = format!("{above} {}", verb.get_name());
            verbs(verb, name.trim_start(), found);
        }
    }

    /// Splits an example into words as a shell does. Starts at `agentos`, and ends before a pipe, a redirection or `&&`.
    fn words(line: &str) -> Vec<String> {
        let start = line.find("agentos").unwrap();
        let mut words = vec![String::new()];
        let mut quoted = false;
        for c in line.get(start..).unwrap().chars() {
            match c {
                '"' => quoted = !quoted,
                '|' | '<' | '>' | '&' | ')' if !quoted => break,
                ' ' if !quoted => words.push(String::new()),
                c => words.last_mut().unwrap().push(c),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    #[test]
    fn every_verb_has_examples_and_every_example_is_of_its_verb() {
        let mut known = BTreeSet::new();
        verbs(&full_command(), "", &mut known);
        let shown: BTreeSet<String> = all_examples().map(|(verb, _)| (*verb).to_owned()).collect();
        assert_eq!(shown, known);
        for (verb, calls) in all_examples() {
            assert!((2..=4).contains(&calls.len()), "{verb}: {}", calls.len());
            for call in *calls {
                let arguments = words(call)[1..].join(" ");
                assert!(arguments.starts_with(verb), "{verb}: {call}");
            }
        }
    }

    #[test]
    fn every_example_parses() {
        let mut wrong = Vec::new();
        for (_, calls) in all_examples() {
            for call in *calls {
                if let Err(error) = full_command().try_get_matches_from(words(call)) {
                    wrong.push(format!("{call}: {error}"));
                }
            }
        }
        assert_eq!(wrong, Vec::<String>::new());
    }

    #[test]
    fn help_ends_with_examples() {
        let mut program = full_command();
        program.build();
        let undo = program.find_subcommand_mut("undo").unwrap();
        insta::assert_snapshot!(undo.render_help().to_string(), @r"
        Undo a landed run with a new commit

        Usage: agentos undo [OPTIONS] [RUN]

        Arguments:
          [RUN]  Run to undo; `agentos log --help` lists the forms [default: the last landed run]

        Options:
              --policy <FILE>  Add a policy file that further restricts what is allowed; can be repeated
          -y, --yes            Consent if policy asks for it; a deny stays a deny
              --dry-run        Show what would happen and write nothing but evidence

        Global options:
              --repo <DIR>  Use the repository in this folder [default: the current one]
              --json        Print one JSON document instead of text
          -h, --help        Print a summary with `-h`, and everything with `--help`

        Examples:
          agentos undo
          agentos undo RUN --dry-run
        ");
    }
}
