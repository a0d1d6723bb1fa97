//! The user's settings: one file, its place, its mistakes, and what they change.

use agentos_testkit::cli::Cli;
use agentos_testkit::repo::{TestRepo, write_file};

use crate::support::{LIB_FIXED, SLOPPY_FIX, agentos, small_repo};

/// Runs the program and returns its exit code and both outputs, with the home's path replaced.
fn call(cli: &Cli, args: &[&str]) -> (Option<i32>, String) {
    let output = cli.run(args).unwrap();
    let text = format!("{}{}", output.stdout, output.stderr);
    (output.code, text.replace(&cli.home().display().to_string(), "~"))
}

/// A repository next to which a recorded answer lies, and a user in it.
fn at_work() -> (TestRepo, Cli, String) {
    let repo = small_repo();
    let answer = repo.outside().join("good.md");
    write_file(&answer, SLOPPY_FIX);
    let cli = agentos().in_dir(repo.path());
    let answer = answer.display().to_string();
    (repo, cli, answer)
}

// LB-22: a default that the user sets.
#[test]
fn a_default_provider_is_used_where_none_is_named_and_only_then() {
    let (repo, cli, answer) = at_work();
    let task = ["run", "--replay", &answer, "add must add", "--file", "src/lib.rs"];
    let (code, text) = call(&cli, &task);
    assert_eq!(code, Some(2));
    insta::assert_snapshot!(text, @r"
    error [missing-provider] no provider is named, and none is set as the default
      next: name a provider with `-p NAME` (`agentos tool list` shows them), or set a default with `agentos use NAME`
    ");
    let (code, text) = call(&cli, &["use", "replay"]);
    assert_eq!(code, Some(0), "{text}");
    insta::assert_snapshot!(text, @r"
    tasks that name no provider now use replay (~/.config/agentos/config.toml:1)
    ");
    let (code, text) = call(&cli, &task);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(repo.read("src/lib.rs"), LIB_FIXED.as_bytes());
    // A named provider is the one that is used.
    let (code, text) = call(&cli, &["run", "-p", "opnai", "task"]);
    assert_eq!(code, Some(2));
    assert!(text.contains("there is no provider `opnai`"), "{text}");
    // So is one in a variable.
    let other = cli
        .command(&["use"])
        .env("AGENTOS_PROVIDER", "openai")
        .output()
        .unwrap();
    assert_eq!(other.stdout, b"openai (environment AGENTOS_PROVIDER)\n");
    assert_eq!(call(&cli, &["config", "unset", "provider"]).0, Some(0));
    assert_eq!(call(&cli, &task).0, Some(2));
}

#[test]
fn settings_are_listed_got_set_and_removed_with_their_origin() {
    let (_repo, cli, _) = at_work();
    let mut seen = String::new();
    for args in [
        &["config", "set", "attempts", "3"][..],
        &["config", "set", "check", "cargo test"],
        &["config", "set", "pager", ""],
        &["use", "ollama", "--model", "qwen"],
        &["config", "--origin"],
        &["config", "get", "check", "--origin"],
        &["config", "get", "timeout"],
        &["use", "openai"],
        &["config", "get", "model"],
        &["use", "openai/gpt-4o"],
        &["config", "get", "model"],
        &["use", "openai/gpt-4o", "--model", "o3"],
        &["config", "set", "provider", "ollama/qwen"],
        &["config", "get", "model"],
        &["use", "openai"],
        &["config", "unset", "check"],
        &["config", "unset", "check"],
        &["config", "path"],
        &["config", "set", "attempts", "11"],
        &["config", "set", "modle", "x"],
        &["config", "get", "colour"],
        &["use", "olama"],
    ] {
        let (code, text) = call(&cli, args);
        seen.push_str(&format!(
            "$ agentos {}\n{text}={}\n",
            args.join(" "),
            code.unwrap_or(-1)
        ));
    }
    insta::assert_snapshot!(seen, @r#"
    $ agentos config set attempts 3
    set `attempts` (~/.config/agentos/config.toml:1)
    =0
    $ agentos config set check cargo test
    set `check` (~/.config/agentos/config.toml:2)
    =0
    $ agentos config set pager 
    set `pager` (~/.config/agentos/config.toml:3)
    =0
    $ agentos use ollama --model qwen
    tasks that name no provider now use ollama, model qwen (~/.config/agentos/config.toml:4)
    =0
    $ agentos config --origin
    provider            ollama      ~/.config/agentos/config.toml:4  provider of a task that names none
    model               qwen        ~/.config/agentos/config.toml:5  model of that provider
    check               cargo test  ~/.config/agentos/config.toml:2  shell command that a change of a task must pass before it lands
    attempts            3           ~/.config/agentos/config.toml:1  maximum number of attempts of a task
    pager               ""          ~/.config/agentos/config.toml:3  program that shows long text
    check_timeout       (600)       -                                time limit of the check in seconds
    hooks               (skip)      -                                whether the repository's hooks run before a commit, in the sandbox
    check_base          (require)   -                                whether the check must pass without a change before a tool is called
    context             -           -                                search for files to show in addition to the named ones
    explore             (no)        -                                whether the model of a task reads the repository itself, with tools
    explore_rounds      (10)        -                                answers of that model in which it may call tools
    explore_time        (300)       -                                seconds for each attempt of that model
    proposal_time       (300)       -                                seconds for which a change of a conversation waits for you; 0 for any time
    request_time        (604800)    -                                seconds for which the request of any other run waits for you; 0 for any time
    device_addresses    -           -                                addresses at which your other devices reach the service, with a blank between two; `http://localhost:7417` over `ssh -L`, `tls://192.0.2.7:7418` for TLS of the service itself
    timeout             -           -                                seconds of silence of a server, or of the whole run of a program
    connect_timeout     -           -                                seconds for connecting to a server
    first_byte_timeout  -           -                                seconds for the first byte of a server's answer
    idle_timeout        -           -                                seconds of silence in the middle of a server's answer
    total_timeout       -           -                                seconds for a server's whole answer
    color               (auto)      -                                color in the output
    =0
    $ agentos config get check --origin
    cargo test	~/.config/agentos/config.toml:2
    =0
    $ agentos config get timeout
    `timeout` is not set
    =2
    $ agentos use openai
    tasks that name no provider now use openai (~/.config/agentos/config.toml:4)
    =0
    $ agentos config get model
    `model` is not set
    =2
    $ agentos use openai/gpt-4o
    tasks that name no provider now use openai, model gpt-4o (~/.config/agentos/config.toml:4)
    =0
    $ agentos config get model
    gpt-4o
    =0
    $ agentos use openai/gpt-4o --model o3
    error [usage] the call names two models of `openai`: `gpt-4o` and `o3`
      next: leave one of them out
    =2
    $ agentos config set provider ollama/qwen
    set `provider` (~/.config/agentos/config.toml:4)
    =0
    $ agentos config get model
    qwen
    =0
    $ agentos use openai
    tasks that name no provider now use openai (~/.config/agentos/config.toml:4)
    =0
    $ agentos config unset check
    removed `check` from your settings
    =0
    $ agentos config unset check
    `check` was not set in your settings file
    =0
    $ agentos config path
    ~/.config/agentos/config.toml
    =0
    $ agentos config set attempts 11
    error [bad-settings] `11` is no value for `attempts`: write a whole number from 1 to 10
      next: `agentos config list` shows all settings
    =2
    $ agentos config set modle x
    error [bad-settings] there is no setting `modle`
      next: did you mean `model`? `agentos config list` shows all settings
    =2
    $ agentos config get colour
    error [bad-settings] there is no setting `colour`
      next: did you mean `color`? `agentos config list` shows all settings
    =2
    $ agentos use olama
    error [usage] there is no provider `olama`
      next: did you mean `ollama`? Or create a profile with `agentos profile init olama`
    =2
    "#);
}

#[test]
fn a_broken_or_exposed_file_is_named_and_hides_nothing_else() {
    let (_repo, cli, _) = at_work();
    let file = cli.home().join(".config/agentos/config.toml");
    write_file(&file, "# mine\nprovidr = \"ollama\"\n");
    let (code, text) = call(&cli, &["run", "task"]);
    assert_eq!(code, Some(2));
    insta::assert_snapshot!(text, @r"
    error [bad-settings] ~/.config/agentos/config.toml:2:1: there is no setting `providr`
      next: did you mean `provider`? `agentos config list` shows all settings
    ");
    let (code, text) = call(&cli, &["config", "set", "attempts", "3"]);
    assert_eq!(code, Some(2), "{text}");
    // The state of the repository is shown in spite of it.
    let (code, text) = call(&cli, &[]);
    assert_eq!(code, Some(0));
    assert!(
        text.contains("there is no setting `providr`") && text.contains("branch"),
        "{text}"
    );
    let (code, text) = call(&cli, &["doctor", "--offline"]);
    assert_eq!(code, Some(2), "{text}");
    write_file(&file, "provider = \"ollama\"\n");
    agentos_testkit::repo::set_mode(&file, 0o666);
    let (code, text) = call(&cli, &["run", "task"]);
    assert_eq!(code, Some(2));
    insta::assert_snapshot!(text, @r"
    error [bad-settings] `~/.config/agentos/config.toml` has mode 666: other users can write to it
      next: chmod go-w ~/.config/agentos/config.toml
    ");
}

#[test]
fn a_repository_has_no_settings() {
    let (repo, cli, answer) = at_work();
    for place in [
        ".agentos/config.toml",
        "config.toml",
        ".config/agentos/config.toml",
    ] {
        repo.write(place, "provider = \"replay\"\ncheck = \"false\"\n");
    }
    repo.commit_all("settings of somebody else");
    let (code, text) = call(&cli, &["run", "--replay", &answer, "task"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("missing-provider"), "{text}");
}

#[test]
fn the_check_of_the_settings_runs_unless_it_is_left_out() {
    if !crate::support::sandbox_holds() {
        return;
    }
    let (_repo, cli, answer) = at_work();
    assert_eq!(call(&cli, &["config", "set", "check", "false"]).0, Some(0));
    assert_eq!(call(&cli, &["use", "replay"]).0, Some(0));
    let task = ["run", "--replay", &answer, "add must add", "--file", "src/lib.rs"];
    let (code, text) = call(&cli, &task);
    assert_eq!(code, Some(6), "{text}");
    assert!(text.contains("check-failed"), "{text}");
    let (code, text) = call(&cli, &[&task[..], &["--no-check"]].concat());
    assert_eq!(code, Some(0), "{text}");
}
