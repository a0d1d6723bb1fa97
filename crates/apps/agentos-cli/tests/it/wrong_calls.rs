//! Wrong calls over all verbs: exit status, message and next step of each, in one table.

use agentos_schema::{SchemaName, validate_value};
use agentos_testkit::redact::Redactor;
use agentos_testkit::repo::write_file;

use crate::support::{SLOPPY_FIX, agentos, small_repo};

/// Calls in a repository with one commit, as a shell would split them. `_` stands for a blank inside a word.
const CALLS: &[&str] = &[
    // Words that are no verb.
    "version",
    "login",
    "statsu",
    "ask fix",
    "update",
    "health",
    "frobnicate",
    "--versoin",
    "help aply",
    // Values that begin with `-`, and words without quotes.
    "run -p openai task --attempts -5",
    "run -p openai task -m -x",
    "run -p openai fix the typo",
    "log -n -3",
    "apply fix.md --branch -x",
    "apply fix.md extra",
    // Providers and models.
    "run task",
    "run -p",
    "run -p olama task",
    "run -p wwwww task",
    "run -p openai task",
    "run -p replay task",
    "run -p replay task --replay no-such-file",
    "run -p llamacpp task --replay fix.md",
    "run -p llamacpp task --base-url localhost",
    "run -p llamacpp task --base-url http://localhost:1/v1",
    "run -p llamacpp task --timeout 0",
    "run -p llamacpp task --timeout soon",
    "run -p command",
    "run -p command task",
    "run -p command -- no-such-program",
    "run -p command --read nowhere -- true",
    "run -p tool task",
    "run -p openai task -- cargo fmt",
    "use olama",
    "use --model x",
    "use openai extra",
    // Settings.
    "config set",
    "config set provider",
    "config set provider olama",
    "config set attempts 99",
    "config set attempts -1",
    "config set colour never",
    "config get modle",
    "config unset chek",
    "config lst",
    "config --orign",
    // Files, branches and revisions.
    "apply no-such-file",
    "apply src",
    "apply empty.md",
    "apply prose.md",
    "apply fix.md --branch no..branch",
    "apply fix.md --policy no-such.toml",
    "apply fix.md --branch a --no-commit",
    "apply fix.md --explain --dry-run --branch x",
    "run -p openai task --file no-such-file",
    "run -p openai task --file ../elsewhere",
    "run -p openai task --file lib.rs",
    "run -p openai task --file src/**/*.py",
    "run -p openai task --file src/lib.rs:70-80",
    "run -p openai task --file src/lib.rs:8-2",
    "run -p openai task --symbol ad",
    "run -p openai task --symbol a-b",
    "run -p openai task --context al",
    "run -p openai task --check-timeout 5",
    "run -p openai task --no-check --check true",
    "run -p openai task --edit-format dif",
    "diff normalise fix.md",
    "diff normalize fix.md --base nowhere",
    // Runs.
    "show 1234",
    "show @~99",
    "show --answer --diff",
    "approve no-such-run",
    "approve --show",
    "deny",
    "deny no-such-run",
    "undo",
    "undo no-such-run",
    "log --since yesterday",
    "log -n 0",
    // Policy and evidence.
    "policy check no-such-file",
    "policy check --commit nowhere",
    "policy lint --rules nowhere",
    "policy init --preset tema",
    "policy explain",
    "policy facts --json",
    "evidence verify --commit nowhere",
    "evidence verify --dir nowhere",
    "evidence verify --range x",
    "evidence export",
    "evidence export --out src",
    "evidence key trust nowhere --name anna",
    "evidence list --since noon",
    // Tools, profiles, models.
    "tool",
    "tool helth",
    "tool auth set",
    "tool auth clear -p olama",
    "tool health -p olama",
    "tool health --model x",
    "tool health --save",
    "tool conform",
    "profile show opnai",
    "profile init Anna",
    "profile validate no-such-file",
    "models show gpt4o",
    "models list --provider olama",
    // The rest.
    "schema outcom",
    "completions bsh",
    "completions bash --json",
    "demo --dir src",
    "demo --json",
    "man tool helth",
    "init --preset tema",
    "doctor --ofline",
    "--repo nowhere log",
];

#[test]
fn every_wrong_call_says_what_is_wrong_and_what_next() {
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    write_file(&repo.path().join("fix.md"), SLOPPY_FIX);
    write_file(&repo.path().join("empty.md"), "");
    write_file(&repo.path().join("prose.md"), "All is well.\n");
    let redact = Redactor::new().unwrap().path(repo.path(), "[REPO]");
    let redact = redact.path(cli.home(), "[HOME]");
    let mut seen = String::new();
    let mut poor = Vec::new();
    for call in CALLS {
        let words: Vec<String> = call.split(' ').map(|word| word.replace('_', " ")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = cli.run(&words).unwrap();
        let code = output.code.unwrap();
        let text = redact.redact(&output.stderr);
        seen.push_str(&format!("{call} => {code}\n"));
        // The line about the run ends with a duration, except where that is too short to be shown.
        let shown = text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with("  run "));
        for line in shown {
            seen.push_str(&format!("    {line}\n"));
        }
        // A panic would be 101, and a success would mean that a wrong call did something.
        let is_json = words.contains(&"--json");
        if is_json {
            let document = output.json().unwrap();
            assert_eq!(validate_value(SchemaName::Error, &document), Ok(()), "{call}");
            seen.push_str(&format!("    {}\n", document["error"]["message"]));
        }
        if !(2..=9).contains(&code) || !(is_json || text.contains("next:") || text.contains("Usage:")) {
            poor.push((*call).to_owned());
        }
    }
    assert!(CALLS.len() >= 60);
    insta::assert_snapshot!(seen, @r#"
    version => 2
        error [usage] unrecognized subcommand `version`
          next: did you mean `agentos --version`?
    login => 2
        error [usage] unrecognized subcommand `login`
          next: did you mean `agentos tool auth set`?
    statsu => 2
        error [usage] unrecognized subcommand `statsu`
          next: did you mean `agentos status`?
    ask fix => 2
        error [usage] unrecognized subcommand `ask`
          next: did you mean `agentos chat send`?
    update => 2
        error [usage] unrecognized subcommand `update`
          next: see `agentos --help`
    health => 2
        error [usage] unrecognized subcommand `health`
          next: did you mean `agentos tool health`?
    frobnicate => 2
        error [usage] unrecognized subcommand `frobnicate`
          next: see `agentos --help`
    --versoin => 2
        error [usage] unexpected argument `--versoin` found
          next: did you mean `--version`? see `agentos --help`
    help aply => 2
        error [usage] unrecognized subcommand `aply`
          next: did you mean `agentos apply`?
    run -p openai task --attempts -5 => 2
        error [usage] unexpected argument `-5` found
          next: a value that begins with `-` needs `=`: `--attempts=-5`
    run -p openai task -m -x => 2
        error [usage] unexpected argument `-x` found
          next: a value that begins with `-` needs `=`: `--message=-x`
    run -p openai fix the typo => 2
        error [usage] unexpected argument `the` found
          next: write the task in quotes: agentos run "TASK"
    log -n -3 => 2
        error [usage] unexpected argument `-3` found
          next: a value that begins with `-` needs `=`: `--limit=-3`
    apply fix.md --branch -x => 2
        error [usage] unexpected argument `-x` found
          next: a value that begins with `-` needs `=`: `--branch=-x`
    apply fix.md extra => 2
        error [usage] unexpected argument `extra` found
          next: see `agentos apply --help`
    run task => 2
        error [missing-provider] no provider is named, and none is set as the default
          next: name a provider with `-p NAME` (`agentos tool list` shows them), or set a default with `agentos use NAME`
    run -p => 2
        error [usage] a value is required for `--provider <NAME>` but none was supplied
          next: see `agentos run --help`
    run -p olama task => 2
        error [usage] there is no provider `olama`
          next: did you mean `ollama`? Or create a profile with `agentos profile init olama`
    run -p wwwww task => 2
        error [usage] there is no provider `wwwww`
          next: known providers: aider, anthropic, azure, claude-code, codex, command, gemini, gemini-cli, gemini-cli-acp, goose, litellm, llamacpp, lmstudio, ollama, openai, opencode, opencode-acp, openrouter, replay, tool, vllm, zai; or create a profile with `agentos profile init wwwww`
    run -p openai task => 5
        context: src/lib.rs, README.md (192 B); `--context show` explains the selection
        failed [missing-key] `openai` needs a key, and none is set
          next: set the key with `agentos tool auth set --store file --provider openai`
    run -p replay task => 5
        failed [missing-recording] no recorded answer is named
          next: name a recording with `--replay FILE`
    run -p replay task --replay no-such-file => 2
        error [usage] cannot read `no-such-file`: No such file or directory
          next: check the name; a relative path starts in the current folder
    run -p llamacpp task --replay fix.md => 2
        error [usage] only the provider `replay` plays a recording back
          next: leave `--replay` out
    run -p llamacpp task --base-url localhost => 5
        error [bad-url] `base_url` (flag): it is not a URL: relative URL without a base
          next: write something like `http://localhost:[PORT]/v1`
    run -p llamacpp task --base-url http://localhost:1/v1 => 5
        context: src/lib.rs, README.md (192 B); `--context show` explains the selection
        failed [refused] `localhost:[PORT]` does not accept connections
          caused by: Connection refused
          next: start `llama-server -m MODEL.gguf --port 1`; or set its address with `--base-url`
    run -p llamacpp task --timeout 0 => 2
        error [usage] invalid value `0` for `--timeout <SECONDS>`: 0 is not between 1 and 86400
          next: see `agentos run --help`
    run -p llamacpp task --timeout soon => 2
        error [usage] invalid value `soon` for `--timeout <SECONDS>`: it is not a whole number
          next: see `agentos run --help`
    run -p command => 2
        error [usage] the following required arguments were not provided: <TASK>
          next: give the program after --: agentos run -p command -- COMMAND
    run -p command task => 2
        error [usage] the provider `command` needs a program
          next: give the program after --: agentos run -p command -- COMMAND
    run -p command -- no-such-program => 5
        failed [no-program] program `no-such-program` not found on the search path
          next: install it, or name it by its absolute path
    run -p command --read nowhere -- true => 2
        error [usage] `nowhere` cannot be read: No such file or directory (os error 2)
          next: name a file or folder that exists; a relative path starts in the current folder
    run -p tool task => 2
        error [usage] the provider `tool` needs a program
          next: give the program after --: agentos run -p tool "fix the typo" -- python3 my_tool.py
    run -p openai task -- cargo fmt => 2
        error [usage] a command after `--` belongs to the providers `command` and `tool`
          next: leave it out, or name one of these providers
    use olama => 2
        error [usage] there is no provider `olama`
          next: did you mean `ollama`? Or create a profile with `agentos profile init olama`
    use --model x => 2
        error [usage] the following required arguments were not provided: <NAME>
          next: see `agentos use --help`
    use openai extra => 2
        error [usage] unexpected argument `extra` found
          next: see `agentos use --help`
    config set => 2
        error [usage] the following required arguments were not provided: <KEY> <VALUE>
          next: see `agentos config set --help`
    config set provider => 2
        error [usage] the following required arguments were not provided: <VALUE>
          next: see `agentos config set --help`
    config set provider olama => 2
        error [usage] there is no provider `olama`
          next: did you mean `ollama`? Or create a profile with `agentos profile init olama`
    config set attempts 99 => 2
        error [bad-settings] `99` is no value for `attempts`: write a whole number from 1 to 10
          next: `agentos config list` shows all settings
    config set attempts -1 => 2
        error [bad-settings] `-1` is no value for `attempts`: write a whole number from 1 to 10
          next: `agentos config list` shows all settings
    config set colour never => 2
        error [bad-settings] there is no setting `colour`
          next: did you mean `color`? `agentos config list` shows all settings
    config get modle => 2
        error [bad-settings] there is no setting `modle`
          next: did you mean `model`? `agentos config list` shows all settings
    config unset chek => 2
        error [bad-settings] there is no setting `chek`
          next: did you mean `check`? `agentos config list` shows all settings
    config lst => 2
        error [usage] unrecognized subcommand `lst`
          next: did you mean `agentos config list`?
    config --orign => 2
        error [usage] unexpected argument `--orign` found
          next: did you mean `--origin`? see `agentos config --help`
    apply no-such-file => 2
        error [usage] cannot read `no-such-file`: No such file or directory
          next: check the name; a relative path starts in the current folder
    apply src => 2
        error [usage] cannot read `src`: Is a directory
          next: name a file
    apply empty.md => 6
        nothing to do [empty] the answer is empty
          next: nothing needs to be done
    apply prose.md => 6
        refused [no-diff] no edit was found in the answer
          next: name a file with a diff, with search/replace blocks under a file's path, or with whole files; ask the model for one of them
    apply fix.md --branch no..branch => 2
        failed [bad-branch-name] `no..branch` is not a valid branch name
          next: choose another name
    apply fix.md --policy no-such.toml => 2
        error [usage] cannot read `no-such.toml`: No such file or directory
          next: check the name; a relative path starts in the current folder
    apply fix.md --branch a --no-commit => 2
        error [usage] the argument `--branch <BRANCH>` cannot be used with `--no-commit`
          next: see `agentos apply --help`
    apply fix.md --explain --dry-run --branch x => 2
        error [usage] the argument `--explain` cannot be used with `--branch <BRANCH>`
          next: see `agentos apply --help`
    run -p openai task --file no-such-file => 2
        error [no-such-file] `no-such-file` is not in the commit that the change would be made on
          next: name a committed file; paths are relative to the folder you are in
    run -p openai task --file ../elsewhere => 2
        error [usage] `../elsewhere` is outside the repository
          next: name a path inside it; a relative path starts in the current folder
    run -p openai task --file lib.rs => 2
        error [no-such-file] `lib.rs` is not in the commit that the change would be made on
          next: did you mean `src/lib.rs`?
    run -p openai task --file src/**/*.py => 2
        error [no-such-file] `src/**/*.py` matches no committed file
          next: `*` and `?` match inside a name, and `**` any folders; files of `.agentosignore` are left out
    run -p openai task --file src/lib.rs:70-80 => 2
        error [no-such-lines] `src/lib.rs` has 11 lines, so `src/lib.rs:70-80` shows none of it
          next: name lines that the last commit has, or the whole file
    run -p openai task --file src/lib.rs:8-2 => 2
        error [no-such-lines] `src/lib.rs:8-2` names no lines
          next: lines are counted from 1, and the first one comes first, as in `PATH:10-80`
    run -p openai task --symbol ad => 2
        error [no-such-symbol] no file of the base defines `ad`
          next: did you mean `add`?
    run -p openai task --symbol a-b => 2
        error [no-such-symbol] `a-b` is not the name of a definition
          next: name one function, type or constant, such as `open` or `Shop::open`
    run -p openai task --context al => 2
        error [usage] invalid value `al` for `--context <HOW>` [possible values: show, text, auto, none]
          next: see `agentos run --help`
    run -p openai task --check-timeout 5 => 2
        error [usage] `--check-timeout` limits a check, and there is none
          next: name one with `--check COMMAND`, or leave `--check-timeout` out
    run -p openai task --no-check --check true => 2
        error [usage] the argument `--no-check` cannot be used with `--check <COMMAND>`
          next: see `agentos run --help`
    run -p openai task --edit-format dif => 2
        error [usage] invalid value `dif` for `--edit-format <FORM>` [possible values: diff, search-replace, whole-file, json]
          next: did you mean `diff`? see `agentos run --help`
    diff normalise fix.md => 2
        error [usage] unrecognized subcommand `normalise`
          next: did you mean `agentos diff normalize`?
    diff normalize fix.md --base nowhere => 2
        error [unknown-revision] `nowhere` names no commit here
          next: `git log` shows the commits
    show 1234 => 2
        error [usage] there is no run `1234` on the tape
          next: `agentos log` shows the runs
    show @~99 => 2
        error [usage] `@~99` names no run: there are 7 runs
          next: `agentos log` shows the runs
    show --answer --diff => 2
        error [usage] the argument `--answer` cannot be used with `--diff`
          next: see `agentos show --help`
    approve no-such-run => 2
        error [usage] there is no run `no-such-run` on the tape
          next: `agentos log` shows the runs
    approve --show => 2
        error [usage] the following required arguments were not provided: <RUN>
          next: see `agentos approve --help`
    deny => 2
        error [usage] the following required arguments were not provided: <RUN>
          next: see `agentos deny --help`
    deny no-such-run => 2
        error [usage] there is no run `no-such-run` on the tape
          next: `agentos log` shows the runs
    undo => 2
        error [nothing-to-undo] no run has landed anything here yet
          next: `agentos log` shows the runs
    undo no-such-run => 2
        error [usage] there is no run `no-such-run` on the tape
          next: `agentos log` shows the runs
    log --since yesterday => 2
        error [usage] unexpected argument `--since` found
          next: see `agentos log --help`
    log -n 0 => 2
        error [usage] invalid value `0` for `--limit <N>`: 0 is less than 1
          next: see `agentos log --help`
    policy check no-such-file => 2
        error [usage] cannot read `no-such-file`: No such file or directory
          next: check the name; a relative path starts in the current folder
    policy check --commit nowhere => 2
        error [unknown-revision] `nowhere` names no commit here
          next: `git log` shows the commits
    policy lint --rules nowhere => 2
        error [usage] there is no folder `nowhere`
          next: name a folder with rule files, such as `.agentos/policy`
    policy init --preset tema => 2
        error [usage] invalid value `tema` for `--preset <PRESET>` [possible values: default, solo, team, strict]
          next: did you mean `team`? see `agentos policy init --help`
    policy explain => 2
        error [usage] `policy explain` needs something to explain
          next: name a diff, `-`, `--commit REV` or `--read PATH`
    policy facts --json => 2
        "the list of facts is text, and there is no JSON form of it"
    evidence verify --commit nowhere => 2
        error [unknown-revision] `nowhere` names no commit here
          next: `git log` shows the commits
    evidence verify --dir nowhere => 2
        error [usage] there is no folder `nowhere`
          next: name a folder that `agentos evidence export --out` created
    evidence verify --range x => 2
        error [unknown-revision] `x` names no commit here
          next: `git log` shows the commits
    evidence export => 2
        error [usage] the following required arguments were not provided: --out <DIR>
          next: see `agentos evidence export --help`
    evidence export --out src => 2
        error [usage] `src` is not empty
          next: name a folder that does not exist yet, or an empty one
    evidence key trust nowhere --name anna => 2
        error [usage] cannot read `nowhere`: No such file or directory
          next: check the name; a relative path starts in the current folder
    evidence list --since noon => 2
        error [usage] `noon` is not a valid time
          next: write it as in `2026-11-21` or `2days`
    tool => 2
        List tools, check their health, manage their keys, run one without landing
        Usage: agentos tool [OPTIONS] <COMMAND>
        Commands:
          list     List the providers with their addresses, models and the sources of their keys
          health   Check the health of all providers at once
          auth     Manage providers' keys
          trust    Show the tools of a toolbox, ask whether models may call them, and remember the answer
          conform  Check that a program speaks the tool protocol: JSON lines over its standard streams
        Global options:
              --repo <DIR>  Use the repository in this folder [default: the current one]
              --json        Print one JSON document instead of text
          -h, --help        Print a summary with `-h`, and everything with `--help`
        Examples:
          agentos tool list
          agentos tool health
    tool helth => 2
        error [usage] unrecognized subcommand `helth`
          next: did you mean `agentos tool health`?
    tool auth set => 2
        error [usage] the following required arguments were not provided: --provider <NAME>
          next: `agentos tool list` names the providers; see `agentos tool auth set --help`
    tool auth clear -p olama => 2
        error [usage] there is no provider `olama`
          next: did you mean `ollama`? Or create a profile with `agentos profile init olama`
    tool health -p olama => 2
        error [usage] there is no provider `olama`
          next: did you mean `ollama`? Or create a profile with `agentos profile init olama`
    tool health --model x => 2
        error [usage] `--base-url`, `--send-key`, `--model` and time limits need exactly one `--provider`
          next: for example `agentos tool health -p ollama --base-url http://localhost:[PORT]`
    tool health --save => 2
        error [usage] the following required arguments were not provided: --probe
          next: see `agentos tool health --help`
    tool conform => 2
        error [usage] the following required arguments were not provided: <COMMAND>...
          next: see `agentos tool conform --help`
    profile show opnai => 2
        error [usage] there is no provider `opnai`
          next: did you mean `openai`? Or create a profile with `agentos profile init opnai`
    profile init Anna => 2
        error [usage] `Anna` cannot name a provider
          next: use small letters, digits and `-`
    profile validate no-such-file => 2
        error [usage] cannot read `no-such-file`: No such file or directory
          next: check the name; a relative path starts in the current folder
    models show gpt4o => 2
        error [usage] `gpt4o` is not a known model
          next: did you mean `gpt-4o`?
    models list --provider olama => 2
        error [usage] no known model matches
          next: providers are anthropic, ollama, openai; API types are anthropic, ollama, openai
    schema outcom => 2
        error [usage] there is no schema `outcom`
          next: did you mean `outcome`? `agentos schema --list` lists all schemas
    completions bsh => 2
        error [usage] invalid value `bsh` for `<SHELL>` [possible values: bash, elvish, fish, powershell, zsh]
          next: did you mean `bash`? see `agentos completions --help`
    completions bash --json => 2
        "a script for a shell is text, and there is no JSON form of it"
    demo --dir src => 2
        error [usage] `src` already exists
          next: name a folder that does not exist yet
    demo --json => 2
        "the demonstration is text, and there is no JSON form of it"
    man tool helth => 2
        error [usage] there is no verb `tool helth`
          next: did you mean `tool health`? `agentos man --list` lists all verbs
    init --preset tema => 2
        error [usage] invalid value `tema` for `--preset <PRESET>` [possible values: default, solo, team, strict]
          next: did you mean `team`? see `agentos init --help`
    doctor --ofline => 2
        error [usage] unexpected argument `--ofline` found
          next: did you mean `--offline`? see `agentos doctor --help`
    --repo nowhere log => 8
        error [not-a-repository] `[REPO]/nowhere` is not in a git repository
          next: change to a repository, or name one with `--repo DIR`
    "#);
    assert_eq!(poor, Vec::<String>::new());
}
