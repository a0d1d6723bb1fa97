//! The stop words of the plain wire.

use super::*;

#[test]
fn a_stop_word_never_stands_in_what_may_be_copied() {
    let words = |lines_are_marked, text: &str| {
        let messages = [ChatMessage::from_user(text)];
        stop_words(lines_are_marked, &plain_prompt(Some("Answer."), &messages))
    };
    assert_eq!(words(true, "Fix it."), STOP);
    assert_eq!(words(true, "Close the `</s>` tag."), ["\nUser:", "\nAssistant:"]);
    assert_eq!(words(false, "Close the `</s>` tag."), [""; 0]);
}
