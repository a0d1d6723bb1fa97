//! What to do next is data below the front ends: no sentence there names a flag or verb of this command line.

use std::collections::BTreeSet;
use std::path::Path;

use crate::reference::{page, source, sources};

/// The verbs and flags of this command line, as its own help lists them.
struct CommandLine {
    /// As in `tool auth set`; a group of verbs, as `tool`, is none by itself.
    verbs: Vec<String>,
    /// The first words of verbs, as `tool`.
    first_words: BTreeSet<String>,
    /// As in `--base-url`; those of one letter are the same in many programs.
    flags: BTreeSet<String>,
}

impl CommandLine {
    /// Reads the reference page, which is made of the arguments' definition.
    fn read() -> Self {
        let page = page();
        let headings = page.lines().filter_map(|line| line.strip_prefix("### agentos "));
        let all: Vec<&str> = headings.collect();
        let is_group = |verb: &str| all.iter().any(|other| other.starts_with(&format!("{verb} ")));
        let mut flags = BTreeSet::new();
        for line in page.lines().map(str::trim_start) {
            for word in line.split(", ").take(2).filter(|word| word.starts_with("--")) {
                let is_part = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
                flags.insert(word.chars().take_while(is_part).collect());
            }
        }
        Self {
            verbs: all
                .iter()
                .filter(|verb| !is_group(verb))
                .map(ToString::to_string)
                .collect(),
            first_words: all
                .iter()
                .filter_map(|verb| verb.split(' ').next())
                .map(str::to_owned)
                .collect(),
            flags,
        }
    }

    /// Returns true if text begins with one of our verbs, so that a person could type it.
    fn begins_with_verb(&self, text: &str) -> bool {
        self.verbs.iter().any(|verb| {
            text.strip_prefix(verb.as_str())
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-'))
        })
    }

    /// Returns what a sentence names of this command line. What it quotes of another program's command line is left out: its
    /// flags are its own, even where ours are called the same.
    fn named_in(&self, sentence: &str) -> BTreeSet<String> {
        let mut named = BTreeSet::new();
        for (number, part) in sentence.split('`').enumerate() {
            let is_quoted = number % 2 == 1;
            let first = part.split_whitespace().next().unwrap_or_default();
            if is_quoted && first == "agentos" {
                let verb = part.split_whitespace().nth(1).unwrap_or_default();
                named.extend(self.first_words.contains(verb).then(|| part.to_owned()));
                continue;
            }
            if is_quoted && !first.starts_with('-') && first != part {
                continue;
            }
            let commands = part.split("agentos ").skip(1);
            named.extend(
                commands
                    .filter(|rest| self.begins_with_verb(rest))
                    .map(str::to_owned),
            );
            for word in part.split_whitespace() {
                let word = word.trim_matches(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
                named.extend(self.flags.contains(word).then(|| word.to_owned()));
            }
        }
        named
    }
}

/// Returns the string literals of a source text, without comments. Escapes stay as they are written.
fn literals(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['"', '\'', '/']) {
        let (before, from) = rest.split_at(at);
        let raw = before.trim_end_matches('#');
        rest = if from.starts_with("//") {
            from.split_once('\n').map_or("", |(_, rest)| rest)
        } else if let Some(from) = from.strip_prefix('"') {
            let (literal, after) = if raw.ends_with('r') {
                let hashes = before.strip_prefix(raw).unwrap_or_default();
                from.split_once(&format!("\"{hashes}")).unwrap_or((from, ""))
            } else {
                let mut is_escaped = false;
                let end = from.find(|c| {
                    let is_end = c == '"' && !is_escaped;
                    is_escaped = c == '\\' && !is_escaped;
                    is_end
                });
                from.split_at(end.unwrap_or(from.len()))
            };
            found.push(literal.to_owned());
            after.strip_prefix('"').unwrap_or(after)
        } else {
            // A quote or an escape as a character begins no string.
            let skipped = ["'\"'", "'\\\\'", "'\\''", "'\\\"'", "'", "/"];
            let mut after = skipped.iter().filter_map(|start| from.strip_prefix(start));
            after.next().unwrap_or_default()
        };
    }
    found
}

#[test]
fn no_crate_below_the_front_ends_names_a_flag_or_verb() {
    let ours = CommandLine::read();
    assert!(ours.flags.len() > 50 && ours.verbs.len() > 30, "{:?}", ours.flags);
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut wrong = Vec::new();
    let mut seen = 0;
    for layer in ["words", "decide", "effects", "adapters", "flow"] {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(crates.join(layer)).unwrap() {
            sources(&entry.unwrap().path().join("src"), &mut files);
        }
        for file in files {
            for literal in literals(&source(&file)) {
                seen += 1;
                for named in ours.named_in(&literal) {
                    wrong.push(format!("{}: `{named}` in {literal:?}", file.display()));
                }
            }
        }
    }
    assert!(seen > 1000, "{seen}");
    assert_eq!(wrong, Vec::<String>::new(), "give a `NextStep` instead");
}

#[test]
fn string_literals_are_found_in_a_source() {
    let text = r##"a("one", '"', '\"', b"t\"wo"); // "comment"
        let x: &'static str = r#"th"ree"#; y = "four \\";"##;
    assert_eq!(literals(text), ["one", "t\\\"wo", "th\"ree", "four \\\\"]);
}

#[test]
fn a_flag_of_another_program_is_told_from_one_of_ours() {
    let ours = CommandLine::read();
    for (sentence, named) in [
        ("give it more time with --timeout SECONDS", 1),
        ("set it with `--base-url`, or look at `agentos tool health`", 2),
        ("agentos demo", 1),
        ("run `git commit --message start`", 0),
        ("start `llama-server -m MODEL.gguf --port 8080`", 0),
        ("agentos policy 2", 0),
        ("say what `agentos` may do", 0),
    ] {
        assert_eq!(ours.named_in(sentence).len(), named, "{sentence}");
    }
}
