//! Refuses a task, a commit message or a check without a word in it.
//!
//! Owns: the texts that must say something. Never: judges what they say.

use agentos_engine::ports::EffectError;

use crate::run::RunWork;
use agentos_ground::error::usage_error;

/// Checks that every text of the work has a visible character. A model would be paid for an empty task, and a commit without a
/// message is one that `git commit` refuses as well.
///
/// # Errors
/// If a text is blank.
pub(crate) fn refuse_blank_text(work: &RunWork) -> Result<(), EffectError> {
    let (task, message, check) = match work {
        RunWork::Task(spec) | RunWork::Question(spec) => {
            let check = spec.check.as_ref().map(|check| check.command.as_str());
            (spec.task.as_deref(), spec.message.as_deref(), check)
        }
        RunWork::Answer(spec) => (None, spec.message.as_deref(), None),
        RunWork::Proposal(spec) => (None, spec.message.as_deref(), None),
        RunWork::Recorded(spec) => (None, spec.message.as_deref(), None),
        RunWork::Approval { .. } | RunWork::Undo { .. } => (None, None, None),
    };
    let refuse = |text: Option<&str>, what: &str, advice: &str| match text {
        Some(text) if is_blank(text) => Err(usage_error(format!("the {what} is empty")).hint(advice)),
        Some(_) | None => Ok(()),
    };
    refuse(task, "task", "say in words what is to be changed")?;
    // A shell takes an empty command for success, so the check of an unset variable would pass every change.
    refuse(
        check,
        "command of the check",
        "write one, or leave the option out",
    )?;
    refuse(
        message,
        "commit message",
        "write one, or leave it out: then it is derived",
    )
}

/// Returns true if a text has no character that a reader would see.
fn is_blank(text: &str) -> bool {
    // Zero-width characters are not white space to Rust, and a text of nothing else looks empty.
    let is_invisible = |c: char| {
        c.is_whitespace() || c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
    };
    text.chars().all(is_invisible)
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentos_ground::answer_spec::AnswerSpec;
    use agentos_ground::options::{BaseRule, CheckOptions};
    use agentos_ground::task_spec::TaskSpec;

    #[test]
    fn a_text_without_a_visible_character_is_refused() {
        for (text, is_refused) in [
            ("", true),
            (" \n\t", true),
            ("\u{200b}\u{feff}", true),
            (".", false),
            ("  fix it ", false),
        ] {
            let task = TaskSpec {
                task: Some(text.to_owned()),
                ..TaskSpec::default()
            };
            let message = TaskSpec {
                message: Some(text.to_owned()),
                ..TaskSpec::default()
            };
            let checked = TaskSpec {
                check: Some(CheckOptions {
                    command: text.to_owned(),
                    timeout_seconds: 1,
                    base: BaseRule::Require,
                }),
                ..TaskSpec::default()
            };
            let answer = AnswerSpec {
                verb: "apply".to_owned(),
                answer: Vec::new(),
                instruction: String::new(),
                message: Some(text.to_owned()),
                partial: false,
                author: None,
                trailers: Vec::new(),
            };
            for work in [
                RunWork::Task(task.clone()),
                RunWork::Question(task),
                RunWork::Task(message),
                RunWork::Task(checked),
                RunWork::Answer(answer),
            ] {
                let refused = refuse_blank_text(&work);
                assert_eq!(refused.is_err(), is_refused, "{text:?} {work:?}");
            }
        }
    }
}
