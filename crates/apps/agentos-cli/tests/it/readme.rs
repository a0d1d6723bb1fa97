//! The README: every line of it that a person could type is typed here.

use std::path::{Path, PathBuf};

use agentos_testkit::redact::Redactor;
use agentos_testkit::repo::{TestRepo, make_dir, make_link};
use agentos_testkit::server::closed_port;

use crate::support::{SLOPPY_FIX, agentos, chat_server, small_repo};

/// Lines that others run: the tests of the demo, the machine that runs these tests, the makers of releases.
const RUN_ELSEWHERE: &[&str] = &["cargo run -- demo", "cargo xtask ci"];

fn readme() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    std::fs::read_to_string(root.join("README.md")).unwrap()
}

/// The lines of all fenced blocks in this language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match line.strip_prefix("```") {
            Some(of) if !inside => inside = of == language,
            Some(_) => inside = false,
            None if inside => found.push(line.to_owned()),
            None => {}
        }
    }
    found
}

/// Each call with the lines below it.
fn calls(lines: &[String]) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in lines {
        match (line.strip_prefix("$ "), found.last_mut()) {
            (Some(call), _) => found.push((call.to_owned(), String::new())),
            (None, Some((_, output))) => {
                output.push_str(line);
                output.push('\n');
            }
            (None, None) => panic!("`{line}` belongs to no call"),
        }
    }
    found
}

/// How many rules or records there are changes with every release and is not what the page is about.
fn numberless(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            c if !c.is_ascii_digit() => out.push(c),
            _ if out.ends_with('#') => {}
            _ => out.push('#'),
        }
    }
    out
}

/// A folder that holds nothing but the program, by its usual name.
fn bin(repo: &TestRepo) -> PathBuf {
    let bin = repo.outside().join("bin");
    make_dir(&bin);
    make_link(&bin.join("agentos"), env!("CARGO_BIN_EXE_agentos"));
    bin
}

#[test]
fn what_the_readme_shows_is_what_happens() {
    let repo = small_repo();
    repo.write("reply.md", SLOPPY_FIX);
    let server = chat_server(SLOPPY_FIX, || {});
    let closed = closed_port().unwrap();
    let bin = bin(&repo).display().to_string();
    let cli = agentos()
        .in_dir(repo.path())
        .env("AGENTOS_VLLM_BASE_URL", format!("{}/v1", server.url()))
        .env("AGENTOS_OLLAMA_BASE_URL", &closed);
    let redactor = Redactor::new().unwrap();
    let at = |url: &str| url.trim_start_matches("http://").to_owned();
    let told = |text: &str| {
        let text = text
            .replace(&repo.path().display().to_string(), "/home/anna/small")
            .replace(&at(&server.url()), "localhost:8000")
            .replace(&at(&closed), "localhost:11434")
            // So it is said where there is no keyring.
            .replace("auth set --store file ", "auth set ");
        numberless(&redactor.redact(&text))
    };
    let mut seen = Vec::new();
    let mut shown = Vec::new();
    for (call, expected) in calls(&blocks(&readme(), "console")) {
        let output = agentos_testkit::cli::program("sh")
            .args(["-c", &format!("PATH={bin}:$PATH; {call} 2>&1")])
            .current_dir(repo.path())
            .env_clear()
            .envs(cli.world())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        seen.push(format!("$ {call}\n{}\n", told(text.trim_end())));
        shown.push(format!("$ {call}\n{}\n", told(expected.trim_end())));
    }
    assert!(seen.len() > 5, "{seen:?}");
    assert!(
        seen == shown,
        "the README shows something else; this is what happens:\n{}",
        seen.concat()
    );
}

#[test]
fn every_other_line_to_type_is_run_elsewhere() {
    let text = readme();
    assert!(text.lines().count() <= 150, "{} lines", text.lines().count());
    for line in blocks(&text, "sh") {
        let call = line.split('#').next().unwrap_or_default().trim();
        assert!(RUN_ELSEWHERE.contains(&call), "nobody runs `{call}`");
    }
    for language in ["bash", "shell"] {
        assert_eq!(blocks(&text, language), Vec::<String>::new());
    }
}

/// The map, which is also the guide.
fn guide() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    std::fs::read_to_string(root.join("crates/README.md")).unwrap()
}

#[test]
fn the_policy_of_the_guide_is_one() {
    let repo = small_repo();
    repo.write("rules/guide.toml", blocks(&guide(), "toml").join("\n"));
    let output = agentos()
        .in_dir(repo.path())
        .run(&["policy", "test", "--rules", "rules"])
        .unwrap();
    assert_eq!(output.code, Some(0), "{output}");
}

#[test]
fn what_stands_between_backticks_parses() {
    let text = readme() + &guide();
    let quoted = text
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|quoted| quoted.starts_with("agentos "));
    let mut count = 0;
    for call in quoted.filter(|call| !call.contains("VERB") && !call.contains(" __")) {
        let mut words: Vec<&str> = call.split(' ').skip(1).collect();
        // A program of its own comes after two dashes; help is asked for before it could start.
        let end = words.iter().position(|word| *word == "--").unwrap_or(words.len());
        words.truncate(end);
        words.push("--help");
        let output = agentos().run(&words).unwrap();
        assert_eq!(output.code, Some(0), "`{call}`: {output}");
        count += 1;
    }
    assert!(count > 3, "the README names {count} calls");
}

#[test]
fn every_place_that_the_readme_leads_to_is_there() {
    let text = readme();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let gone: Vec<&str> = links
        .filter(|link| !link.starts_with("http") && !link.starts_with('#'))
        .filter(|link| !root.join(link.split('#').next().unwrap_or(link)).exists())
        .collect();
    assert_eq!(gone, Vec::<&str>::new());
}
