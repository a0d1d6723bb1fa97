//! Next steps after a failure as text: sentences that name commands and flags.
//!
//! Owns: the wording. Never: decides which steps help; the failure lists them as data.

use std::borrow::Cow;

use agentos_api::{BranchChoice, NextStep, RunLimit, RunOption, TaskPart};
use agentos_tool::ToolHealth;

/// Returns the steps of a failure as one sentence: its own hint first, then each step, joined with "or". `None` if there is
/// neither a hint nor a step.
pub fn word_hint(hint: Option<&str>, steps: &[NextStep]) -> Option<String> {
    match (hint, word_steps(steps)) {
        (Some(hint), Some(words)) => {
            // "or" would present the step as a solution. A step that only shows something solves nothing.
            let is_look = steps.first().is_some_and(is_look);
            let joiner = match (hint.ends_with('?'), is_look) {
                (true, true) => " ",
                (true, false) => " Or ",
                (false, true) => "; ",
                (false, false) => "; or ",
            };
            Some(format!("{hint}{joiner}{words}"))
        }
        (hint, words) => words.or_else(|| hint.map(str::to_owned)),
    }
}

/// Replaces the `fix` of each provider by a sentence with its hint and its next steps.
pub fn word_health(tools: &mut [ToolHealth]) {
    for tool in tools {
        tool.fix = word_hint(tool.fix.as_deref(), &tool.next);
    }
}

/// Returns the command that performs a step. `None` if no single command does.
pub fn word_command(step: &NextStep) -> Option<String> {
    Some(match step {
        NextStep::RunGit { command } => command.clone(),
        NextStep::StartDemo => "agentos demo".to_owned(),
        NextStep::InitRepository => "agentos init".to_owned(),
        NextStep::CheckHealth => "agentos tool health".to_owned(),
        NextStep::Diagnose => "agentos doctor".to_owned(),
        NextStep::Recover => "agentos recover".to_owned(),
        NextStep::ListRequests => "agentos approve".to_owned(),
        NextStep::RunTask { provider } => {
            format!(
                "agentos run -p {} \"TASK\"",
                provider.as_deref().unwrap_or("NAME")
            )
        }
        NextStep::RunDefault => "agentos run \"TASK\"".to_owned(),
        NextStep::SetDefaultProvider { provider } => {
            format!("agentos use {}", provider.as_deref().unwrap_or("NAME"))
        }
        NextStep::ListSettings => "agentos config list".to_owned(),
        NextStep::ListBudgets => "agentos budget list".to_owned(),
        NextStep::StartService => "agentos serve".to_owned(),
        NextStep::ListModels => "agentos models list --all".to_owned(),
        NextStep::LandDiff => "agentos apply fix.patch".to_owned(),
        NextStep::ShowRun { .. } => "agentos show".to_owned(),
        NextStep::UndoRun => "agentos undo".to_owned(),
        NextStep::LandRecorded { run } => format!("agentos land {run}"),
        NextStep::ShowAnswer { run } => format!("agentos show {run} --answer"),
        NextStep::RetryRun { run } => format!("agentos retry {run}"),
        // The other steps need a value that only the user knows, or advise to change something, so there is no command
        // to copy.
        _ => return None,
    })
}

/// Returns the steps as alternatives in one sentence. `None` if there are none.
fn word_steps(steps: &[NextStep]) -> Option<String> {
    let (first, others) = steps.split_first()?;
    let mut words = word_step(first).into_owned();
    let mut before = first;
    for step in others {
        let joiner = if is_look(before) || is_look(step) {
            "; "
        } else {
            ", or "
        };
        words.push_str(joiner);
        words.push_str(&word_step(step));
        before = step;
    }
    Some(words)
}

/// Returns true for a step that only shows something. It is not an alternative to the other steps, so it is joined with
/// ";" instead of "or".
fn is_look(step: &NextStep) -> bool {
    matches!(
        step,
        NextStep::ShowRun { .. }
            | NextStep::ShowTranscript
            | NextStep::ListRuns
            | NextStep::LandRecorded { .. }
            | NextStep::ShowAnswer { .. }
            | NextStep::ListRequests
            | NextStep::ListKeys
            | NextStep::ListSettings
            | NextStep::ListModels
            | NextStep::CheckHealth
    )
}

/// Next step for a damaged tape.
const SET_ASIDE: &str = "`agentos evidence verify` lists every fault; run `agentos recover`, then rename the folder to keep it \
                         for inspection, as in `mv .git/agentos .git/agentos.broken`: new runs then begin a new tape";

/// Returns one step as part of a sentence.
fn word_step(step: &NextStep) -> Cow<'static, str> {
    match step {
        NextStep::NameRepository => "change to a repository, or name one with `--repo DIR`".into(),
        NextStep::NameBranch { choice } => word_branch(*choice).into(),
        NextStep::RunGit { command } => format!("run `{command}`").into(),
        NextStep::ClearWork { .. } => "commit or stash this work first".into(),
        NextStep::RunOnCheckedOut => "nothing was landed: run the task again to land on this branch".into(),
        NextStep::RaiseLimit { limit } => word_limit(*limit).into(),
        NextStep::GiveLess { part } => word_part(*part).into(),
        NextStep::ChangeTask { advice } => format!("say in the task {advice}").into(),
        NextStep::ShowRun { .. } => "`agentos show` shows the run".into(),
        NextStep::ShowAnswer { run } => format!("`agentos show {run} --answer` prints the answer").into(),
        NextStep::ConsentAtOnce => {
            "review the change, then run this again with `--yes` to consent to it".into()
        }
        NextStep::AnswerRequest { run } => word_answer(run).into(),
        NextStep::DenyRequest { run } => format!("`agentos deny {run}` closes the request for good").into(),
        NextStep::VerifyEvidence { set_aside: true } => SET_ASIDE.into(),
        NextStep::VerifyEvidence { set_aside: false } => {
            "`agentos evidence verify` lists every fault".into()
        }
        NextStep::MakeSigningKey { in_file: false } => "create a new key with `agentos evidence key rotate`".into(),
        NextStep::MakeSigningKey { in_file: true } => {
            "create a key with `agentos evidence key rotate --store file`".into()
        }
        NextStep::ShowTranscript => "`agentos show --output` prints its output".into(),
        NextStep::ListRuns => "`agentos log` shows the runs".into(),
        NextStep::ListRequests => "`agentos approve` lists the runs that wait".into(),
        NextStep::NameExport => "name a folder that `agentos evidence export --out` created".into(),
        NextStep::SetKey { provider, in_file } => word_key(provider.as_deref(), *in_file).into(),
        NextStep::SetKeyVariable { variable } => {
            format!("set the right key in `{variable}`, which takes precedence over stored keys").into()
        }
        NextStep::ListKeys => "`agentos tool auth status` shows where each key comes from".into(),
        NextStep::KeepInFile => "store the key in a file that only you can read, with `--store file`".into(),
        NextStep::SendKey { base_url: None } => "send the key there with `--send-key`".into(),
        NextStep::SendKey { base_url: Some(url) } => {
            format!("send the key there with `--base-url {url} --send-key`").into()
        }
        NextStep::MakeProfile { provider } => {
            format!("create a profile with `agentos profile init {provider}`").into()
        }
        NextStep::SignIn { provider } => {
            format!("sign in with `agentos tool auth sign-in --provider {provider}`").into()
        }
        NextStep::TrustToolbox { toolbox } => {
            format!("review its tools with `agentos tool trust {toolbox}`").into()
        }
        NextStep::ReviewPolicy => "review the repository's policy with `agentos trust`".into(),
        NextStep::OfferToolbox { toolbox } => {
            format!("offer its tools in a conversation with `agentos chat --tool {toolbox}`").into()
        }
        NextStep::ReplaceProfile => "overwrite it with `--force`".into(),
        NextStep::CorrectProfile { provider } => {
            format!("see `agentos profile show {provider}`, and correct the named value").into()
        }
        NextStep::NameBaseUrl { example: None } => "set its address with `--base-url`".into(),
        NextStep::NameBaseUrl { example: Some(url) } => {
            format!("set an address such as `{url}` with `--base-url` or in the profile").into()
        }
        NextStep::NameModel => "select one of its models with `--model NAME`".into(),
        NextStep::NameRecording => "name a recording with `--replay FILE`".into(),
        NextStep::NameProgram { provider } => word_program(provider).into(),
        NextStep::CheckHealth => "`agentos tool health` shows what each provider needs".into(),
        NextStep::SkipBaseCheck => {
            "call the tool in any case with `--check-base skip`, if making the check pass is its task".into()
        }
        NextStep::AllowReading => {
            "let it read the files that it needs with `--read PATH`: it runs in a copy, without your home folder".into()
        }
        NextStep::AllowHosts { hosts } => word_hosts(hosts).into(),
        NextStep::UseOwnServer => "use a server of your own with `--base-url URL --model NAME`".into(),
        NextStep::CheckProtocol => {
            "`agentos tool conform -- COMMAND` checks each rule of the protocol".into()
        }
        NextStep::LeaveOut { option } => word_option(*option).into(),
        NextStep::RequireSandbox => "refuse them with `--require-sandbox`".into(),
        NextStep::PrintAtOnce => "print without a pager with `--no-pager`".into(),
        NextStep::StartDemo | NextStep::InitRepository | NextStep::Diagnose | NextStep::Recover => {
            format!("run `{}`", word_command(step).unwrap_or_default()).into()
        }
        NextStep::NameProvider => "name a provider with `-p NAME` (`agentos tool list` shows them)".into(),
        NextStep::SetDefaultProvider { provider } => {
            let name = provider.as_deref().unwrap_or("NAME");
            format!("set a default with `agentos use {name}`").into()
        }
        NextStep::ListSettings => "`agentos config list` shows all settings".into(),
        NextStep::ListBudgets => {
            "`agentos budget list` shows what is spent of each budget; `agentos budget set` changes one".into()
        }
        NextStep::StartService => "start it with `agentos serve`".into(),
        NextStep::ListModels => "`agentos models list --all` shows the known models".into(),
        NextStep::RunTask { .. } | NextStep::RunDefault => "request a change from a tool with `agentos run`".into(),
        NextStep::LandDiff => "land a diff with `agentos apply`".into(),
        NextStep::LandRecorded { run } => format!("`agentos land {run}` lands the answer without asking the tool again").into(),
        NextStep::LandAgain => "land it once more with `--again`".into(),
        NextStep::LandUnchecked => "land it without its check with `--no-check`".into(),
        NextStep::RetryRun { run } => format!("`agentos retry {run}` asks the tool again").into(),
        NextStep::NameUndone => "name another run with `agentos undo RUN`".into(),
        NextStep::UndoRun => "undo the last landed run with `agentos undo`".into(),
    }
}

/// Words where a program's hosts are listed. The hosts themselves are untrusted, and the failure's message names them.
fn word_hosts(hosts: &[String]) -> &'static str {
    if hosts.is_empty() {
        "it has no network except the hosts that its own profile lists in `program.hosts`"
    } else {
        "if it needs them, list them in `program.hosts` of your profile, as `host:port`"
    }
}

fn word_answer(run: &str) -> String {
    format!(
        "review it with `agentos approve {run} --show`, then land it without `--show`, or decline it with `agentos deny`"
    )
}

fn word_key(provider: Option<&str>, in_file: bool) -> String {
    let store = if in_file { " --store file" } else { "" };
    let provider = provider.unwrap_or("NAME");
    format!("set the key with `agentos tool auth set{store} --provider {provider}`")
}

fn word_program(provider: &str) -> String {
    // The provider `tool` passes a task to its program. The provider `command` has no task text: its program makes the
    // change.
    let task = if provider == "tool" {
        " \"fix the typo\" -- python3 my_tool.py"
    } else {
        " -- COMMAND"
    };
    format!("give the program after --: agentos run -p {provider}{task}")
}

fn word_limit(limit: RunLimit) -> &'static str {
    match limit {
        RunLimit::CheckTime => "allow the check more time with `--check-timeout SECONDS`",
        RunLimit::ToolTime => "allow more time with `--timeout SECONDS`",
        RunLimit::ConnectTime => {
            "allow more with `--connect-timeout SECONDS`, or `timeouts.connect_seconds` in the profile"
        }
        RunLimit::FirstByteTime => {
            "allow more with `--first-byte-timeout SECONDS`, or `timeouts.first_byte_seconds` in the profile"
        }
        RunLimit::IdleTime => {
            "allow more with `--idle-timeout SECONDS`, or `timeouts.idle_seconds` in the profile"
        }
        RunLimit::TotalTime => {
            "allow more with `--total-timeout SECONDS`, or `timeouts.total_seconds` in the profile"
        }
        RunLimit::OutputTokens => "raise the limit with `--max-output-tokens N`",
        RunLimit::Attempts => "allow more attempts with `--attempts N`",
        RunLimit::ExploreRounds => "allow more with `--explore-rounds N`",
        RunLimit::ExploreTime => "allow more time with `--explore-time SECONDS`",
    }
}

fn word_part(part: TaskPart) -> &'static str {
    match part {
        TaskPart::Answer => "give it a smaller task",
        TaskPart::Check => "let the check test less",
    }
}

fn word_option(option: RunOption) -> &'static str {
    match option {
        RunOption::Check => {
            "leave `--check` out, and test the change yourself after landing it with `--branch NAME`"
        }
        RunOption::EditFormat => "leave `--edit-format` out",
        RunOption::Recording => "leave `--replay` out",
        RunOption::Reading => "leave `--read` and `--share` out",
        RunOption::Context => "leave `--context` out",
        RunOption::Explore => "leave `--explore` out, and name files with `--file`",
        RunOption::Hooks => "run no hook with `--no-hooks`",
        RunOption::Sandbox => {
            "leave `--require-sandbox` out to have the boundary observed instead; the evidence records which it was"
        }
    }
}

fn word_branch(choice: BranchChoice) -> &'static str {
    match choice {
        BranchChoice::Any => "name a branch with `--branch NAME`",
        BranchChoice::CheckOutOrName => "switch to a branch, or name one with `--branch NAME`",
        BranchChoice::Other => "land on another branch with `--branch NAME`",
        BranchChoice::OtherThenMerge => "land on another branch with `--branch NAME`, then merge with git",
        BranchChoice::BeganWith => "name the branch with `--branch NAME`",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_alternatives_after_a_failures_own_sentence() {
        let other = NextStep::NameBranch {
            choice: BranchChoice::Other,
        };
        let clear = NextStep::ClearWork {
            paths: vec!["a".to_owned()],
        };
        let both = "commit or stash this work first, or land on another branch with `--branch NAME`";
        for (hint, steps, words) in [
            (None, vec![], None),
            (Some("look"), vec![], Some("look".to_owned())),
            (None, vec![clear.clone(), other.clone()], Some(both.to_owned())),
            (Some("look"), vec![clear, other], Some(format!("look; or {both}"))),
            (
                Some("start a server"),
                vec![NextStep::CheckHealth],
                Some("start a server; `agentos tool health` shows what each provider needs".to_owned()),
            ),
        ] {
            assert_eq!(word_hint(hint, &steps), words);
        }
    }
}
