//! The stop words of the plain wire.

use agentos_testkit::contract::task;

use super::*;

#[test]
fn a_stop_word_never_stands_in_what_may_be_copied() {
    let mut task = task(std::time::Duration::from_secs(1));
    let words = |task: &ToolTask| stop_words(task, &plain_prompt(task));
    assert_eq!(words(&task), STOP);
    task.instruction = "Close the `</s>` tag.".to_owned();
    assert_eq!(words(&task), ["\nUser:", "\nAssistant:"]);
    task.edit_format = EditFormat::WholeFile;
    assert_eq!(words(&task), [""; 0]);
}
