//! The guides: every path that they name exists.
//!
//! Owns: which documents are guides, what counts as a path in them, and whether it is in the tree. Never: checks an address
//! outside the repository, or a text between fences, which is an example.
//!
//! A path in backticks is written from the top of the repository: its first part is a folder at the top. It may contain
//! `*`, alternatives in braces, and one of [`PLACEHOLDERS`]. A link is relative to the document, as Markdown requires.

use std::collections::BTreeSet;

use super::Tree;

/// Parts of a path that can have any value.
const PLACEHOLDERS: [&str; 3] = ["NAME", "VERB", "CRATE"];
/// Folders of a crate. A path that begins with one of them does not say of which crate.
const CRATE_FOLDERS: [&str; 4] = ["src", "tests", "benches", "examples"];

/// Returns true for the documents that lead a newcomer through the source tree.
pub fn is_guide(file: &str) -> bool {
    let in_github = file.strip_prefix(".github/").filter(|name| !name.contains('/'));
    matches!(file, "README.md" | "crates/README.md") || in_github.is_some_and(|name| name.ends_with(".md"))
}

/// Reports paths in the guides that do not exist, and short paths, which nothing can check.
pub fn check_documents(tree: &Tree) -> Vec<String> {
    let places = list_places(tree);
    let guides = tree.texts.iter().filter(|(file, _)| is_guide(file));
    guides
        .flat_map(|(file, text)| check_guide(file, text, &places))
        .collect()
}

/// Lists every file and folder of the tree.
fn list_places(tree: &Tree) -> BTreeSet<&str> {
    let mut places = BTreeSet::new();
    for file in &tree.files {
        places.insert(file.as_str());
        places.extend(file.match_indices('/').filter_map(|(at, _)| file.get(..at)));
    }
    places
}

/// Checks the links and the code spans of one guide.
fn check_guide(file: &str, text: &str, places: &BTreeSet<&str>) -> Vec<String> {
    let prose = without_fences(text);
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let links = prose.match_indices("](").filter_map(|(at, found)| {
        let rest = prose.get(at + found.len()..)?;
        let target = rest.split(')').next()?;
        let problem = judge_link(folder, target, places)?;
        Some((at, problem))
    });
    // Every second part is inside backticks. A span can continue on the next line, so lines are not split first.
    let mut at = 0;
    let mut spans = Vec::new();
    for (number, part) in prose.split('`').enumerate() {
        if number % 2 == 1 {
            let words = part.split_whitespace();
            spans.extend(words.filter_map(|word| Some((at, judge_word(word, places)?))));
        }
        at += part.len() + 1;
    }
    let line = |at: usize| prose.get(..at).unwrap_or_default().matches('\n').count() + 1;
    links
        .chain(spans)
        .map(|(at, problem)| format!("`{file}` line {}: {problem}", line(at)))
        .collect()
}

/// Empties the lines of fenced blocks, and keeps the line breaks so that line numbers stay true.
fn without_fences(text: &str) -> String {
    let mut inside = false;
    let mut prose = String::new();
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        inside ^= is_fence;
        if !inside && !is_fence {
            prose.push_str(line);
        }
        prose.push('\n');
    }
    prose
}

/// Judges the target of a link. `None` if it exists, or is not a path in the repository.
fn judge_link(folder: &str, target: &str, places: &BTreeSet<&str>) -> Option<String> {
    let path = target.split('#').next().unwrap_or_default();
    if path.is_empty() || path.contains(':') {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part != ".." {
            parts.push(part);
        } else if parts.pop().is_none() {
            return Some(format!("the link `{target}` leads out of the repository"));
        }
    }
    let found = parts.join("/");
    (!places.contains(found.as_str())).then(|| format!("the link `{target}` leads to nothing"))
}

/// Judges a word in backticks. `None` if it is a path that exists, or is no path in the repository.
fn judge_word(word: &str, places: &BTreeSet<&str>) -> Option<String> {
    let path = word.trim_matches(|c: char| "\"'(),;:".contains(c));
    let (first, _) = path.split_once('/')?;
    let path = path.trim_end_matches('/');
    if CRATE_FOLDERS.contains(&first) {
        return Some(format!(
            "`{path}` does not say of which crate: write it from the top"
        ));
    }
    if !places.contains(first) {
        // A Rust file is always one of ours. Other paths can be those of a user's machine or repository.
        return path
            .ends_with(".rs")
            .then(|| format!("`{path}` is not a path from the top of the repository"));
    }
    let missing = expand_braces(path)
        .into_iter()
        .find(|path| !places.iter().any(|place| fits_pattern(path, place)));
    missing.map(|path| format!("`{path}` does not exist"))
}

/// Returns one path for each alternative in the first pair of braces.
fn expand_braces(path: &str) -> Vec<String> {
    match path
        .split_once('{')
        .and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        Some((before, (inside, after))) => {
            let names = inside.split(',');
            names.map(|name| format!("{before}{name}{after}")).collect()
        }
        None => vec![path.to_owned()],
    }
}

/// Returns true if a place fits a pattern, part by part.
fn fits_pattern(pattern: &str, place: &str) -> bool {
    let (parts, names) = (pattern.split('/'), place.split('/'));
    parts.clone().count() == names.clone().count()
        && parts.zip(names).all(|(part, name)| {
            let placeholder = PLACEHOLDERS.iter().find(|word| part.contains(**word));
            let part = placeholder.map_or_else(|| part.to_owned(), |word| part.replace(*word, "*"));
            match part.split_once('*') {
                Some((beginning, end)) => {
                    name.len() >= beginning.len() + end.len()
                        && name.starts_with(beginning)
                        && name.ends_with(end)
                }
                None => part == name,
            }
        })
}

#[cfg(test)]
mod tests {
    use super::super::doctored;
    use super::*;

    /// Returns the problems of a guide in a tree with a few other files.
    fn problems(file: &str, text: &str) -> Vec<String> {
        check_documents(&doctored::files(&[
            (file, text),
            ("crates/flow/a/src/lib.rs", ""),
            ("crates/flow/a/src/run.rs", ""),
            ("profiles/llm/x.json", ""),
            (".github/workflows/ci.yml", ""),
        ]))
    }

    #[test]
    fn paths_that_exist_pass() {
        for text in [
            "`crates/flow/a/src/lib.rs` and `crates/flow/a/` and `crates/flow`",
            "`crates/flow/a/src/{lib,run}.rs`, `crates/*/a/src/*.rs`, `profiles/llm/NAME.json`",
            "`python3 crates/flow/a/src/lib.rs OLD`, `.github/workflows/ci.yml`",
            "[map](../crates/flow/a/src/run.rs#top), [`CONTRIBUTING.md`](CONTRIBUTING.md), [here](#here), [out](https://x/y)",
            "`.agentos/policy/*.toml`, `~/.config/x`, `a/`, `origin/main..HEAD`, `lib.rs`",
            "```sh\ncat `src/gone.rs` crates/gone\n```\n",
            "`a\nb` `crates/flow`",
        ] {
            assert_eq!(
                problems(".github/CONTRIBUTING.md", text),
                Vec::<String>::new(),
                "{text}"
            );
        }
    }

    #[test]
    fn each_wrong_path_is_found() {
        for (text, expected) in [
            (
                "x\n`crates/flow/a/src/gone.rs`",
                "line 2: `crates/flow/a/src/gone.rs` does not exist",
            ),
            (
                "`crates/flow/a/src/{lib,gone}.rs`",
                "line 1: `crates/flow/a/src/gone.rs` does not exist",
            ),
            ("`crates/gone/*.rs`", "line 1: `crates/gone/*.rs` does not exist"),
            (
                "`profiles/llm/NAME.toml`",
                "line 1: `profiles/llm/NAME.toml` does not exist",
            ),
            (
                "`src/lib.rs`",
                "line 1: `src/lib.rs` does not say of which crate: write it from the top",
            ),
            (
                "`verify/history.rs`",
                "line 1: `verify/history.rs` is not a path from the top of the repository",
            ),
            (
                "```\nx\n```\n[map](gone.md)",
                "line 4: the link `gone.md` leads to nothing",
            ),
            (
                "[map](../../x.md)",
                "line 1: the link `../../x.md` leads out of the repository",
            ),
        ] {
            let found = problems(".github/CONTRIBUTING.md", text);
            assert_eq!(found, [format!("`.github/CONTRIBUTING.md` {expected}")]);
        }
    }

    #[test]
    fn other_documents_are_not_judged() {
        for file in ["crates/flow/a/README.md", ".github/examples/x.md", "CHANGELOG.md"] {
            assert_eq!(
                problems(file, "`src/gone.rs` [x](gone.md)"),
                Vec::<String>::new(),
                "{file}"
            );
        }
        for file in ["README.md", "crates/README.md", ".github/SECURITY.md"] {
            assert_eq!(problems(file, "`src/gone.rs` [x](gone.md)").len(), 2, "{file}");
        }
    }
}
