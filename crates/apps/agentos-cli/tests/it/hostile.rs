//! A repository from elsewhere, with everything set that makes git start something: no process is started, seen from
//! outside by the kernel's own account.

use agentos_testkit::cli::{CliOutput, program};
use agentos_testkit::repo::{TestRepo, make_dir, make_link, move_path, read_file, set_mode, write_file};

use crate::support::{LIB_FIXED, SLOPPY_FIX, agentos, pipe_in, run_in, small_repo, state};

/// Settings that name a program which git starts.
const PROGRAMS: &[&str] = &[
    "core.fsmonitor",
    "core.editor",
    "core.pager",
    "core.sshCommand",
    "core.askPass",
    "core.gitProxy",
    "credential.helper",
    "diff.external",
    "diff.x.textconv",
    "diff.x.command",
    "filter.x.clean",
    "filter.x.smudge",
    "filter.x.process",
    "merge.x.driver",
    "gpg.program",
    "gpg.openpgp.program",
    "gpg.ssh.program",
    "gpg.ssh.defaultKeyCommand",
    "gpg.x509.program",
    "sequence.editor",
    "uploadpack.packObjectsHook",
    "alias.status",
    "submodule.lib.update",
];
const HOOKS: &[&str] = &[
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-checkout",
    "post-index-change",
    "post-rewrite",
    "pre-applypatch",
    "applypatch-msg",
    "reference-transaction",
    "fsmonitor-watchman",
    "update",
];

/// A repository in which everything that git can be made to start leaves a trace; the place of the trace.
fn trapped() -> (TestRepo, std::path::PathBuf) {
    let repo = small_repo();
    let trace = repo.outside().join("trace");
    let script = format!("#!/bin/sh\ntouch {}\n", trace.display());
    let trap = repo.outside().join("trap");
    write_file(&trap, &script);
    set_mode(&trap, 0o755);
    let hooks = repo.outside().join("hooks");
    for folder in [repo.path().join(".git/hooks"), hooks.clone()] {
        for hook in HOOKS {
            write_file(&folder.join(hook), &script);
            set_mode(&folder.join(hook), 0o755);
        }
    }
    let included = repo.outside().join("included");
    let mut settings = format!(
        "[core]\n\thooksPath = {}\n[commit]\n\tgpgsign = true\n",
        hooks.display()
    );
    for name in PROGRAMS {
        let (section, key) = name.rsplit_once('.').unwrap();
        let section = match section.split_once('.') {
            Some((section, sub)) => format!("{section} \"{sub}\""),
            None => section.to_owned(),
        };
        settings.push_str(&format!("[{section}]\n\t{key} = {}\n", trap.display()));
    }
    write_file(&included, settings);
    // One half by a plain include, the other by a condition that holds.
    repo.git(&["config", "include.path", included.to_str().unwrap()]);
    let here = format!("includeIf.gitdir:{}/.path", repo.path().display());
    repo.git(&["config", &here, included.to_str().unwrap()]);
    write_file(
        &repo.path().join(".git/info/attributes"),
        "*.md filter=x diff=x merge=x\n",
    );
    (repo, trace)
}

/// Runs the program and gives every program that it or a child of it started; none where that cannot be seen.
fn traced(repo: &TestRepo, args: &[&str]) -> Option<(CliOutput, Vec<String>)> {
    let calls = repo.outside().join("calls");
    let world = agentos();
    let plain = world.command(args);
    let mut command = program("strace");
    command
        .args([
            "-f",
            "-qq",
            "-e",
            "trace=execve,execveat",
            "-e",
            "signal=none",
            "-o",
        ])
        .arg(&calls)
        .arg(plain.get_program())
        .args(plain.get_args())
        .current_dir(repo.path())
        .env_clear()
        // The conditions of a repository's own configuration are decided where these are not set.
        .envs(
            world
                .world()
                .into_iter()
                .filter(|(name, _)| !name.to_string_lossy().starts_with("GIT_CONFIG_")),
        );
    let output = command.output().ok()?;
    let calls = std::fs::read_to_string(&calls).ok()?;
    let calls: Vec<String> = calls.lines().map(str::to_owned).collect();
    (!calls.is_empty()).then(|| (CliOutput::from(output), calls))
}

#[test]
fn no_verb_starts_a_process() {
    let (repo, trace) = trapped();
    let patch = repo.outside().join("fix.txt");
    write_file(&patch, SLOPPY_FIX);
    let patch = patch.to_str().unwrap();
    let calls: [&[&str]; 7] = [
        &["apply", patch, "--dry-run"],
        &["apply", patch],
        &["undo"],
        &["apply", patch, "--branch", "side"],
        &["apply", patch, "--no-commit"],
        &["recover"],
        &["evidence", "verify"],
    ];
    for args in calls {
        let Some((output, started)) = traced(&repo, args) else {
            eprintln!("skipped: `strace` is not installed here, or may not trace");
            return;
        };
        assert_eq!(output.code, Some(0), "{args:?}: {output}");
        assert_eq!(
            started.len(),
            1,
            "{args:?}: only the program itself: {started:#?}"
        );
        assert!(!trace.exists(), "{args:?}");
    }
    assert_eq!(repo.read("src/lib.rs"), LIB_FIXED.as_bytes());
}

#[test]
fn a_git_file_or_link_leads_to_the_repository_that_it_names_and_nowhere_else() {
    // `.git` as a link, and as a file: the git directory is elsewhere, and git follows it as well.
    for as_file in [false, true] {
        let repo = small_repo();
        let moved = repo.outside().join("moved");
        move_path(&repo.path().join(".git"), &moved);
        if as_file {
            repo.write(".git", format!("gitdir: {}\n", moved.display()));
        } else {
            make_link(&repo.path().join(".git"), moved.to_str().unwrap());
        }
        // Anybody's directory could be named so: it must name this work tree in turn.
        let refused = pipe_in(&repo, &["apply", "-", "--json"], SLOPPY_FIX);
        assert_eq!(refused.code, Some(8), "{as_file}: {refused}");
        assert_eq!(refused.json().unwrap()["code"], "foreign-git-dir", "{refused}");
        repo.git(&["config", "core.worktree", repo.path().to_str().unwrap()]);
        let output = pipe_in(&repo, &["apply", "-"], SLOPPY_FIX);
        assert_eq!(output.code, Some(0), "{as_file}: {output}");
        assert_eq!(repo.status(), "");
        assert_eq!(repo.read("src/lib.rs"), LIB_FIXED.as_bytes());
    }
    // A file that names another work tree's repository: that one's files are not this one's.
    let (theirs, here) = (small_repo(), TestRepo::new());
    let before = state(&theirs);
    move_path(&here.path().join(".git"), &here.outside().join("away"));
    here.write(
        ".git",
        format!("gitdir: {}\n", theirs.path().join(".git").display()),
    );
    here.write("src/lib.rs", "mine\n");
    let output = pipe_in(&here, &["apply", "-"], SLOPPY_FIX);
    assert_eq!(output.code, Some(8), "{output}");
    assert_eq!(state(&theirs), before);
    assert_eq!(here.read("src/lib.rs"), b"mine\n");
}

#[test]
fn a_repository_of_another_user_is_refused_as_git_refuses_it() {
    let repo = small_repo();
    let given_away = program("chown")
        .args(["-R", "65534"])
        .arg(repo.path())
        .status()
        .is_ok_and(|status| status.success());
    if !given_away {
        eprintln!("skipped: giving files to another user needs root");
        return;
    }
    let output = pipe_in(&repo, &["apply", "-", "--json"], SLOPPY_FIX);
    assert_eq!(output.code, Some(8), "{output}");
    let json = output.json().unwrap();
    assert_eq!(json["code"], "not-owned", "{output}");
    assert!(
        json["hint"].as_str().unwrap().contains(&format!(
            "git config --global --add safe.directory {}",
            repo.path().display()
        )),
        "{output}"
    );
    assert!(!repo.has(".git/agentos"));
    // The user's own word is followed, as git follows it.
    let cli = agentos().in_dir(repo.path());
    let place = cli.home().join(".gitconfig");
    let text = String::from_utf8(read_file(&place)).unwrap();
    write_file(
        &place,
        format!("{text}[safe]\n\tdirectory = {}\n", repo.path().display()),
    );
    let output = cli
        .run_with_input(&["apply", "-"], SLOPPY_FIX.as_bytes())
        .unwrap();
    assert_eq!(output.code, Some(0), "{output}");
}

#[test]
fn a_submodule_of_a_changed_name_is_not_entered() {
    let repo = small_repo();
    // A submodule whose git directory would be a hooks folder, and one that leads out: neither is looked at.
    repo.write(
        ".gitmodules",
        "[submodule \"../../hooks\"]\n\tpath = lib\n\turl = ext::sh -c touch% trace\n",
    );
    make_dir(&repo.path().join("lib"));
    repo.write("lib/.git", "gitdir: ../../outside\n");
    let head = repo.git(&["rev-parse", "HEAD"]);
    repo.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{head},lib"),
    ]);
    repo.git(&["add", ".gitmodules"]);
    repo.git(&["commit", "--quiet", "-m", "a submodule"]);
    let into = "--- /dev/null\n+++ b/lib/x.txt\n@@ -0,0 +1 @@\n+x\n";
    let output = pipe_in(&repo, &["apply", "-", "--json"], into);
    assert_eq!(output.json().unwrap()["code"], "submodule", "{output}");
    let output = pipe_in(&repo, &["apply", "-"], SLOPPY_FIX);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(!repo.has("lib/x.txt"));
    assert_eq!(run_in(&repo, &["evidence", "verify"]).code, Some(0));
}
