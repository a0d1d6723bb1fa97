//! Every way to call it wrong, as one list: what failed and where, and what to do next.

use agentos_testkit::redact::Redactor;
use agentos_testkit::repo::write_file;

use crate::support::{SLOPPY_FIX, agentos, small_repo};

/// A key that must not come back.
const KEY: &str = "sk-test-0123456789abcdefghij";
/// Words that a Rust type or module would bring into a message.
const RUST: &[&str] = &["::", "Error {", "Some(", "None", "os error", "panicked", "unwrap"];

/// Calls that fail before anything is asked of anybody.
const CALLS: &[&[&str]] = &[
    &["aply"],
    &["apply", "--explian"],
    &["run", "mend it"],
    &["run", "-p", "command"],
    &["tool", "auth", "list"],
    &["apply", "no-such-file"],
    &["apply", "../no-such-file"],
    &["apply", "src"],
    &["apply", "not-utf8.md"],
    &["apply", "fix.md", "--policy", "no-such-policy.toml"],
    &["apply", "fix.md", "--policy", "bad.toml"],
    &["apply", "fix.md", "--branch", "no..branch"],
    &["approve", "no-such-run"],
    &["demo", "--dir", "src"],
    &["demo", "--dir", "no/such/folder"],
    &["deny", "no-such-run"],
    &["diff", "normalize", "fix.md", "--base", "no-such-commit"],
    &["evidence", "export", "--out", "src"],
    &["evidence", "key", "trust", "no-such-file", "--name", "anna"],
    &["evidence", "key", "trust", "fix.md", "--name", "anna"],
    &["evidence", "list", "--since", "noon"],
    &["evidence", "show", "no-such-run"],
    &["evidence", "verify", "--commit", "no-such-commit"],
    &["evidence", "verify", "--dir", "no-such-folder"],
    &["evidence", "verify", "--keys", "fix.md"],
    &["evidence", "verify", "--keys", "no-such-file"],
    &["init", "--provider", "olama"],
    &["man", "tool", "helth"],
    &["models", "list", "--provider", "olama"],
    &["models", "show", "gpt4o"],
    &["policy", "check", "--commit", "no-such-commit"],
    &["policy", "check", "--rules", "no-such-folder"],
    &["policy", "explain"],
    &["profile", "init", "Anna"],
    &["profile", "init", "openai", "--base-url", "no address"],
    &["profile", "show", "opnai"],
    &["profile", "show", "mine"],
    &["profile", "validate", "bad.json"],
    &["profile", "validate", "no-such-file"],
    &["run", "-p", "command", "--share", "no-such-folder", "--", "true"],
    &["run", "-p", "command", "task"],
    &["run", "-p", "olama", "task"],
    &["run", "-p", "openai", "task", "--file", "../elsewhere"],
    &["run", "-p", "openai", "task", "--file", "no-such-folder/"],
    &[
        "run",
        "-p",
        "openai",
        "task",
        "--base-url",
        "http://anna:secret@localhost/v1",
    ],
    &["run", "-p", "openai", "task", "--replay", "fix.md"],
    &["run", "-p", "replay", "task", "--replay", "no-such-file"],
    &["schema", "outcom"],
    &["tool", "auth", "clear", "--provider", "opnai"],
    &["tool", "health", "--base-url", "http://localhost:1"],
    &["tool", "run", "-p", "openai", "task", "--read", "src"],
    &["undo"],
    &["undo", "no-such-run"],
    &["--repo", "no-such-folder", "policy", "show"],
];

#[test]
fn every_failure_says_what_where_and_what_next() {
    let repo = small_repo();
    repo.write("fix.md", SLOPPY_FIX);
    repo.write("not-utf8.md", [0xff, 0xfe, b'\n']);
    repo.write("bad.toml", "version = 1\nrul = 2\n");
    repo.write("bad.json", "{ \"provider\": \"openai\",\n  \"modle\": \"x\" }");
    let cli = agentos().in_dir(repo.path()).env("OPENAI_API_KEY", KEY);
    write_file(
        &cli.home().join(".config/agentos/profiles/mine.json"),
        "{ \"provider\": \"mine\", \"modle\": \"x\" }",
    );
    let home = cli.home().display().to_string();
    let mut list = String::new();
    for call in CALLS {
        let output = cli.run(call).unwrap();
        assert_ne!(output.code, Some(0), "{call:?}: {output}");
        let text = output.to_string();
        assert!(!text.contains(KEY), "{call:?}: {output}");
        for word in RUST {
            assert!(!output.stderr.contains(word), "`{word}` in {call:?}: {output}");
        }
        // A place of the machine is named in full only where it is the repository's or where it was typed so.
        let foreign = output.stderr.replace(&repo.path().display().to_string(), "");
        for place in [home.as_str(), "/tmp/", "/home/", "/root/"] {
            assert!(!foreign.contains(place), "`{place}` in {call:?}: {output}");
        }
        let lines: Vec<&str> = output
            .stderr
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        assert!(
            lines.iter().any(|line| line.trim_start().starts_with("next:")),
            "{call:?} says nothing of what comes next: {output}"
        );
        list.push_str(&format!("{}\n", call.join(" ")));
        for line in lines.iter().filter(|line| !line.starts_with("  run ")) {
            list.push_str(&format!("  {line}\n"));
        }
    }
    let told = Redactor::new().unwrap().path(repo.path(), "[REPO]").redact(&list);
    insta::assert_snapshot!(told, @r"
    aply
      error [usage] unrecognized subcommand `aply`
        next: did you mean `agentos apply`?
    apply --explian
      error [usage] unexpected argument `--explian` found
        next: did you mean `--explain`? see `agentos apply --help`
    run mend it
      error [missing-provider] no provider is named, and none is set as the default
        next: name a provider with `-p NAME` (`agentos tool list` shows them), or set a default with `agentos use NAME`
    run -p command
      error [usage] the following required arguments were not provided: <TASK>
        next: give the program after --: agentos run -p command -- COMMAND
    tool auth list
      error [usage] unrecognized subcommand `list`
        next: did you mean `agentos tool auth status`?
    apply no-such-file
      error [usage] cannot read `no-such-file`: No such file or directory
        next: check the name; a relative path starts in the current folder
    apply ../no-such-file
      error [usage] cannot read `../no-such-file`: No such file or directory
        next: check the name; a relative path starts in the current folder
    apply src
      error [usage] cannot read `src`: Is a directory
        next: name a file
    apply not-utf8.md
      refused [no-diff] no edit was found in the answer
        next: name a file with a diff, with search/replace blocks under a file's path, or with whole files; ask the model for one of them
    apply fix.md --policy no-such-policy.toml
      error [usage] cannot read `no-such-policy.toml`: No such file or directory
        next: check the name; a relative path starts in the current folder
    apply fix.md --policy bad.toml
      denied [policy-error] [REPO]/bad.toml:2:1: unknown field `rul`
        next: did you mean `rule`? a policy that cannot be read allows nothing; correct the file or remove it
    apply fix.md --branch no..branch
      failed [bad-branch-name] `no..branch` is not a valid branch name
        next: choose another name
    approve no-such-run
      error [usage] there is no run `no-such-run` on the tape
        next: `agentos log` shows the runs
    demo --dir src
      error [usage] `src` already exists
        next: name a folder that does not exist yet
    demo --dir no/such/folder
      error [no-folder] the parent folder of `no/such/folder` does not exist
        next: create it first
    deny no-such-run
      error [usage] there is no run `no-such-run` on the tape
        next: `agentos log` shows the runs
    diff normalize fix.md --base no-such-commit
      error [unknown-revision] `no-such-commit` names no commit here
        next: `git log` shows the commits
    evidence export --out src
      error [usage] `src` is not empty
        next: name a folder that does not exist yet, or an empty one
    evidence key trust no-such-file --name anna
      error [usage] cannot read `no-such-file`: No such file or directory
        next: check the name; a relative path starts in the current folder
    evidence key trust fix.md --name anna
      error [usage] there is no Ed25519 key in what was given
        next: give a file with lines as `ssh-[ID] AAAA…`, or such a line itself
    evidence list --since noon
      error [usage] `noon` is not a valid time
        next: write it as in `2026-11-21` or `2days`
    evidence show no-such-run
      error [usage] there is no run `no-such-run` on the tape
        next: `agentos log` shows the runs
    evidence verify --commit no-such-commit
      error [unknown-revision] `no-such-commit` names no commit here
        next: `git log` shows the commits
    evidence verify --dir no-such-folder
      error [usage] there is no folder `no-such-folder`
        next: name a folder that `agentos evidence export --out` created
    evidence verify --keys fix.md
      error [usage] there is no Ed25519 key in `fix.md`
        next: write lines as `NAME ssh-[ID] AAAA…`, as OpenSSH's `allowed_signers` has them
    evidence verify --keys no-such-file
      error [usage] cannot read `no-such-file`: No such file or directory
        next: check the name; a relative path starts in the current folder
    init --provider olama
      error [usage] there is no provider `olama`
        next: did you mean `ollama`? Or create a profile with `agentos profile init olama`
    man tool helth
      error [usage] there is no verb `tool helth`
        next: did you mean `tool health`? `agentos man --list` lists all verbs
    models list --provider olama
      error [usage] no known model matches
        next: providers are anthropic, ollama, openai; API types are anthropic, ollama, openai
    models show gpt4o
      error [usage] `gpt4o` is not a known model
        next: did you mean `gpt-4o`?
    policy check --commit no-such-commit
      error [unknown-revision] `no-such-commit` names no commit here
        next: `git log` shows the commits
    policy check --rules no-such-folder
      error [usage] there is no folder `no-such-folder`
        next: name a folder with rule files, such as `.agentos/policy`
    policy explain
      error [usage] `policy explain` needs something to explain
        next: name a diff, `-`, `--commit REV` or `--read PATH`
    profile init Anna
      error [usage] `Anna` cannot name a provider
        next: use small letters, digits and `-`
    profile init openai --base-url no address
      error [bad-url] `base_url` (user file): it is not a URL: relative URL without a base
        next: write something like `http://localhost:[PORT]/v1`
    profile show opnai
      error [usage] there is no provider `opnai`
        next: did you mean `openai`? Or create a profile with `agentos profile init opnai`
    profile show mine
      error [bad-profile] ~/.config/agentos/profiles/mine.json:1:29: unknown field `modle`, expected one of `$schema`, `provider`, `name`, `adapter`, `base_url`, `api_key_ref`, `requires_key`, `model`, `mode`, `timeout_seconds`, `timeouts`, `edit_format`, `constrain`, `limit_field`, `omit`, `organization`, `client_id`, `http`, `program`, `price`, `params`, `capabilities`, `pool`
        next: did you mean `model`?
    profile validate bad.json
      error [bad-profile] bad.json:2:9: unknown field `modle`, expected one of `$schema`, `provider`, `name`, `adapter`, `base_url`, `api_key_ref`, `requires_key`, `model`, `mode`, `timeout_seconds`, `timeouts`, `edit_format`, `constrain`, `limit_field`, `omit`, `organization`, `client_id`, `http`, `program`, `price`, `params`, `capabilities`, `pool`
        next: did you mean `model`?
    profile validate no-such-file
      error [usage] cannot read `no-such-file`: No such file or directory
        next: check the name; a relative path starts in the current folder
    run -p command --share no-such-folder -- true
      error [usage] `no-such-folder` is not a folder that can be shared
        next: name one that git ignores, such as `target`
    run -p command task
      error [usage] the provider `command` needs a program
        next: give the program after --: agentos run -p command -- COMMAND
    run -p olama task
      error [usage] there is no provider `olama`
        next: did you mean `ollama`? Or create a profile with `agentos profile init olama`
    run -p openai task --file ../elsewhere
      error [usage] `../elsewhere` is outside the repository
        next: name a path inside it; a relative path starts in the current folder
    run -p openai task --file no-such-folder/
      error [no-such-file] `no-such-folder/` is not in the commit that the change would be made on
        next: name a committed file; paths are relative to the folder you are in
    run -p openai task --base-url http://anna:secret@localhost/v1
      error [bad-url] `base_url` (flag): it contains a user name or a password; store a key instead
        next: write something like `http://localhost:[PORT]/v1`
    run -p openai task --replay fix.md
      error [usage] only the provider `replay` plays a recording back
        next: leave `--replay` out
    run -p replay task --replay no-such-file
      error [usage] cannot read `no-such-file`: No such file or directory
        next: check the name; a relative path starts in the current folder
    schema outcom
      error [usage] there is no schema `outcom`
        next: did you mean `outcome`? `agentos schema --list` lists all schemas
    tool auth clear --provider opnai
      error [usage] there is no provider `opnai`
        next: did you mean `openai`? Or create a profile with `agentos profile init opnai`
    tool health --base-url http://localhost:[PORT]
      error [usage] `--base-url`, `--send-key`, `--model` and time limits need exactly one `--provider`
        next: for example `agentos tool health -p ollama --base-url http://localhost:[PORT]`
    tool run -p openai task --read src
      error [usage] only a program or a check can be given files and folders of this machine
        next: leave `--read` and `--share` out
    undo
      error [nothing-to-undo] no run has landed anything here yet
        next: `agentos log` shows the runs
    undo no-such-run
      error [usage] there is no run `no-such-run` on the tape
        next: `agentos log` shows the runs
    --repo no-such-folder policy show
      error [not-a-repository] `[REPO]/no-such-folder` is not in a git repository
        next: change to a repository, or name one with `--repo DIR`
    ");
}
