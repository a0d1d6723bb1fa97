//! Finds known secrets in text of others, in whatever usual form they are written.
//!
//! A program or server that was handed a key may write it down encoded, reversed, or cut by line ends and characters of no
//! width. Two steps undo that. The text is read as it is and with its escapes decoded, once and twice ([`view`]); of each
//! reading, only ASCII letters and digits count, in lower case, so that nothing which stands between them hides a key.
//! These are searched for the forms of every secret ([`encode`]), all at once (Aho and Corasick 1975), in time that grows
//! with the text alone.
//!
//! Not found: forms that are not listed there (compression, encryption, other alphabets), and a key with other letters or
//! digits between its parts, unless one part is a large one.
//!
//! Owns: which bytes of a text belong to a secret, also where it comes in pieces. Never: guesses what might be a secret; only
//! known ones are looked for.

mod encode;
mod view;

use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use view::View;

/// Bytes that are looked at together: more than the longest form of usual keys, so that few bytes are looked at twice.
const BLOCK: usize = 256 << 10;
/// Letters and digits at the very end of a text that are the beginning of a secret and no accident.
const SHORTEST_BEGINNING: usize = 8;

/// Secrets, prepared to be found.
#[derive(Clone)]
pub struct SecretForms {
    /// In any reading, byte by byte: values that are words, or too short to be found by their letters and digits.
    exact: Patterns,
    /// Among letters and digits.
    squeezed: Patterns,
}

impl std::fmt::Debug for SecretForms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretForms(***)")
    }
}

/// Texts to find, and to recognize by their beginnings.
#[derive(Clone)]
struct Patterns {
    /// In order, so that a beginning is found by bisection.
    sorted: Vec<Vec<u8>>,
    longest: usize,
    /// `None` if there is nothing to find.
    automaton: Option<AhoCorasick>,
}

impl Patterns {
    fn new(mut texts: Vec<Vec<u8>>) -> Self {
        texts.retain(|text| !text.is_empty());
        texts.sort();
        texts.dedup();
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .build(&texts);
        Self {
            longest: texts.iter().map(Vec::len).max().unwrap_or_default(),
            // It fails with more than 2^31 patterns, of which there is no risk.
            automaton: automaton.ok().filter(|_| !texts.is_empty()),
            sorted: texts,
        }
    }

    /// Adds the places where one stands in `text`, and gives the place from where on one may have begun.
    fn find(&self, text: &[u8], found: &mut Vec<Range<usize>>) -> usize {
        let Some(automaton) = &self.automaton else {
            return text.len();
        };
        found.extend(automaton.find_overlapping_iter(text).map(|place| place.range()));
        let from = text.len().saturating_sub(self.longest.saturating_sub(1));
        let is_begun = |at: &usize| text.get(*at..).is_some_and(|end| self.begin_with(end));
        (from..text.len()).find(is_begun).unwrap_or(text.len())
    }

    /// Returns true if a text to find is longer than `start` and begins with it.
    fn begin_with(&self, start: &[u8]) -> bool {
        let at = self.sorted.partition_point(|text| text.as_slice() <= start);
        self.sorted.get(at).is_some_and(|text| text.starts_with(start))
    }
}

/// The secrets in a text.
struct Sighting {
    /// Where they stand; in order, and none overlaps the next.
    places: Vec<Range<usize>>,
    /// From where on one may have begun; the length of the text if nowhere.
    open: usize,
    /// The longest beginning of one at the end, and how many letters and digits it has.
    begun: (Range<usize>, usize),
}

impl SecretForms {
    /// Prepares secrets to be found. The caller leaves out those that are too short to be secret.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let (mut exact, mut squeezed) = (Vec::new(), Vec::new());
        for secret in secrets {
            let is_covered = encode::forms(secret, &mut squeezed);
            if !is_covered {
                exact.push(secret.to_vec());
            }
        }
        Self {
            exact: Patterns::new(exact),
            squeezed: Patterns::new(squeezed),
        }
    }

    /// Returns true if a text holds a secret in any form.
    #[must_use]
    pub fn are_in(&self, text: &str) -> bool {
        let mut stream = SecretStream::default();
        self.pass(&mut stream, text.as_bytes(), "");
        let seen = self.look(&stream.held, true);
        stream.has_found || !seen.places.is_empty()
    }

    /// Returns the text with `mark` in the place of every secret, and of one that only begins at its end.
    #[must_use]
    pub fn hide(&self, text: &str, mark: &str) -> String {
        let mut stream = SecretStream::default();
        let mut clear = self.pass(&mut stream, text.as_bytes(), mark);
        clear.extend(self.end(&mut stream, mark));
        String::from_utf8_lossy(&clear).into_owned()
    }

    /// Returns what can be shown of a stream now that `bytes` have come, with `mark` in the place of every secret. Where one
    /// may only have begun, the rest stays in `stream` until more has come.
    pub fn pass(&self, stream: &mut SecretStream, bytes: &[u8], mark: &str) -> Vec<u8> {
        let mut clear = Vec::with_capacity(bytes.len());
        for block in bytes.chunks(BLOCK) {
            stream.held.extend_from_slice(block);
            let seen = self.look(&stream.held, false);
            stream.release(&seen, seen.open, mark, &mut clear);
        }
        clear
    }

    /// Returns the rest of a stream to which nothing more comes.
    pub fn end(&self, stream: &mut SecretStream, mark: &str) -> Vec<u8> {
        let mut clear = Vec::new();
        let mut seen = self.look(&stream.held, true);
        if let (place, SHORTEST_BEGINNING..) = &seen.begun {
            seen.places.push(place.clone());
            seen.places = joined(seen.places);
        }
        let all = stream.held.len();
        stream.release(&seen, all, mark, &mut clear);
        clear
    }

    fn look(&self, bytes: &[u8], is_end: bool) -> Sighting {
        let mut seen = Sighting {
            places: Vec::new(),
            open: bytes.len(),
            begun: (0..0, 0),
        };
        if self.exact.automaton.is_none() && self.squeezed.automaton.is_none() {
            return seen;
        }
        let plain = View::of(bytes);
        let mut next = plain.decode(is_end);
        self.look_at(&plain, &mut seen);
        for _ in 0..2 {
            let Some(view) = next else { break };
            next = view.decode(is_end);
            self.look_at(&view, &mut seen);
        }
        seen.places = joined(seen.places);
        seen
    }

    fn look_at(&self, view: &View, seen: &mut Sighting) {
        for (patterns, view) in [(&self.exact, view), (&self.squeezed, &view.squeeze())] {
            let mut found = Vec::new();
            let open = patterns.find(view.bytes(), &mut found);
            seen.places
                .extend(found.into_iter().filter_map(|place| view.source(&place)));
            let rest = view.bytes().len() - open;
            if let Some(source) = view.source(&(open..view.bytes().len())).filter(|_| rest > 0) {
                seen.open = seen.open.min(source.start);
                if rest > seen.begun.1 {
                    seen.begun = (source, rest);
                }
            }
        }
        seen.open = seen.open.min(view.unfinished().unwrap_or(seen.open));
    }
}

/// Puts places in order, and those that overlap together.
fn joined(mut places: Vec<Range<usize>>) -> Vec<Range<usize>> {
    places.sort_by_key(|place| (place.start, place.end));
    let mut joined: Vec<Range<usize>> = Vec::new();
    for place in places {
        match joined.last_mut() {
            Some(last) if place.start < last.end => last.end = last.end.max(place.end),
            _ => joined.push(place),
        }
    }
    joined
}

/// What is kept back of a stream.
#[derive(Default, Clone)]
pub struct SecretStream {
    held: Vec<u8>,
    /// So many of the bytes held belong to a secret whose mark was shown already.
    covered: usize,
    has_found: bool,
}

impl std::fmt::Debug for SecretStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretStream(***)")
    }
}

impl SecretStream {
    /// Returns true if a secret has come so far.
    #[must_use]
    pub fn has_found(&self) -> bool {
        self.has_found
    }

    /// Takes the bytes up to `open` out, and all of a secret that begins before it.
    fn release(&mut self, seen: &Sighting, open: usize, mark: &str, clear: &mut Vec<u8>) {
        let mut at = self.covered;
        for place in seen.places.iter().filter(|place| place.start < open) {
            self.has_found = true;
            if place.start >= self.covered {
                clear.extend_from_slice(self.held.get(at..place.start).unwrap_or_default());
                clear.extend_from_slice(mark.as_bytes());
            }
            at = at.max(place.end);
        }
        clear.extend_from_slice(self.held.get(at..open).unwrap_or_default());
        self.covered = at.saturating_sub(open);
        self.held.drain(..open);
    }
}

#[cfg(test)]
mod tests;
