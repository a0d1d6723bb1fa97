//! The words of this command line for what a person can do next.
//!
//! Owns: flags and verbs in such a sentence. Never: decides which steps help: a failure brings them.

use agentos_api::{BranchChoice, NextStep, RunLimit, TaskPart};

/// Words the steps of a failure: its own sentence first, where it has one, then each step, joined with "or".
/// Returns `None` if there is neither.
pub fn word_hint(hint: Option<&str>, steps: &[NextStep]) -> Option<String> {
    match (hint, word_steps(steps)) {
        (Some(hint), Some(words)) => Some(format!("{hint}; or {words}")),
        (hint, words) => words.or_else(|| hint.map(str::to_owned)),
    }
}

/// Words the alternatives. Returns `None` if there are none.
fn word_steps(steps: &[NextStep]) -> Option<String> {
    let (first, others) = steps.split_first()?;
    let mut words = word_step(first);
    let mut before = first;
    for step in others {
        // A look at the run comes before whatever is done about it; it is no alternative.
        let joiner = match before {
            NextStep::ShowRun { .. } => "; ",
            NextStep::NameRepository
            | NextStep::NameBranch { .. }
            | NextStep::RunGit { .. }
            | NextStep::ClearWork { .. }
            | NextStep::RunOnCheckedOut
            | NextStep::RaiseLimit { .. }
            | NextStep::GiveLess { .. }
            | NextStep::ChangeTask { .. }
            | NextStep::ConsentAtOnce
            | NextStep::AnswerRequest { .. }
            | NextStep::VerifyEvidence { .. }
            | NextStep::MakeSigningKey => ", or ",
        };
        words.push_str(joiner);
        words.push_str(&word_step(step));
        before = step;
    }
    Some(words)
}

fn word_step(step: &NextStep) -> String {
    match step {
        NextStep::NameRepository => "go to a repository, or name one with `--repo DIR`".to_owned(),
        NextStep::NameBranch { choice } => word_branch(*choice).to_owned(),
        NextStep::RunGit { command } => format!("run `{command}`"),
        NextStep::ClearWork { .. } => "commit or stash this work first".to_owned(),
        NextStep::RunOnCheckedOut => "nothing was landed: run it again to land here".to_owned(),
        NextStep::RaiseLimit { limit } => word_limit(*limit).to_owned(),
        NextStep::GiveLess {
            part: TaskPart::Answer,
        } => "ask for less at once".to_owned(),
        NextStep::GiveLess {
            part: TaskPart::Check,
        } => "let it test less".to_owned(),
        NextStep::ChangeTask { advice } => format!("say in the task {advice}"),
        NextStep::ShowRun { .. } => "`agentos evidence show` has the run".to_owned(),
        NextStep::ConsentAtOnce => {
            "look at the change, then run this again with `--yes` to consent to it".to_owned()
        }
        NextStep::AnswerRequest { run } => format!(
            "look at it with `agentos approve --show {run}`; `agentos approve {run}` lands it, `agentos deny {run}` closes it"
        ),
        NextStep::VerifyEvidence { set_aside: true } => {
            "`agentos evidence verify` names each place; run `agentos recover`, then keep the folder for a look and move it \
             aside, as in `mv .git/agentos .git/agentos.broken`: new runs then begin a new tape"
                .to_owned()
        }
        NextStep::VerifyEvidence { set_aside: false } => {
            "`agentos evidence verify` lists everything that is wrong".to_owned()
        }
        NextStep::MakeSigningKey => "`agentos evidence key rotate` makes a new one".to_owned(),
    }
}

fn word_limit(limit: RunLimit) -> &'static str {
    match limit {
        RunLimit::CheckTime => "give the check more time with `--check-timeout SECONDS`",
        RunLimit::OutputTokens => "raise the limit with --max-output-tokens",
        RunLimit::Attempts => "try more `--attempts`",
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
        ] {
            assert_eq!(word_hint(hint, &steps), words);
        }
    }
}
