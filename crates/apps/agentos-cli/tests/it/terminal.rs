//! What a person sees: pagers, colours, narrow screens, pipes and the line ends of Windows.

use std::path::Path;

use agentos_testkit::cli::Cli;
use agentos_testkit::repo::{TestRepo, set_mode, write_file};

use crate::support::{SLOPPY_FIX, WORKFLOW_EDIT, agentos, call_on_terminal, pipe_in, run_in, small_repo};

const ESCAPE: char = '\u{1b}';

/// Calls the program on a terminal of this many columns and 24 lines, and returns the screen. `None`, with a word on screen, if
/// no terminal can be made.
fn on_terminal(cli: &Cli, dir: &Path, columns: usize, variables: &str, call: &str) -> Option<String> {
    let line = format!("{variables} {} {call}", env!("CARGO_BIN_EXE_agentos"));
    let mut script = call_on_terminal(cli, dir, (columns, 24), &line)?;
    let output = script.env_remove("NO_COLOR").output().unwrap();
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut parts = text.split(ESCAPE);
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        out.push_str(part.split_once('m').map_or(part, |(_, rest)| rest));
    }
    out.replace('\r', "")
}

#[test]
fn a_long_text_goes_through_the_pager_that_the_user_chose() {
    let cli = agentos();
    let dir = cli.home().to_owned();
    // The pager marks each line; `policy facts` is longer than a screen, `models show` is not.
    let pager = dir.join("marks");
    write_file(
        &pager,
        "#!/bin/sh\nwhile read -r line; do echo \"paged $line\"; done\n",
    );
    set_mode(&pager, 0o755);
    let (own, usual) = (
        format!("AGENTOS_PAGER={}", pager.display()),
        format!("PAGER={}", pager.display()),
    );
    let off = format!("AGENTOS_PAGER= {usual}");
    let cases: &[(&str, &str, bool)] = &[
        (&own, "policy facts", true),
        (&usual, "policy facts", true),
        (&usual, "policy facts --no-pager", false),
        (&usual, "--json schema outcome", false),
        (&usual, "models show openai/gpt-4o", false),
        (&usual, "policy facts | cat", false),
        (&off, "policy facts", false),
        ("PAGER=cat", "policy facts", false),
    ];
    for (variables, call, paged) in cases {
        let Some(seen) = on_terminal(&cli, &dir, 80, variables, call) else {
            return;
        };
        assert!(seen.lines().count() > 8, "{call}: {seen}");
        assert_eq!(seen.contains("paged "), *paged, "{variables} {call}: {seen}");
    }
    // One that is not there is said, and the text is shown all the same.
    let seen = on_terminal(&cli, &dir, 80, "PAGER=no-such-pager", "policy facts").unwrap_or_default();
    assert!(seen.contains("the pager `no-such-pager` was not found"), "{seen}");
    assert!(
        seen.contains("late-attempts") && seen.contains("--no-pager"),
        "{seen}"
    );
}

#[test]
fn a_repository_cannot_name_a_pager() {
    let repo = small_repo();
    repo.git(&["config", "core.pager", "touch paged-by-repository"]);
    repo.git(&["config", "pager.agentos", "touch paged-by-repository"]);
    pipe_in(&repo, &["apply"], SLOPPY_FIX);
    let cli = agentos();
    let Some(seen) = on_terminal(&cli, repo.path(), 80, "PAGER=cat", "policy show") else {
        return;
    };
    assert!(seen.contains("default.edit"), "{seen}");
    assert!(!repo.path().join("paged-by-repository").exists());
}

#[test]
fn colours_are_for_terminals_unless_the_environment_says_otherwise() {
    let repo = small_repo();
    let cases: &[(&[(&str, &str)], bool)] = &[
        (&[], false),
        (&[("NO_COLOR", ""), ("CLICOLOR_FORCE", "1")], true),
        (&[("NO_COLOR", "1")], false),
        (&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], false),
    ];
    for (variables, coloured) in cases {
        let cli = agentos().in_dir(repo.path());
        let cli = variables
            .iter()
            .fold(cli, |cli, (name, value)| cli.env(*name, *value));
        let output = cli.run(&["policy", "show"]).unwrap();
        assert_eq!(
            output.stdout.contains(ESCAPE),
            *coloured,
            "{variables:?}: {output}"
        );
        let failed = cli.run(&["apply", "no-such-file"]).unwrap();
        assert_eq!(
            failed.stderr.contains(ESCAPE),
            *coloured,
            "{variables:?}: {failed}"
        );
        // Data for programs is never painted.
        let json = cli.run(&["--json"]).unwrap();
        assert!(!json.stdout.contains(ESCAPE), "{variables:?}: {json}");
    }
    for (variables, coloured) in [("", true), ("NO_COLOR=1", false), ("TERM=dumb", false)] {
        let Some(seen) = on_terminal(&agentos(), repo.path(), 80, variables, "--no-pager policy show") else {
            return;
        };
        assert_eq!(seen.contains(ESCAPE), coloured, "{variables}: {seen:?}");
    }
}

#[test]
fn the_numbers_of_an_answer_are_cleared_before_anything_else_is_printed() {
    let repo = small_repo();
    repo.write("answer.md", SLOPPY_FIX);
    let cases = [
        ("", "", true, true),
        ("NO_COLOR=1", "", true, false),
        // Nothing can be cleared there.
        ("TERM=dumb", "", false, false),
        ("", "--quiet ", false, true),
    ];
    for (variables, flags, drawn, coloured) in cases {
        let call = format!("{flags}tool run -p replay --replay answer.md fix");
        let Some(seen) = on_terminal(&agentos(), repo.path(), 60, variables, &call) else {
            return;
        };
        let numbers = "waiting for the first token, ";
        assert_eq!(seen.contains(numbers), drawn, "{variables} {call}: {seen:?}");
        assert_eq!(
            seen.contains("\u{1b}[2m"),
            coloured,
            "{variables} {call}: {seen:?}"
        );
        let others = seen.lines().filter(|line| !line.is_empty());
        for line in others {
            // What clears a line of a terminal, and goes to its beginning.
            let (_, left) = line.rsplit_once("\r\u{1b}[2K").unwrap_or(("", line));
            assert!(!left.contains(numbers), "{variables} {call}: {seen:?}");
        }
        assert!(seen.contains("+    a + b"), "{variables} {call}: {seen:?}");
    }
}

#[test]
fn on_a_narrow_terminal_nothing_is_lost() {
    let repo = small_repo();
    repo.write("fix.md", SLOPPY_FIX);
    let cli = agentos();
    let Some(seen) = on_terminal(&cli, repo.path(), 40, "", "apply fix.md --explain --no-pager") else {
        return;
    };
    let diff: Vec<String> = plain(&seen)
        .lines()
        .skip_while(|line| !line.is_empty())
        .map(|line| line.trim_end().to_owned())
        .collect();
    insta::assert_snapshot!(diff.join("\n"), @r"
            src/lib.rs
            index 24449159682923228648b587f7912f134cb1a8b7..65f826dae4c6dd3f972382d97b31a3e4a6f054d2 100644
            --- a/src/lib.rs
            +++ b/src/lib.rs
            @@ -2,7 +2,7 @@

             /// The sum of two numbers.
             pub fn add(a: i64, b: i64) -> i64 {
    moved   -    a - b
            +    a + b
             }

             /// The product of two numbers.
    ");
    let help = on_terminal(&cli, repo.path(), 40, "", "run --help").unwrap_or_default();
    let help = plain(&help);
    let long: Vec<&str> = help
        .lines()
        .take_while(|line| !line.starts_with("Examples"))
        .filter(|line| !line.starts_with("Usage:") && line.trim_end().chars().count() > 40)
        .collect();
    assert_eq!(long, Vec::<&str>::new());
}

#[test]
fn on_a_wide_terminal_old_and_new_stand_side_by_side_with_the_rungs_beside_them() {
    let repo = small_repo();
    repo.write("fix.md", SLOPPY_FIX);
    let Some(seen) = on_terminal(&agentos(), repo.path(), 160, "", "diff normalize fix.md") else {
        return;
    };
    let lines: Vec<String> = plain(&seen)
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
            src/lib.rs
            index 24449159682923228648b587f7912f134cb1a8b7..65f826dae4c6dd3f972382d97b31a3e4a6f054d2 100644
            --- a/src/lib.rs
            +++ b/src/lib.rs
            @@ -2,7 +2,7 @@
              2                                                                      │   2
              3  /// The sum of two numbers.                                         │   3  /// The sum of two numbers.
              4  pub fn add(a: i64, b: i64) -> i64 {                                 │   4  pub fn add(a: i64, b: i64) -> i64 {
    moved     5 -    a - b                                                           │   5 +    a + b
              6  }                                                                   │   6  }
              7                                                                      │   7
              8  /// The product of two numbers.                                     │   8  /// The product of two numbers.
    ");
    // A pipe gets the diff itself.
    let piped = run_in(&repo, &["diff", "normalize", "fix.md"]).stdout;
    assert!(
        piped.starts_with("diff --git a/src/lib.rs b/src/lib.rs\n"),
        "{piped}"
    );
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let cli = agentos();
    let program = env!("CARGO_BIN_EXE_agentos");
    let line = format!("{program} models list | head -n 1; {program} man --reference | true");
    let output = agentos_testkit::cli::program("sh")
        .args(["-c", &line])
        .env_clear()
        .envs(cli.world())
        .output()
        .unwrap();
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The same text with the line ends of Windows.
fn windows(text: &str) -> String {
    text.replace('\n', "\r\n")
}

#[test]
fn windows_line_ends_in_answers_policies_profiles_and_ignore_files_change_nothing() {
    let repo = small_repo();
    repo.write(
        ".agentos/policy/own.toml",
        windows("version = 1\n[[rule]]\nid = \"own.docs\"\neffect = \"deny\"\nwhy = \"by hand\"\npaths = [\"docs/**\"]\n"),
    );
    repo.write(
        ".agentos/profiles/mine.json",
        windows("{\n  \"provider\": \"mine\",\n  \"adapter\": \"openai\",\n  \"base_url\": \"http://localhost:9/v1\",\n  \"model\": \"m\"\n}\n"),
    );
    repo.write("data/add.rs", "fn add() {}\n");
    repo.write(".agentosignore", windows("data/\n"));
    repo.commit_all("settings");
    let shown = run_in(&repo, &["policy", "show"]).stdout;
    assert!(shown.contains("own.docs"), "{shown}");
    let profile = run_in(&repo, &["profile", "show", "mine", "--json"])
        .json()
        .unwrap();
    assert_eq!(profile["values"]["model"]["value"], "m");
    let context = run_in(
        &repo,
        &["run", "-p", "mine", "mend add()", "--context", "show", "--json"],
    );
    let context = context.json().unwrap();
    let paths: Vec<&str> = context["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["src/lib.rs"], "{context:#}");
    // An answer with such line ends lands in a file with plain ones, and leaves it plain.
    let landed = pipe_in(&repo, &["apply"], &windows(SLOPPY_FIX));
    assert_eq!(landed.code, Some(0), "{landed}");
    let text = String::from_utf8(repo.read("src/lib.rs")).unwrap();
    assert!(text.contains("a + b") && !text.contains('\r'), "{text:?}");
}

/// What comes of `apply fix.diff` on a terminal where a person answers so, as `printf` writes it: the exit code, and what
/// is seen. None where no terminal can be made, which is said.
fn answered(repo: &TestRepo, answer: &str) -> Option<(Option<i32>, String)> {
    if !Path::new("/usr/bin/script").exists() {
        eprintln!("skipped: no `script` here to make a terminal with");
        return None;
    }
    let line = format!("{} apply fix.diff", env!("CARGO_BIN_EXE_agentos"));
    let typed = format!("printf '{answer}' | script --quiet --return --command '{line}' /dev/null");
    let output = agentos_testkit::cli::program("sh")
        .args(["-c", &typed])
        .current_dir(repo.path())
        .env_clear()
        .envs(agentos().world())
        .output()
        .unwrap();
    Some((
        output.status.code(),
        plain(&String::from_utf8_lossy(&output.stdout)),
    ))
}

#[test]
fn a_person_may_answer_with_windows_line_ends() {
    let repo = small_repo();
    repo.write("fix.diff", WORKFLOW_EDIT);
    let Some((_, seen)) = answered(&repo, "y\\r\\n") else {
        return;
    };
    assert!(seen.contains("landed 1 file"), "{seen}");
}

#[test]
fn a_no_is_taken_for_a_no() {
    let repo = small_repo();
    repo.write("fix.diff", WORKFLOW_EDIT);
    let Some((code, seen)) = answered(&repo, "n\\n") else {
        return;
    };
    assert_eq!(code, Some(4), "{seen}");
    assert!(seen.contains("declined; nothing was landed\n"), "{seen}");
    assert!(
        !seen.contains("--yes") && !seen.contains("consent needed"),
        "{seen}"
    );
    let list = run_in(&repo, &["evidence", "list"]).stdout;
    assert!(list.lines().nth(1).unwrap().contains(" declined "), "{list}");
}
