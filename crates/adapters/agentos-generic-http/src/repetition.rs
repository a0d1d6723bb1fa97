//! Notices an answer that says the same thing again and again.
//!
//! Owns: from when on a repetition is no answer any more. Never: ends a call.
//!
//! Small models fall into such loops, and only the limit on the answer would end them, after minutes. A text that has to repeat itself, such as
//! a table of zeros, is plainer than a sentence, so it may be longer.

/// Bytes at the end of an answer that must repeat themselves.
const SPAN: usize = 2_000;
/// Number of times that a text must stand in them.
const REPEATS: usize = 8;
/// Different bytes below which a text is plain.
const PLAIN: usize = 8;
/// Bytes that must repeat themselves if the repeated text is plain.
const PLAIN_SPAN: usize = 10_000;
/// New bytes after which the end is looked at again.
const STEP: usize = 200;

/// End of an answer in progress.
#[derive(Debug, Default)]
pub(crate) struct Repetition {
    tail: Vec<u8>,
    unseen: usize,
    is_noticed: bool,
}

impl Repetition {
    /// Adds a piece of the answer.
    pub(crate) fn add_text(&mut self, text: &str) {
        if self.is_noticed {
            return;
        }
        self.tail.extend_from_slice(text.as_bytes());
        self.unseen += text.len();
        if self.unseen < STEP {
            return;
        }
        self.unseen = 0;
        let surplus = self.tail.len().saturating_sub(PLAIN_SPAN);
        self.tail.drain(..surplus);
        self.is_noticed = repeats(&self.tail);
    }

    /// Returns true if the answer repeats itself.
    pub(crate) fn is_noticed(&self) -> bool {
        self.is_noticed
    }
}

/// Returns true if the end of a text is a repetition.
fn repeats(text: &[u8]) -> bool {
    let Some(end) = text.last_chunk::<SPAN>() else {
        return false;
    };
    let period = find_period(end);
    if period * REPEATS > SPAN {
        return false;
    }
    let mut is_used = [false; 256];
    for byte in end.iter().take(period) {
        if let Some(used) = is_used.get_mut(usize::from(*byte)) {
            *used = true;
        }
    }
    if is_used.iter().filter(|used| **used).count() >= PLAIN {
        return true;
    }
    let earlier = text
        .get(text.len().saturating_sub(PLAIN_SPAN)..)
        .unwrap_or_default();
    let later = earlier.get(period..).unwrap_or_default();
    earlier.len() == PLAIN_SPAN && earlier.iter().zip(later).all(|(earlier, later)| earlier == later)
}

/// Returns the distance at which a text repeats itself from its first byte to its last. It is the whole length for a text that does not.
fn find_period(text: &[u8]) -> usize {
    // The prefix function of Knuth, Morris and Pratt: the length of the longest proper prefix that is also a suffix.
    let mut borders: Vec<usize> = Vec::with_capacity(text.len());
    for (position, byte) in text.iter().enumerate() {
        let mut border = borders.last().copied().unwrap_or(0);
        while border > 0 && text.get(border) != Some(byte) {
            border = borders.get(border - 1).copied().unwrap_or(0);
        }
        let goes_on = position > 0 && text.get(border) == Some(byte);
        borders.push(border + usize::from(goes_on));
    }
    text.len() - borders.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the bytes after which a repetition is noticed. `None` if it is not.
    fn notice(start: &str, unit: impl Fn(usize) -> String, most: usize) -> Option<usize> {
        let mut seen = Repetition::default();
        seen.add_text(start);
        let (mut number, mut bytes) = (0, 0);
        while bytes < most {
            let text = unit(number);
            seen.add_text(&text);
            bytes += text.len();
            number += 1;
            if seen.is_noticed() {
                return Some(bytes);
            }
        }
        None
    }

    #[test]
    fn a_loop_is_noticed_and_a_text_that_goes_on_is_not() {
        let loop_of = |unit: &str| {
            let unit = unit.to_owned();
            notice("Here is the answer: ", move |_| unit.clone(), 20_000)
        };
        assert!(
            loop_of("Your answer is checked and applied by another program.\n\n")
                .is_some_and(|at| at < 2_400)
        );
        assert!(
            loop_of("```python\ndef add(a, b):\n    return a + b\n```\n\nThis is a simple way.\n\n")
                .is_some_and(|at| at < 2_400)
        );
        // Plain texts are what tables and rules consist of.
        for plain in ["0, ", "!", "=", "AAAA", "\n"] {
            assert!(
                loop_of(plain).is_some_and(|at| (PLAIN_SPAN..PLAIN_SPAN + 2 * STEP).contains(&at)),
                "{plain:?}"
            );
        }
        let counted = notice(
            "",
            |number| format!("    case {number}: return \"{number}\";\n"),
            40_000,
        );
        assert_eq!(counted, None);
        // A long text that stands there a few times, as in fixtures.
        let long: String = ('a'..='z')
            .cycle()
            .enumerate()
            .map(|(at, letter)| if at % 7 == 0 { ' ' } else { letter })
            .take(300)
            .collect();
        let few = notice("", move |number| format!("{}{long}", number % 3), 40_000);
        assert_eq!(few, None);
    }

    #[test]
    fn the_period_is_the_shortest_one() {
        for (text, period) in [
            ("abcabcabc", 3),
            ("abcabcab", 3),
            ("aaaa", 1),
            ("abcd", 4),
            ("", 0),
        ] {
            assert_eq!(find_period(text.as_bytes()), period, "{text}");
        }
    }
}
