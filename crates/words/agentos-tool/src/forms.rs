//! Finds known secrets in untrusted text, in all usual encodings.
//!
//! A program or server that was given a key may write it encoded, reversed, or split by line ends and zero-width characters.
//! The search undoes that in two steps:
//!
//! 1. [`view`] produces several views of the text: unchanged, and with its escapes decoded once and twice. Of each view it
//!    also makes one that contains only the ASCII letters and digits, in lower case. Separators between the characters of
//!    a key therefore cannot hide it.
//! 2. The views are searched for the encoded forms of every secret ([`encode`]), all at once (Aho and Corasick 1975), so
//!    that the time grows with the length of the text and not with the number of forms.
//!
//! Not found are forms that [`encode`] does not list (compression, encryption, other alphabets), and a key with other
//! letters or digits between its parts, unless one part is long enough to be searched for on its own.
//!
//! A stream is searched in blocks. The end of the text so far may be the beginning of a secret, and these bytes are
//! withheld until more arrive: without that, a key that is cut between two chunks would be shown in two halves.
//!
//! Owns: which bytes of a text belong to a secret, also if the text arrives in pieces. Never: guesses what might be a
//! secret; it searches only for known ones.

mod encode;
mod view;

use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use view::TextView;

/// Size of a block in bytes. Larger than the longest form of usual keys, so that few bytes are searched twice.
const BLOCK: usize = 256 << 10;
/// Minimum length of a secret's beginning that is hidden at the end of a text. Shorter matches are usually accidental.
const SHORTEST_BEGINNING: usize = 8;

/// Search patterns for a set of secrets.
#[derive(Clone)]
pub struct SecretForms {
    /// Patterns that must match exactly: secrets that are words, or that have too few letters and digits.
    exact: PatternSet,
    /// Patterns that are searched among letters and digits only.
    squeezed: PatternSet,
}

impl std::fmt::Debug for SecretForms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Written by hand, because a derived `Debug` would print the patterns, and they are the secrets.
        f.write_str("SecretForms(***)")
    }
}

/// Texts to find, either complete or cut off at the end of the searched text.
#[derive(Clone)]
struct PatternSet {
    /// Texts in sorted order, so that a beginning is found by binary search.
    sorted: Vec<Vec<u8>>,
    /// Length of the longest text.
    longest: usize,
    /// Automaton for all texts. `None` if there are no texts.
    automaton: Option<AhoCorasick>,
}

impl PatternSet {
    fn new(mut texts: Vec<Vec<u8>>) -> Self {
        texts.retain(|text| !text.is_empty());
        texts.sort();
        texts.dedup();
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .build(&texts);
        Self {
            longest: texts.iter().map(Vec::len).max().unwrap_or_default(),
            // Building fails only with more than 2^31 patterns, a number that a set of keys cannot reach.
            automaton: automaton.ok().filter(|_| !texts.is_empty()),
            sorted: texts,
        }
    }

    /// Adds the places of all matches in `text` to `found`. Returns where a match may begin that `text` cuts off, or the length
    /// of `text` if there is none.
    fn find_matches(&self, text: &[u8], found: &mut Vec<Range<usize>>) -> usize {
        let Some(automaton) = &self.automaton else {
            return text.len();
        };
        found.extend(automaton.find_overlapping_iter(text).map(|place| place.range()));
        // A match that is cut off is shorter than the longest text, so only this tail has to be tried.
        let from = text.len().saturating_sub(self.longest.saturating_sub(1));
        let is_begun = |at: &usize| text.get(*at..).is_some_and(|end| self.begin_with(end));
        (from..text.len()).find(is_begun).unwrap_or(text.len())
    }

    /// Returns true if one of the texts begins with `start` and is longer.
    fn begin_with(&self, start: &[u8]) -> bool {
        // In sorted order, the texts that begin with `start` directly follow `start` itself.
        let at = self.sorted.partition_point(|text| text.as_slice() <= start);
        self.sorted.get(at).is_some_and(|text| text.starts_with(start))
    }
}

/// Secrets found in a text.
struct FoundSecrets {
    /// Places of the secrets, in order and without overlaps.
    places: Vec<Range<usize>>,
    /// Start of the first secret that may continue after the end of the text. The length of the text if there is none.
    open: usize,
    /// Longest beginning of a secret at the end of the text: its place, and its number of matched bytes.
    begun: (Range<usize>, usize),
}

impl SecretForms {
    /// Prepares the search for `secrets`. The caller leaves out values that are too short to be secret.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let (mut exact, mut squeezed) = (Vec::new(), Vec::new());
        for secret in secrets {
            let is_covered = encode::add_forms(secret, &mut squeezed);
            // The unencoded secret is not among its forms then: its letters and digits alone would occur in ordinary text.
            if !is_covered {
                exact.push(secret.to_vec());
            }
        }
        Self {
            exact: PatternSet::new(exact),
            squeezed: PatternSet::new(squeezed),
        }
    }

    /// Returns true if a text contains a secret in any form.
    #[must_use]
    pub fn are_in(&self, text: &str) -> bool {
        let mut stream = SecretStream::default();
        self.pass_bytes(&mut stream, text.as_bytes(), "");
        let seen = self.search_text(&stream.held, true);
        stream.has_found || !seen.places.is_empty()
    }

    /// Returns the text with every secret replaced by `mark`, including a secret that is cut off at the end of the text.
    #[must_use]
    pub fn hide(&self, text: &str, mark: &str) -> String {
        let mut stream = SecretStream::default();
        let mut clear = self.pass_bytes(&mut stream, text.as_bytes(), mark);
        clear.extend(self.finish_stream(&mut stream, mark));
        String::from_utf8_lossy(&clear).into_owned()
    }

    /// Adds `bytes` to a stream and returns the part that can be shown now, with every secret replaced by `mark`. Bytes that
    /// may be the beginning of a secret stay in `stream` until more bytes arrive.
    pub fn pass_bytes(&self, stream: &mut SecretStream, bytes: &[u8], mark: &str) -> Vec<u8> {
        let mut clear = Vec::with_capacity(bytes.len());
        // Views hold a place for each byte, several times the size of the text, so a large text is searched block by block.
        for block in bytes.chunks(BLOCK) {
            stream.held.extend_from_slice(block);
            let seen = self.search_text(&stream.held, false);
            stream.release_until(&seen, seen.open, mark, &mut clear);
        }
        clear
    }

    /// Returns the rest of a stream that has ended, with every secret replaced by `mark`.
    pub fn finish_stream(&self, stream: &mut SecretStream, mark: &str) -> Vec<u8> {
        let mut clear = Vec::new();
        let mut seen = self.search_text(&stream.held, true);
        // No more bytes will complete this beginning, but most of a key is already enough to recognise or guess it.
        if let (place, SHORTEST_BEGINNING..) = &seen.begun {
            seen.places.push(place.clone());
            seen.places = merge_places(seen.places);
        }
        let all = stream.held.len();
        stream.release_until(&seen, all, mark, &mut clear);
        clear
    }

    fn search_text(&self, bytes: &[u8], is_end: bool) -> FoundSecrets {
        let mut seen = FoundSecrets {
            places: Vec::new(),
            open: bytes.len(),
            begun: (0..0, 0),
        };
        if self.exact.automaton.is_none() && self.squeezed.automaton.is_none() {
            return seen;
        }
        let plain = TextView::from_text(bytes);
        // Two rounds of decoding, because a log of JSON is often JSON itself, and each layer escapes the text once. More
        // rounds would cost another pass over every text for a form that nobody writes by accident.
        let mut next = plain.decode_escapes(is_end);
        self.search_view(&plain, &mut seen);
        for _ in 0..2 {
            let Some(view) = next else { break };
            next = view.decode_escapes(is_end);
            self.search_view(&view, &mut seen);
        }
        seen.places = merge_places(seen.places);
        seen
    }

    fn search_view(&self, view: &TextView, seen: &mut FoundSecrets) {
        for (patterns, view) in [(&self.exact, view), (&self.squeezed, &view.keep_alphanumeric())] {
            let mut found = Vec::new();
            let open = patterns.find_matches(view.as_bytes(), &mut found);
            seen.places
                .extend(found.into_iter().filter_map(|place| view.source_range(&place)));
            let rest = view.as_bytes().len() - open;
            if let Some(source) = view
                .source_range(&(open..view.as_bytes().len()))
                .filter(|_| rest > 0)
            {
                seen.open = seen.open.min(source.start);
                if rest > seen.begun.1 {
                    seen.begun = (source, rest);
                }
            }
        }
        // The next bytes decide which character an unfinished escape means, and it may be the first of a secret.
        seen.open = seen.open.min(view.unfinished_escape().unwrap_or(seen.open));
    }
}

/// Sorts places and merges those that overlap.
fn merge_places(mut places: Vec<Range<usize>>) -> Vec<Range<usize>> {
    places.sort_by_key(|place| (place.start, place.end));
    let mut joined: Vec<Range<usize>> = Vec::new();
    for place in places {
        match joined.last_mut() {
            // Places that only touch stay apart: two secrets next to each other get two marks.
            Some(last) if place.start < last.end => last.end = last.end.max(place.end),
            _ => joined.push(place),
        }
    }
    joined
}

/// State of a stream in which secrets are replaced: the bytes that cannot be shown yet.
#[derive(Default, Clone)]
pub struct SecretStream {
    /// Bytes that have arrived and are not shown yet.
    held: Vec<u8>,
    /// Number of bytes at the beginning of `held` that belong to a secret whose mark was already shown.
    covered: usize,
    /// True if a secret was found so far.
    has_found: bool,
}

impl std::fmt::Debug for SecretStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Written by hand, because the withheld bytes may be the beginning of a secret.
        f.write_str("SecretStream(***)")
    }
}

impl SecretStream {
    /// Returns true if a secret was found so far.
    #[must_use]
    pub fn has_found(&self) -> bool {
        self.has_found
    }

    /// Moves the bytes before `open` to `clear`, with a mark for every secret that begins there.
    fn release_until(&mut self, seen: &FoundSecrets, open: usize, mark: &str, clear: &mut Vec<u8>) {
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
        // The last secret may end after `open`. Its mark is shown, so its remaining bytes must be dropped later.
        self.covered = at.saturating_sub(open);
        self.held.drain(..open);
    }
}

#[cfg(test)]
mod tests;
