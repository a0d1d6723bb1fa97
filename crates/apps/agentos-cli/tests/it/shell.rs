//! Completions and manual pages: what a shell and `man` are given.

use std::collections::BTreeSet;

use crate::support::{SLOPPY_FIX, WORKFLOW_EDIT, agentos, pipe_in, small_repo};

/// What the program offers for the last word of a line, as bash asks for it.
fn offered(dir: &std::path::Path, line: &[&str]) -> Vec<String> {
    let last = line.len() - 1;
    let output = agentos()
        .in_dir(dir)
        .env("AGENTOS_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", last.to_string())
        .env("_CLAP_COMPLETE_COMP_TYPE", "9")
        .env("_CLAP_IFS", "\n")
        .run(&[&["--"], line].concat())
        .unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    output.stdout.lines().map(|word| word.trim().to_owned()).collect()
}

#[test]
fn a_line_completes_to_verbs_providers_and_runs() {
    let repo = small_repo();
    assert_eq!(offered(repo.path(), &["agentos", "dem"]), ["demo"]);
    let providers = offered(repo.path(), &["agentos", "run", "-p", ""]);
    for provider in ["llamacpp", "lmstudio", "openai", "replay"] {
        assert!(providers.iter().any(|known| known == provider), "{providers:?}");
    }
    assert_eq!(
        offered(repo.path(), &["agentos", "tool", "health", "-p", "lla"]),
        ["llamacpp"]
    );

    // Asking for runs where there are none leaves nothing behind.
    let none = offered(repo.path(), &["agentos", "evidence", "show", "2"]);
    assert_eq!(none, Vec::<String>::new());
    assert!(!repo.path().join(".git/agentos").exists());
    let landed = pipe_in(&repo, &["apply", "--json"], SLOPPY_FIX).json().unwrap();
    let run = landed["run"].as_str().unwrap();
    let typed = run.get(..4).unwrap();
    assert_eq!(
        offered(repo.path(), &["agentos", "evidence", "show", typed]),
        [run]
    );
    assert_eq!(offered(repo.path(), &["agentos", "undo", typed]), [run]);
    // The short id is what people see.
    let short = run.rsplit_once('-').unwrap().1;
    for typed in ["", short.get(..3).unwrap()] {
        let found = offered(repo.path(), &["agentos", "undo", typed]);
        assert!(found.iter().any(|id| id == short), "{found:?}");
    }
}

#[test]
fn policies_complete_to_rule_files_and_presets() {
    let repo = small_repo();
    repo.write(".agentos/policy/ours.toml", "version = 1\n");
    repo.write("extra/more.toml", "version = 1\n");
    repo.write("extra/notes.md", "no rules\n");
    let all = offered(repo.path(), &["agentos", "apply", "--policy", ""]);
    assert!(
        all.iter().any(|file| file == ".agentos/policy/ours.toml"),
        "{all:?}"
    );
    assert_eq!(
        offered(
            repo.path(),
            &["agentos", "apply", "--policy", ".agentos/policy/o"]
        ),
        [".agentos/policy/ours.toml"]
    );
    let below = offered(repo.path(), &["agentos", "policy", "check", "--policy", "extra/"]);
    assert_eq!(below, ["extra/more.toml"]);
    assert_eq!(
        offered(repo.path(), &["agentos", "policy", "init", "--preset", "st"]),
        ["strict"]
    );
}

#[test]
fn paths_branches_names_and_answerable_runs_are_offered() {
    let repo = small_repo();
    repo.git(&["branch", "feature"]);
    let landed = pipe_in(&repo, &["apply", "--json"], SLOPPY_FIX).json().unwrap();
    let waiting = pipe_in(&repo, &["apply", "--json"], WORKFLOW_EDIT)
        .json()
        .unwrap();
    let short = |run: &serde_json::Value| {
        run["run"]
            .as_str()
            .unwrap()
            .rsplit_once('-')
            .unwrap()
            .1
            .to_owned()
    };
    let (landed, waiting) = (short(&landed), short(&waiting));
    let dir = repo.path();
    for (line, expected) in [
        (&["run", "x", "--file", "READ"][..], "README.md"),
        (&["run", "x", "--file", "src/"], "src/lib.rs"),
        (&["apply", "--branch", "fea"], "feature"),
        (&["diff", "normalize", "--base", "ma"], "main"),
        (&["schema", "run-l"], "run-log"),
        (&["man", "norm"], "normalize"),
        (&["config", "get", "att"], "attempts"),
        (&["use", "lla"], "llamacpp"),
        (&["run", "x", "-p", "openai/gpt-4o-m"], "openai/gpt-4o-mini"),
        (&["models", "show", "openai/gpt-4o-m"], "openai/gpt-4o-mini"),
        (&["approve", ""], waiting.as_str()),
        (&["deny", ""], waiting.as_str()),
        (&["undo", ""], landed.as_str()),
    ] {
        let words = [&["agentos"][..], line].concat();
        let found = offered(dir, &words);
        assert!(found.iter().any(|word| word == expected), "{line:?}: {found:?}");
    }
    // A run that cannot be answered is not offered.
    let open = offered(dir, &["agentos", "approve", ""]);
    assert!(!open.contains(&landed), "{open:?}");
    let files = offered(dir, &["agentos", "run", "x", "--file", ".g"]);
    assert!(!files.iter().any(|file| file.starts_with(".git/")), "{files:?}");
}

#[test]
fn bash_and_fish_themselves_complete_with_the_script() {
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    // The script starts the program by its name.
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_agentos"))
        .parent()
        .unwrap();
    let script = format!(
        "PATH={}:$PATH; source <(agentos completions bash); COMP_WORDS=(agentos run x --file src/); COMP_CWORD=4; \
         COMP_TYPE=9; _clap_complete_agentos agentos src/ --file; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        folder.display()
    );
    let ask = |shell: &str, args: &[&str]| {
        let mut shell = agentos_testkit::cli::program(shell);
        shell
            .env_clear()
            .envs(cli.world())
            .args(args)
            .current_dir(repo.path());
        shell.output()
    };
    let fish = format!(
        "set -x PATH {} $PATH; agentos completions fish | source; complete -C 'agentos run x --file src/'",
        folder.display()
    );
    match ask("fish", &["-c", &fish]) {
        Ok(output) => {
            let seen = String::from_utf8_lossy(&output.stdout);
            assert!(
                seen.contains("src/lib.rs"),
                "{seen}{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Err(_) => eprintln!("skipped: there is no fish"),
    }
    let Ok(output) = ask("bash", &["-c", &script]) else {
        eprintln!("skipped: there is no bash");
        return;
    };
    let seen = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        seen.contains("src/lib.rs"),
        "{seen}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_page_has_the_usual_sections_and_man_reads_it() {
    let page = agentos().run(&["man", "run"]).unwrap().stdout;
    let version = env!("CARGO_PKG_VERSION");
    assert!(page.contains(&format!("\"agentos {version}\"")), "{page}");
    for section in [
        "SYNOPSIS",
        "OPTIONS",
        "\"EXIT STATUS\"",
        "ENVIRONMENT",
        "FILES",
        "EXAMPLES",
    ] {
        assert!(
            page.contains(&format!(".SH {section}")) || page.contains(&format!(".SH \"{section}\"")),
            "{section}: {page}"
        );
    }
    assert!(page.contains("[\\-\\-base\\-url URL]"), "{page}");
    assert!(!page.contains("EXTRA"), "{page}");
}

#[test]
fn a_half_typed_line_outside_a_repository_is_no_error() {
    let empty = agentos();
    let words = offered(empty.home(), &["agentos", "undo", "2"]);
    assert_eq!(words, Vec::<String>::new());
}

#[test]
fn each_shell_gets_a_script_that_asks_the_program() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = agentos().run(&["completions", shell]).unwrap();
        assert_eq!(output.code, Some(0), "{output}");
        assert!(output.stdout.contains("AGENTOS_COMPLETE"), "{shell}: {output}");
    }
    let output = agentos().run(&["completions", "tcsh"]).unwrap();
    assert_eq!(output.code, Some(2), "{output}");
}

#[test]
fn every_verb_that_help_names_has_a_page() {
    let listed = agentos().run(&["man", "--list"]).unwrap();
    let verbs: BTreeSet<&str> = listed.stdout.lines().collect();
    let help = agentos().run(&["--help"]).unwrap();
    let named = help
        .stdout
        .lines()
        .skip_while(|line| *line != "Daily:")
        .take_while(|line| *line != "Global options:")
        .filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')))
        .filter_map(|line| line.split_whitespace().next());
    let mut seen = 0;
    for verb in named {
        assert!(verbs.contains(verb), "{verb} has no page");
        seen += 1;
    }
    assert!(seen > 10, "the help names {seen} verbs");
    for verb in verbs {
        let words: Vec<&str> = ["man"].into_iter().chain(verb.split(' ')).collect();
        let page = agentos().run(&words).unwrap();
        assert!(page.stdout.contains(".SH SYNOPSIS"), "{verb}: {page}");
    }
    let unknown = agentos().run(&["man", "no-such-verb"]).unwrap();
    assert_eq!(unknown.code, Some(2), "{unknown}");
}
