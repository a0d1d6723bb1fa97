//! What to do next is data below the front ends: no sentence there names a flag or verb of this command line.

use std::path::Path;

use crate::reference::{source, sources};

/// Crates whose sentences still do.
const NOT_YET: &[&str] = &[
    "agentos-host",
    // The flag that it names is of the server's own program.
    "agentos-llamacpp",
];

/// Returns the lines of a crate's code, without comments and tests, that name a flag or verb between backticks.
fn naming_lines(krate: &Path) -> Vec<String> {
    let mut files = Vec::new();
    sources(&krate.join("src"), &mut files);
    let mut found = Vec::new();
    for file in files {
        for line in source(&file).lines() {
            let is_comment = line.trim_start().starts_with("//");
            let names_flag = line
                .split("`--")
                .skip(1)
                .any(|rest| rest.starts_with(char::is_alphabetic));
            if !is_comment && (names_flag || line.contains("`agentos ")) {
                found.push(format!("{}: {}", file.display(), line.trim()));
            }
        }
    }
    found
}

#[test]
fn no_crate_below_the_front_ends_names_a_flag_or_verb_but_those_not_converted_yet() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut wrong = Vec::new();
    let mut seen = 0;
    for layer in ["words", "decide", "effects", "adapters", "flow"] {
        for entry in std::fs::read_dir(crates.join(layer)).unwrap() {
            let krate = entry.unwrap().path();
            let name = krate.file_name().unwrap().to_string_lossy().into_owned();
            let lines = naming_lines(&krate);
            match (NOT_YET.contains(&name.as_str()), lines.is_empty()) {
                (false, false) => wrong.extend(lines),
                (true, true) => wrong.push(format!("{name} is converted: take it out of the list")),
                (true, false) => seen += 1,
                (false, true) => {}
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new(), "give a `NextStep` instead");
    assert_eq!(seen, NOT_YET.len(), "a crate of the list is not there");
}
