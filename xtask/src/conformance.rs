//! The table of servers: one row for each odd answer that is tested, with what a person gets of it.
//!
//! Owns: the page, made from the recorded answers and from the snapshots of the tests that play them. Never: plays an answer.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use xshell::{Shell, cmd};

/// The page, from the top of the repository.
pub const PAGE: &str = "crates/apps/agentos-cli/SERVERS.md";
/// The recorded answers, one folder for each server.
const ANSWERS: &str = "crates/dev/agentos-testkit/fixtures/oddities";
/// Longest result in the table, in characters.
const LONGEST: usize = 220;

/// Servers in the order of the page: folder and name for people. Folders that are not listed follow under their own names.
const SERVERS: [(&str, &str); 11] = [
    ("llamacpp", "llama.cpp"),
    ("ollama", "Ollama"),
    ("vllm", "vLLM"),
    ("sglang", "SGLang"),
    ("lmstudio", "LM Studio"),
    ("openrouter", "OpenRouter"),
    ("groq", "Groq"),
    ("mistral", "Mistral"),
    ("azure", "Azure"),
    ("gemini", "Gemini"),
    ("anthropic", "Anthropic"),
];

/// Makes the page.
///
/// # Errors
/// When an answer cannot be read, has no head, or is played by no test.
pub fn render_page(sh: &Shell) -> Result<String> {
    let results = list_results(sh)?;
    let mut servers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for folder in sh.read_dir(ANSWERS)? {
        let server = name_of(&folder);
        for file in sh.read_dir(&folder)? {
            let id = format!("{server}/{}", name_of(&file));
            // Some answers are bytes that are not text.
            let bytes = sh.read_binary_file(&file)?;
            let row = make_row(&id, &String::from_utf8_lossy(&bytes), &results)?;
            servers.entry(server.clone()).or_default().push(row);
        }
    }
    let mut page = "# Servers\n\nOdd answers of model servers that the tests play, and what a conversation or a person gets of each, made by \
        `cargo xtask schemas`. A text in quotes is the answer; `[code]` is an error with its message.\n"
        .to_owned();
    let listed = SERVERS.map(|(folder, name)| (folder.to_owned(), name.to_owned()));
    let others = servers
        .keys()
        .filter(|folder| !listed.iter().any(|(known, _)| known == *folder));
    let others: Vec<(String, String)> = others.map(|folder| (folder.clone(), folder.clone())).collect();
    for (folder, name) in listed.into_iter().chain(others) {
        let rows = servers
            .get(&folder)
            .with_context(|| format!("there is no answer of `{folder}` in {ANSWERS}"))?;
        page.push_str(&format!(
            "\n## {name}\n\n| answer | source | status | result |\n| --- | --- | --- | --- |\n{}",
            rows.concat()
        ));
    }
    Ok(page)
}

fn name_of(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn make_row(id: &str, text: &str, results: &BTreeMap<String, String>) -> Result<String> {
    let note = |name: &str| {
        let mut lines = text.lines();
        let found = lines.find_map(|line| line.strip_prefix("# ")?.strip_prefix(name)?.strip_prefix(": "));
        found.with_context(|| format!("the answer `{id}` has no `{name}`"))
    };
    let mut lines = text.lines().skip_while(|line| line.starts_with('#'));
    let status = lines
        .next()
        .and_then(|line| line.split(' ').nth(1))
        .unwrap_or_default();
    let Some(result) = results.get(id) else {
        bail!("no snapshot of a test has the answer `{id}`");
    };
    let cells = [note("about")?, note("source")?, status, result].map(escape_cell);
    Ok(format!("| {} |\n", cells.join(" | ")))
}

fn escape_cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

/// Finds the first line about each answer in the snapshots of the adapters' tests, as in `groq/usage-in-x-groq: "Hello"`.
fn list_results(sh: &Shell) -> Result<BTreeMap<String, String>> {
    let files = cmd!(
        sh,
        "git ls-files --cached --others --exclude-standard crates/adapters/*tests.rs"
    )
    .quiet()
    .read()?;
    let mut results = BTreeMap::new();
    for file in files.lines() {
        for line in sh.read_file(file)?.lines() {
            // A snapshot of one line stands behind its call.
            let line = line
                .split_once("@r#\"")
                .map_or(line, |(_, snapshot)| snapshot.trim_end_matches("\"#);"));
            let Some((id, result)) = line.trim_start().split_once(": ") else {
                continue;
            };
            let is_id = id.split('/').count() == 2
                && id
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '/' | '-'));
            if is_id {
                results.entry(id.to_owned()).or_insert_with(|| shorten(result));
            }
        }
    }
    Ok(results)
}

fn shorten(result: &str) -> String {
    match result.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} …", result.get(..end).unwrap_or_default()),
        None => result.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recorded_answer_has_a_row_with_its_result() {
        let sh = Shell::new().unwrap();
        sh.change_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
        let page = render_page(&sh).unwrap();
        for (_, name) in SERVERS {
            assert!(page.contains(&format!("## {name}\n")), "{name}");
        }
        assert_eq!(page, sh.read_file(PAGE).unwrap(), "run `cargo xtask schemas`");
    }

    #[test]
    fn an_answer_that_no_test_plays_is_an_error() {
        let text = "# about: a\n# source: b\n# wire: openai\nHTTP/1.1 200 OK\n\n";
        let known = BTreeMap::from([("x/y".to_owned(), "\"a|b\"".to_owned())]);
        assert_eq!(
            make_row("x/y", text, &known).unwrap(),
            "| a | b | 200 | \"a\\|b\" |\n"
        );
        assert!(make_row("x/z", text, &known).is_err());
    }
}
