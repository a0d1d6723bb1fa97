//! Signed commits: by the user's own program, when the user's own configuration asks for it, judged by git.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use agentos_testkit::cli::{Cli, CliOutput, program};
use agentos_testkit::repo::{TestRepo, read_file, set_mode, write_file};

use crate::support::{LIB, LIB_FIXED, SLOPPY_FIX, agentos, seen, small_repo};

/// A program of the system's, if it is there; said where it is not.
fn have(name: &str, ask: &str) -> bool {
    let there = program(name).arg(ask).output().is_ok();
    if !there {
        eprintln!("skipped: `{name}` is not installed here");
    }
    there
}

/// Adds to the user's configuration.
fn configure(cli: &Cli, text: &str) {
    let place = cli.home().join(".gitconfig");
    let before = String::from_utf8(read_file(&place)).unwrap();
    write_file(&place, before + text);
}

fn apply(cli: &Cli) -> CliOutput {
    cli.run_with_input(&["apply", "-"], SLOPPY_FIX.as_bytes())
        .unwrap()
}

fn in_repo(repo: &TestRepo) -> Cli {
    agentos().in_dir(repo.path())
}

/// An SSH key without a passphrase, and the file that says whose signatures it makes.
fn ssh_key(cli: &Cli) -> (PathBuf, PathBuf) {
    let key = cli.home().join("id_test");
    let made = program("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"])
        .arg(&key)
        .status();
    assert!(made.unwrap().success());
    let public = String::from_utf8(read_file(&key.with_extension("pub"))).unwrap();
    let allowed = cli.home().join("allowed");
    write_file(&allowed, format!("author@example.com {public}"));
    (key, allowed)
}

/// What `git verify-commit` says with this list of keys: `G` is a good signature.
fn judged(repo: &TestRepo, allowed: &Path) -> String {
    let file = format!("gpg.ssh.allowedSignersFile={}", allowed.display());
    repo.git(&["-c", &file, "verify-commit", "HEAD"]);
    repo.git(&["-c", &file, "log", "-1", "--format=%G? %GS"])
}

fn last_receipt(repo: &TestRepo) -> String {
    let tape = String::from_utf8(repo.read(".git/agentos/tape.jsonl")).unwrap();
    let line = tape.lines().rfind(|line| line.contains("\"kind\":\"receipt\""));
    line.unwrap_or_default().to_owned()
}

#[test]
fn an_ssh_key_signs_as_a_file_or_by_its_text_and_an_agent() {
    if !have("ssh-keygen", "-?") || !have("ssh-agent", "-?") {
        return;
    }
    let repo = small_repo();
    let cli = in_repo(&repo);
    let (key, allowed) = ssh_key(&cli);
    configure(
        &cli,
        "[commit]\n\tgpgsign = true\n[gpg]\n\tformat = ssh\n[user]\n\tsigningkey = ~/id_test\n",
    );
    let output = apply(&cli);
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(judged(&repo, &allowed), "G author@example.com");
    assert!(last_receipt(&repo).contains("\"signed\":\"ssh\""));
    // An undo is a commit as well.
    let undone = cli.run(&["undo"]).unwrap();
    assert_eq!(undone.code, Some(0), "{undone}");
    assert_eq!(judged(&repo, &allowed), "G author@example.com");
    let verified = cli.run(&["evidence", "verify"]).unwrap();
    assert_eq!(verified.code, Some(0), "{verified}");
    repo.git(&["fsck", "--strict"]);

    let public = String::from_utf8(read_file(&key.with_extension("pub"))).unwrap();
    for literal in [public.trim().to_owned(), format!("key::{}", public.trim())] {
        configure(&cli, &format!("[user]\n\tsigningkey = {literal}\n"));
        let ours = cli.command(&[]).get_program().to_owned();
        let command = "ssh-add -q \"$1\" && mv \"$1\" \"$1.away\" && printf %s \"$2\" | \"$3\" apply -; mv \"$1.away\" \"$1\"";
        let script = [
            command,
            "sh",
            key.to_str().unwrap(),
            SLOPPY_FIX,
            ours.to_str().unwrap(),
        ];
        let mut agent = program("ssh-agent");
        agent
            .args(["sh", "-c"])
            .args(script)
            .current_dir(repo.path())
            .env_clear();
        agent.envs(cli.world());
        let output = CliOutput::from(agent.output().unwrap());
        assert!(output.stderr.contains("landed 1 file"), "{output}");
        assert_eq!(judged(&repo, &allowed), "G author@example.com");
        assert!(!repo.has(".git/agentos/signing-key.pub"));
        repo.git(&["reset", "--quiet", "--hard", "HEAD^"]);
    }
}

#[test]
fn gpg_signs_with_the_named_key_or_the_committers() {
    if !have("gpg", "--version") {
        return;
    }
    let repo = small_repo();
    let home = repo.outside().join("gnupg");
    agentos_testkit::repo::make_dir(&home);
    set_mode(&home, 0o700);
    let gpg = |args: &[&str]| {
        let output = program("gpg")
            .args(args)
            .env("GNUPGHOME", &home)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    let who = "Test Author <author@example.com>";
    gpg(&[
        "--batch",
        "--quiet",
        "--passphrase",
        "",
        "--quick-gen-key",
        who,
        "ed25519",
        "sign",
        "never",
    ]);
    for key in ["", "[user]\n\tsigningkey = author@example.com\n"] {
        let cli = in_repo(&repo).env("GNUPGHOME", &home);
        configure(&cli, &format!("[commit]\n\tgpgsign = true\n{key}"));
        let output = apply(&cli);
        assert_eq!(output.code, Some(0), "{output}");
        let verified = program("git")
            .args(["verify-commit", "HEAD"])
            .current_dir(repo.path())
            .env("GNUPGHOME", &home)
            .output()
            .unwrap();
        assert!(
            verified.status.success(),
            "{}",
            String::from_utf8_lossy(&verified.stderr)
        );
        assert!(last_receipt(&repo).contains("\"signed\":\"openpgp\""));
        repo.git(&["reset", "--quiet", "--hard", "HEAD^"]);
    }
    let _ = program("gpgconf")
        .args(["--kill", "all"])
        .env("GNUPGHOME", &home)
        .status();
}

#[test]
fn a_signature_that_cannot_be_made_stops_everything_and_says_why() {
    let cases = [
        (
            "[gpg]\n\tprogram = /bin/false\n",
            "not-signed",
            "`/bin/false` did not sign",
        ),
        (
            "[gpg]\n\tprogram = /nowhere/gpg\n",
            "not-signed",
            "`/nowhere/gpg` was not found",
        ),
        (
            "[gpg]\n\tprogram = ./gpg\n",
            "not-signed",
            "`./gpg` is a relative path",
        ),
        ("[gpg]\n\tformat = ssh\n", "not-signed", "no SSH key is named"),
        (
            "[gpg]\n\tformat = smoke\n",
            "bad-setting",
            "`gpg.format` is set to `smoke`",
        ),
    ];
    for (setting, code, said) in cases {
        let repo = small_repo();
        let cli = in_repo(&repo);
        configure(&cli, &format!("[commit]\n\tgpgsign = true\n{setting}"));
        let head = repo.git(&["rev-parse", "HEAD"]);
        let output = cli
            .run_with_input(&["apply", "-", "--json"], SLOPPY_FIX.as_bytes())
            .unwrap();
        assert_eq!(output.code, Some(8), "{setting}: {output}");
        let json = output.json().unwrap();
        assert_eq!(json["code"], code, "{setting}");
        assert!(
            json["message"].as_str().unwrap().contains(said),
            "{setting}: {output}"
        );
        assert!(json["hint"].is_string(), "{setting}");
        let after = (
            repo.git(&["rev-parse", "HEAD"]),
            repo.status(),
            repo.read("src/lib.rs"),
        );
        assert_eq!(after, (head, String::new(), LIB.as_bytes().to_vec()), "{setting}");
        assert_eq!(
            cli.run(&["evidence", "verify"]).unwrap().code,
            Some(0),
            "{setting}"
        );
        // Without a commit there is nothing to sign.
        let output = cli
            .run_with_input(&["apply", "-", "--no-commit"], SLOPPY_FIX.as_bytes())
            .unwrap();
        assert_eq!(output.code, Some(0), "{setting}: {output}");
    }
}

#[test]
fn a_repository_cannot_have_a_program_started() {
    let repo = small_repo();
    let trace = repo.outside().join("trace");
    let trap = repo.outside().join("trap");
    write_file(&trap, format!("#!/bin/sh\ntouch {}\nexit 1\n", trace.display()));
    set_mode(&trap, 0o755);
    let trap = trap.to_str().unwrap();
    for name in [
        "gpg.program",
        "gpg.openpgp.program",
        "gpg.ssh.program",
        "gpg.ssh.defaultKeyCommand",
    ] {
        repo.git(&["config", name, trap]);
    }
    repo.git(&["config", "commit.gpgsign", "true"]);
    let cli = in_repo(&repo);
    let output = apply(&cli);
    insta::assert_snapshot!(seen(&output, &repo), @"
    exit: 0
    --- stdout
    --- stderr
    note: not signed: only this repository's own configuration asks for it; `git config --global commit.gpgsign true` is followed
    landed 1 file on main as [ID]
      src/lib.rs
        repaired: the names lack the prefixes `a/` and `b/`
        + hunk 1: line 4 (the answer states line 90; exactly one place fits)
            repaired: the header counts 9 old and 9 new lines; the hunk has other numbers
      run [RUN]
    ");
    assert_eq!(repo.read("src/lib.rs"), LIB_FIXED.as_bytes());
    assert!(last_receipt(&repo).contains("\"signed\":\"no\""));
    // Where the user asks for signatures too, the program is the user's all the same.
    configure(
        &cli,
        "[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = /bin/false\n",
    );
    let output = cli.run(&["undo"]).unwrap();
    assert_eq!(output.code, Some(8), "{output}");
    assert!(output.stderr.contains("`/bin/false` did not sign"), "{output}");
    repo.git(&["config", "gpg.format", "ssh"]);
    let output = cli.run(&["undo"]).unwrap();
    assert!(output.stderr.contains("no SSH key is named"), "{output}");
    assert!(!trace.exists());
}

#[test]
fn a_repository_may_turn_signing_off_and_that_is_said() {
    let repo = small_repo();
    repo.git(&["config", "commit.gpgsign", "false"]);
    let cli = in_repo(&repo);
    configure(
        &cli,
        "[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = /bin/false\n",
    );
    let output = apply(&cli);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.stderr.contains("turns your signatures off"), "{output}");
    assert!(last_receipt(&repo).contains("\"signed\":\"no\""));
}

/// A program in the place of `gpg`, which the user's configuration names.
fn sign_with(cli: &Cli, script: &str) {
    let place = cli.home().join("signer");
    write_file(&place, format!("#!/bin/sh\n{script}\n"));
    set_mode(&place, 0o755);
    let place = place.display();
    configure(
        cli,
        &format!("[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = {place}\n"),
    );
}

/// What `gpg` says when it has signed.
const SIGNS: &str = "echo '[GNUPG:] SIG_CREATED x' >&2\n\
    printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nabc\\n-----END PGP SIGNATURE-----\\n'";

#[test]
fn ctrl_c_while_a_passphrase_is_asked_for_leaves_nothing_and_ends_with_130() {
    let repo = small_repo();
    let cli = in_repo(&repo);
    let asking = repo.outside().join("asking");
    assert!(program("mkfifo").arg(&asking).status().unwrap().success());
    sign_with(
        &cli,
        &format!("echo now > '{}'\nexec sleep 600", asking.display()),
    );
    let head = repo.git(&["rev-parse", "HEAD"]);
    let fix = repo.outside().join("fix.patch");
    write_file(&fix, SLOPPY_FIX);
    let mut child = cli
        .command(&["apply", fix.to_str().unwrap()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Until the program asks, and the index is held.
    assert_eq!(read_file(&asking), b"now\n");
    assert!(repo.has(".git/index.lock"));
    assert!(agentos_testkit::cli::interrupt(&child));
    assert_eq!(child.wait().unwrap().code(), Some(130));
    for left in [
        ".git/index.lock",
        ".git/agentos/journal.json",
        ".git/agentos-index.tmp",
    ] {
        assert!(!repo.has(left), "{left}");
    }
    let after = (
        repo.git(&["rev-parse", "HEAD"]),
        repo.status(),
        repo.read("src/lib.rs"),
    );
    assert_eq!(after, (head, String::new(), LIB.as_bytes().to_vec()));
    let tape = String::from_utf8(repo.read(".git/agentos/tape.jsonl")).unwrap();
    assert!(tape.contains("\"cause\":\"interrupted\""), "{tape}");
    assert_eq!(cli.run(&["evidence", "verify"]).unwrap().code, Some(0));
}

#[test]
fn a_program_that_leaves_a_child_behind_is_not_waited_for() {
    let repo = small_repo();
    let cli = in_repo(&repo);
    // The child keeps both pipes open for longer than any signature may take.
    let held = repo.outside().join("held");
    sign_with(
        &cli,
        &format!("{SIGNS}\n(sleep 600; true) & echo $! > '{}'", held.display()),
    );
    let output = apply(&cli);
    let child = String::from_utf8(read_file(&held)).unwrap();
    let still_there = program("kill").args(["-9", child.trim()]).status().unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    assert!(still_there.success(), "it was waited for");
    assert!(repo.git(&["cat-file", "commit", "HEAD"]).contains("gpgsig"));
}

#[test]
fn a_switch_of_branches_meanwhile_lands_on_neither() {
    let repo = small_repo();
    repo.git(&["branch", "other"]);
    let cli = in_repo(&repo);
    let head = repo.path().join(".git/HEAD");
    let switch = format!("echo 'ref: refs/heads/other' > '{}'", head.display());
    sign_with(&cli, &format!("{switch}\n{SIGNS}"));
    let before = repo.git(&["for-each-ref"]);
    let output = apply(&cli);
    insta::assert_snapshot!(seen(&output, &repo), @r"
    exit: 8
    --- stdout
    --- stderr
    refused [branch-switched] `main` was checked out when this began, and now it is `other`
      next: nothing was landed: run the task again to land on this branch, or name the branch with `--branch NAME`
      run [RUN]
    ");
    assert_eq!(output.code, Some(8));
    assert_eq!(repo.git(&["for-each-ref"]), before);
    assert_eq!(
        (repo.status(), repo.has(".git/index.lock")),
        (String::new(), false)
    );
}
