//! Any program as a tool: it works in a copy, in a sandbox, and only the difference comes out.

use std::path::Path;

use agentos_testkit::cli::{Cli, CliOutput};
use agentos_testkit::repo::{TestRepo, make_dir, make_link, remove_file, set_mode};
use serde_json::Value;

use crate::support::{agentos, cache_of, runs_in};

/// A repository with a program's food in it.
fn repo() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("src/a.rs", "one\ntwo\nthree\n");
    repo.write(".gitignore", "target/\n");
    repo.commit_all("first");
    repo
}

/// Runs a shell script as the tool; none, said on screen, where the kernel cannot confine it.
fn run(repo: &TestRepo, flags: &[&str], script: &str) -> Option<(CliOutput, Value)> {
    let cli = agentos()
        .in_dir(repo.path())
        .env("XDG_CACHE_HOME", cache_of(repo));
    let mut args = vec!["run", "-p", "command", "--json"];
    args.extend(flags);
    args.extend(["--", "sh", "-c", script]);
    let output = cli.run(&args).unwrap();
    let outcome: Value = output.json().unwrap();
    if outcome["code"] == "not-confined" {
        eprintln!("skipped: no sandbox on this machine: {}", outcome["message"]);
        return None;
    }
    Some((output, outcome))
}

#[test]
fn the_difference_lands_and_nothing_else_of_what_the_program_did() {
    let repo = repo();
    let script = "sed -i s/two/TWO/ src/a.rs && echo new > docs.md && mkdir target && echo built > target/x && \
                  git add -A && git commit -qm mine && git branch theirs";
    let Some((output, outcome)) = run(&repo, &[], script) else {
        return;
    };
    assert_eq!(output.code, Some(0), "{outcome}");
    assert_eq!(outcome["files"], serde_json::json!(["docs.md", "src/a.rs"]));
    assert_eq!(outcome["result"]["boundary"]["enforcement"], "kernel");
    assert_eq!(repo.read("src/a.rs"), b"one\nTWO\nthree\n");
    assert!(!repo.has("target"));
    // The program's own commit and branch stayed in its copy; ours is the only new one.
    assert_eq!(repo.git(&["rev-list", "--count", "--all"]).trim(), "2");
    assert_eq!(repo.status(), "");
}

#[test]
fn what_holds_a_program_is_in_the_evidence_by_name() {
    let repo = repo();
    let Some((_, outcome)) = run(&repo, &["--dry-run"], "echo said; echo x >> src/a.rs") else {
        return;
    };
    let boundary = &outcome["result"]["boundary"];
    let layers = [
        "mount-namespace",
        "pid-namespace",
        "network-namespace",
        "ipc-namespace",
        "landlock",
        "seccomp",
        "no-new-privileges",
        "unprivileged",
        "limits",
    ];
    assert_eq!(boundary["layers"], serde_json::json!(layers));
    assert!(boundary["landlock_abi"].as_u64().unwrap() >= 1);
    assert_eq!(outcome["result"]["wrote_files"], false);
    assert_eq!(repo.read("src/a.rs"), b"one\ntwo\nthree\n");
}

#[test]
fn what_a_program_tried_and_was_refused_is_in_the_evidence() {
    let repo = repo();
    let script = "unshare -U true; unshare -U true; echo x >> src/a.rs";
    let Some((_, outcome)) = run(&repo, &["--dry-run"], script) else {
        return;
    };
    let refused = &outcome["result"]["boundary"]["refused"];
    assert_eq!(*refused, serde_json::json!([{"call": "unshare", "times": 2}]));
    let shown = agentos()
        .in_dir(repo.path())
        .run(&["evidence", "show", "--json"])
        .unwrap();
    assert!(
        shown.stdout.contains("\"call\": \"unshare\"") || shown.stdout.contains("\"call\":\"unshare\""),
        "{shown}"
    );
    // Of one that had to be killed as well.
    let output = agentos()
        .in_dir(repo.path())
        .run(&[
            "run",
            "-p",
            "command",
            "--timeout",
            "1",
            "--json",
            "--",
            "sh",
            "-c",
            "unshare -U true; sleep 60",
        ])
        .unwrap();
    let outcome: Value = output.json().unwrap();
    assert_eq!(outcome["result"]["status"], "timeout", "{outcome}");
    assert_eq!(outcome["result"]["boundary"]["refused"][0]["call"], "unshare");
}

#[test]
fn a_program_by_absolute_path_shows_nothing_that_lies_next_to_it() {
    for place in ["gen.sh", "bin/gen.sh"] {
        let repo = repo();
        let top = repo.path().display().to_string();
        repo.write("lib/settings", "private\n");
        repo.write(".env", "TOKEN=private\n");
        let script = format!(
            "#!/bin/sh\nfor name in .env .git/config .git/HEAD lib/settings src/a.rs README.md ..; do\n  \
             test -e '{top}/'$name && echo \"saw $name\" >> src/a.rs\ndone\necho done >> src/a.rs\n"
        );
        repo.write(place, &script);
        let program = repo.path().join(place);
        set_mode(&program, 0o755);
        let output = agentos()
            .in_dir(repo.path())
            .run(&["run", "-p", "command", "--json", "--", program.to_str().unwrap()])
            .unwrap();
        let outcome: Value = output.json().unwrap();
        if outcome["code"] == "not-confined" {
            eprintln!("skipped: no sandbox on this machine: {}", outcome["message"]);
            return;
        }
        assert_eq!(outcome["files"], serde_json::json!(["src/a.rs"]), "{outcome}");
        let seen = String::from_utf8(repo.read("src/a.rs")).unwrap();
        // The folder is there, with the program in it.
        assert_eq!(seen, "one\ntwo\nthree\nsaw ..\ndone\n", "{place}");
    }
}

#[test]
fn a_program_sees_neither_the_repository_nor_the_home_nor_the_environment() {
    let repo = repo();
    let place = repo.path().display().to_string();
    let script = format!(
        "test -e '{place}/.git/HEAD' && echo saw the repository >> src/a.rs; \
         test -n \"$AGENTOS_OPENAI_API_KEY\" && echo saw a key >> src/a.rs; \
         test \"$(id -u)\" = 0 && echo is root >> src/a.rs; \
         echo x > '{place}/escaped' && echo wrote outside >> src/a.rs; true"
    );
    let Some((_, outcome)) = run(&repo, &[], &script) else {
        return;
    };
    assert_eq!(outcome["outcome"], "nothing-to-do", "{outcome}");
    assert!(!repo.has("escaped"));
}

#[test]
fn a_program_that_may_read_everything_sees_no_process_of_the_outside_and_writes_nothing() {
    for place in ["/", "/proc"] {
        let repo = repo();
        let theirs = repo.outside().display().to_string();
        let script = format!("tr '\\0' ' ' < /proc/1/cmdline > src/a.rs; echo x > {theirs}/new; true");
        let Some((output, outcome)) = run(&repo, &["--read", place], &script) else {
            return;
        };
        assert_eq!(output.code, Some(0), "{outcome}");
        let first = String::from_utf8(repo.read("src/a.rs")).unwrap();
        assert!(first.contains("__confine"), "{place}: {first}");
        assert!(!repo.outside().join("new").exists(), "{place}");
    }
}

#[test]
fn a_program_that_fails_or_does_not_end_is_told_and_lands_nothing() {
    let repo = repo();
    for (flags, script, code, exit) in [
        (
            &[][..],
            "echo changed >> src/a.rs; echo why >&2; exit 3",
            "exit-code",
            5,
        ),
        (
            &["--timeout", "1"],
            "echo changed >> src/a.rs; sleep 60",
            "out-of-time",
            9,
        ),
        (&[], "yes", "too-large", 5),
    ] {
        let Some((output, outcome)) = run(&repo, flags, script) else {
            return;
        };
        assert_eq!(
            (outcome["code"].as_str(), output.code),
            (Some(code), Some(exit)),
            "{outcome}"
        );
        let latency = outcome["result"]["latency_ms"].as_u64().unwrap();
        assert!(code != "out-of-time" || latency >= 1000, "{outcome}");
    }
    assert_eq!(repo.git(&["rev-list", "--count", "--all"]).trim(), "1");
    assert!(cache_of(&repo).join("agentos/copies").is_dir());
    let runs = runs_in(&cache_of(&repo));
    assert!(runs.is_empty(), "a run leaves no folder behind: {runs:?}");
}

#[test]
fn a_link_or_a_binary_file_needs_a_person_or_is_refused() {
    let repo = repo();
    for (script, code, exit) in [
        ("ln -s /etc/passwd link", "symlink-traversal", 6),
        ("ln -s src/a.rs link", "mode-change", 4),
        ("printf '\\0' > src/a.rs", "binary", 3),
        ("printf '\\0' > new.bin", "binary", 4),
    ] {
        let Some((output, outcome)) = run(&repo, &[], script) else {
            return;
        };
        assert_eq!(
            (outcome["code"].as_str(), output.code),
            (Some(code), Some(exit)),
            "{outcome}"
        );
    }
}

#[test]
fn what_a_program_says_is_in_the_evidence() {
    let repo = repo();
    if run(&repo, &[], "echo a word to remember; echo x >> src/a.rs").is_none() {
        return;
    }
    let blobs = repo.path().join(".git/agentos/blobs");
    assert!(
        holds(&blobs, b"a word to remember\n"),
        "no blob is the transcript"
    );
}

fn holds(folder: &Path, bytes: &[u8]) -> bool {
    std::fs::read_dir(folder).unwrap().any(|entry| {
        let place = entry.unwrap().path();
        if place.is_dir() {
            holds(&place, bytes)
        } else {
            std::fs::read(place).unwrap() == bytes
        }
    })
}

#[test]
fn a_folder_that_is_shared_below_a_link_of_the_base_is_not_made_where_the_link_leads() {
    let repo = repo();
    let theirs = repo.outside().join("theirs");
    make_dir(&theirs);
    let packages = repo.path().join("packages");
    make_link(&packages, &theirs.display().to_string());
    repo.write(".gitignore", "built/\n");
    repo.commit_all("a link");
    remove_file(&packages);
    repo.write("packages/built/x", "");
    let Some((_, outcome)) = run(&repo, &["--share", "packages/built"], "true") else {
        return;
    };
    assert_eq!(outcome["code"], "not-ignored", "{outcome}");
    assert_eq!(std::fs::read_dir(&theirs).unwrap().count(), 0);
}

#[test]
fn gits_own_folders_are_shared_with_nobody() {
    let repo = repo();
    repo.write(".gitignore", "clone/\nbare/\n");
    repo.commit_all("ignored");
    for file in ["clone/.git/HEAD", "bare/HEAD", "bare/objects/x"] {
        repo.write(file, "");
    }
    for folder in [".git", ".git/objects", "clone", "bare"] {
        let Some((_, outcome)) = run(&repo, &["--share", folder], "true") else {
            return;
        };
        assert_eq!(outcome["code"], "not-ignored", "{folder}: {outcome}");
    }
}

#[test]
fn a_tool_that_the_kernel_does_not_hold_is_refused_where_that_is_demanded() {
    let repo = repo();
    let cli = agentos().in_dir(repo.path());
    let output = cli
        .run(&["run", "-p", "replay", "--require-sandbox", "anything", "--json"])
        .unwrap();
    let outcome: Value = output.json().unwrap();
    assert_eq!(
        (outcome["code"].as_str(), output.code),
        (Some("not-confined"), Some(5))
    );
}

#[test]
fn a_user_without_rights_confines_programs_as_root_does() {
    let repo = repo();
    let me = Cli::new("id").unwrap().run(&["-u"]).unwrap();
    if me.stdout.trim() != "0" {
        eprintln!(
            "skipped: this test changes to another user, which only root can; the others ran as a user"
        );
        return;
    }
    let folder = repo.path().parent().unwrap().display().to_string();
    let owner = Cli::new("chown").unwrap();
    assert_eq!(owner.run(&["-R", "65532:65532", &folder]).unwrap().code, Some(0));
    let setpriv = Cli::new("setpriv").unwrap().in_dir(repo.path());
    let home = setpriv.home().display().to_string();
    assert_eq!(owner.run(&["-R", "65532:65532", &home]).unwrap().code, Some(0));
    let program = env!("CARGO_BIN_EXE_agentos");
    let output = setpriv
        .run(&[
            "--reuid",
            "65532",
            "--regid",
            "65532",
            "--clear-groups",
            program,
            "run",
            "-p",
            "command",
            "--json",
            "--",
            "sed",
            "-i",
            "s/two/TWO/",
            "src/a.rs",
        ])
        .unwrap();
    if output.stdout.is_empty() {
        eprintln!(
            "skipped: another user cannot run the program here: {}",
            output.stderr
        );
        return;
    }
    let outcome: Value = output.json().unwrap();
    if outcome["code"] == "not-confined" {
        eprintln!(
            "skipped: no sandbox for users on this machine: {}",
            outcome["message"]
        );
        return;
    }
    assert_eq!(outcome["outcome"], "landed", "{outcome}");
    assert_eq!(outcome["result"]["boundary"]["enforcement"], "kernel");
}

#[test]
fn where_no_overlay_can_be_mounted_a_program_works_in_a_whole_copy() {
    // Overlayfs does not take an overlay as its upper folder: what every cache inside a container meets.
    let repo = repo();
    let place = repo.path().display().to_string();
    let script = format!(
        "cd '{}' && mkdir over kernel && mount -t overlay overlay -o 'lowerdir={place},upperdir=over,workdir=kernel' \
         '{place}' && cd '{place}' && echo mounted >&2 && XDG_CACHE_HOME='{place}/.git/cache' '{}' run -p command --json -- sh -c \
         'sed -i s/two/TWO/ src/a.rs; git commit -qam mine; rm .gitignore; ln -s a.rs src/b.rs; rm src/b.rs'; \
         cat src/a.rs >&2",
        repo.outside().display(),
        env!("CARGO_BIN_EXE_agentos"),
    );
    let output = Cli::new("unshare")
        .unwrap()
        .run(&["-m", "sh", "-c", &script])
        .unwrap();
    if !output.stderr.contains("mounted") {
        eprintln!("skipped: an overlay cannot be mounted here: {output}");
        return;
    }
    let outcome: Value = output.json().unwrap();
    if outcome["code"] == "not-confined" {
        eprintln!("skipped: no sandbox on this machine: {}", outcome["message"]);
        return;
    }
    assert_eq!(outcome["outcome"], "landed", "{outcome}");
    assert_eq!(outcome["files"], serde_json::json!([".gitignore", "src/a.rs"]));
    assert_eq!(outcome["result"]["boundary"]["enforcement"], "kernel");
    assert!(outcome.to_string().contains("in a full copy"), "{outcome}");
    assert!(output.stderr.ends_with("one\nTWO\nthree\n"), "{output}");
}
