//! The causes of an error, as texts that a front end in another process can show.
//!
//! Owns: how a chain of sources becomes a list, and which of its texts a message does not contain. Never: removes a
//! secret; the code that creates an error removes secrets from its text.

use std::error::Error;

/// Maximum number of listed causes. A chain in practice has fewer than five.
const MOST_CAUSES: usize = 16;

/// Maximum characters of a cause. A longer one is left out.
const LONGEST_CAUSE: usize = 1000;

/// Lists the sources of an error, from the one just below it to the root. The error itself is not among them.
#[must_use]
pub fn list_causes(error: &dyn Error) -> Vec<String> {
    let mut causes: Vec<String> = Vec::new();
    let mut source = error.source();
    // A limit, because an implementation of `source` of another crate could return itself, and the loop would
    // not end.
    while let Some(error) = source
        && causes.len() < MOST_CAUSES
    {
        let mut text = error.to_string();
        // Left out and not cut: a secret that is cut in half is no longer recognised by the code that hides it afterwards.
        if text.chars().count() > LONGEST_CAUSE {
            text = format!("a cause of {} bytes is left out", text.len());
        }
        // An error that only passes its source on has the same text.
        if causes.last() != Some(&text) {
            causes.push(text);
        }
        source = error.source();
    }
    causes
}

/// Returns the causes whose text is neither in the message nor in the causes before them. They are shown to people, so the
/// numbers that the operating system and libgit2 add are left out.
#[must_use]
pub fn unsaid_causes<'a>(message: &str, causes: &'a [String]) -> Vec<&'a str> {
    let mut said = message.to_owned();
    let mut unsaid = Vec::new();
    for cause in causes {
        let words = without_numbers(cause);
        if !said.contains(words) {
            unsaid.push(words);
            said.push('\n');
            said.push_str(words);
        }
    }
    unsaid
}

/// Returns a text with the system's words for a full disk in plain words.
#[must_use]
pub fn word_full_disk(text: &str) -> String {
    // As the standard library writes ENOSPC. The words alone may be those of a server.
    text.replace("No space left on device (os error 28)", "the disk is full")
}

/// Returns the text of a cause without the error numbers at its end.
fn without_numbers(cause: &str) -> &str {
    // The standard library ends the text of a system error with ` (os error N)`, and `git2` ends its text with
    // `; class=NAME (N)`.
    let words = cause.split(" (os error").next().unwrap_or(cause);
    words.split("; class=").next().unwrap_or(words)
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    #[derive(Debug)]
    struct Link(&'static str, Option<Box<Link>>);

    impl fmt::Display for Link {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Link {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|link| link as &(dyn Error + 'static))
        }
    }

    fn chain(texts: &[&'static str]) -> Link {
        let (first, rest) = texts.split_first().unwrap();
        let below = (!rest.is_empty()).then(|| Box::new(chain(rest)));
        Link(first, below)
    }

    #[test]
    fn causes_go_from_the_outermost_to_the_root() {
        for (texts, causes) in [
            (&["a"][..], &[][..]),
            (&["a", "b", "c"], &["b", "c"]),
            (&["a", "b", "b", "c"], &["b", "c"]),
        ] {
            assert_eq!(list_causes(&chain(texts)), causes);
        }
        assert_eq!(list_causes(&chain(&["x"; 3])), ["x"]);
        let endless: Vec<&str> = ["a", "b"].repeat(20);
        assert_eq!(list_causes(&chain(&endless)).len(), MOST_CAUSES);
        let long: &'static str = "k".repeat(LONGEST_CAUSE + 1).leak();
        assert_eq!(
            list_causes(&chain(&["a", long])),
            ["a cause of 1001 bytes is left out"]
        );
    }

    #[test]
    fn a_full_disk_is_said_in_plain_words() {
        let error = std::io::Error::from_raw_os_error(28);
        assert_eq!(
            word_full_disk(&format!("cannot write `x`: {error}")),
            "cannot write `x`: the disk is full"
        );
        assert_eq!(
            word_full_disk("the server says: No space left on device"),
            "the server says: No space left on device"
        );
    }

    #[test]
    fn what_a_message_says_already_is_not_said_again() {
        for (message, causes, unsaid) in [
            (
                "cannot read `x`: No such file",
                &["No such file (os error 2)"][..],
                &[][..],
            ),
            (
                "no answer",
                &["connect error", "refused (os error 111)"],
                &["connect error", "refused"],
            ),
            (
                "no answer",
                &["connect error: refused", "refused (os error 111)"],
                &["connect error: refused"],
            ),
            ("cannot read: bad object", &["bad object; class=Odb (9)"], &[]),
        ] {
            let causes: Vec<String> = causes.iter().map(ToString::to_string).collect();
            assert_eq!(unsaid_causes(message, &causes), unsaid, "{message}");
        }
    }
}
