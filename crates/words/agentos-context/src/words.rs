//! Text cut into words as programmers write them.
//!
//! Owns: where a word begins and ends, and which endings are ignored. Never: knows the grammar of a language.

/// Calls `each` with every identifier of a text: runs of letters, digits, `_` and bytes beyond ASCII. The flag is true if the
/// identifier may have several parts: it has an underline, or a capital after its first letter.
pub(crate) fn for_each_identifier<'a>(text: &'a [u8], mut each: impl FnMut(&'a [u8], bool)) {
    let mut rest = text;
    while let Some(start) = rest.iter().position(|byte| kind_of(*byte) != OUTSIDE) {
        rest = rest.get(start..).unwrap_or_default();
        let Some((first, others)) = rest.split_first() else {
            return;
        };
        // The first letter alone does not begin a second part.
        let mut kinds = kind_of(*first) & !CAPITAL;
        let end = others.iter().position(|byte| {
            let kind = kind_of(*byte);
            kinds |= kind;
            kind == OUTSIDE
        });
        let (whole, after) = rest
            .split_at_checked(end.map_or(rest.len(), |end| end + 1))
            .unwrap_or((rest, &[]));
        each(whole, kinds & (CAPITAL | UNDERLINE) != 0);
        rest = after;
    }
}

/// Kinds of bytes, as flags.
const OUTSIDE: u8 = 0;
const INSIDE: u8 = 1;
const CAPITAL: u8 = 2;
const UNDERLINE: u8 = 4;

/// Kind of each byte. A table, because every byte of every text is looked up.
const KINDS: [u8; 256] = {
    let mut kinds = [OUTSIDE; 256];
    let mut byte = 0;
    while byte < 256 {
        let ascii = byte as u8;
        #[allow(clippy::indexing_slicing, reason = "the loop stays within the table")]
        {
            kinds[byte] = match ascii {
                b'_' => INSIDE | UNDERLINE,
                b'A'..=b'Z' => INSIDE | CAPITAL,
                b'a'..=b'z' | b'0'..=b'9' | 0x80.. => INSIDE,
                _ => OUTSIDE,
            };
        }
        byte += 1;
    }
    kinds
};

fn kind_of(byte: u8) -> u8 {
    KINDS.get(usize::from(byte)).copied().unwrap_or(OUTSIDE)
}

/// Calls `each` with the parts of an identifier: `HttpServer_max2` has `Http`, `Server` and `max2`.
pub(crate) fn for_each_part<'a>(identifier: &'a [u8], mut each: impl FnMut(&'a [u8])) {
    for piece in identifier.split(|byte| *byte == b'_') {
        let mut rest = piece;
        while !rest.is_empty() {
            let (part, others) = rest
                .split_at_checked(first_hump_length(rest))
                .unwrap_or((rest, &[]));
            each(part);
            rest = others;
        }
    }
}

/// Returns the length of the first part: up to a capital after a small letter, or before the last of several
/// capitals.
fn first_hump_length(piece: &[u8]) -> usize {
    let pairs = piece.iter().zip(piece.iter().skip(1)).enumerate();
    for (at, (here, next)) in pairs {
        let after_small = !here.is_ascii_uppercase() && next.is_ascii_uppercase();
        let last_capital = here.is_ascii_uppercase()
            && next.is_ascii_uppercase()
            && piece.get(at + 2).is_some_and(u8::is_ascii_lowercase);
        if after_small || last_capital {
            return at + 1;
        }
    }
    piece.len()
}

/// Maximum length of a word; longer ones are data.
const LONGEST: usize = 64;

/// Writes the compared form of a word to `into`: small letters, without the commonest endings of English. `into` is
/// cleared first, so that one buffer serves a whole text. Returns false for text that is no word.
pub(crate) fn stem_word(word: &[u8], into: &mut Vec<u8>) -> bool {
    into.clear();
    if word.is_empty() || word.len() > LONGEST {
        return false;
    }
    into.extend(word.iter().map(u8::to_ascii_lowercase));
    for (ending, left, instead) in ENDINGS {
        // The rest must still be a word: `sing` is not `s` with an ending.
        if into.len() >= ending.len() + left && into.ends_with(ending) {
            into.truncate(into.len() - ending.len());
            into.extend_from_slice(instead);
            break;
        }
    }
    // `landing` becomes `land`, `running` becomes `run`, `make` and `making` become `mak`.
    if into.len() > 3 {
        if into.ends_with(b"e") {
            into.pop();
        } else if let [.., a, b] = into.as_slice()
            && a == b
            && a.is_ascii_alphabetic()
            && !matches!(a, b'l' | b's')
        {
            into.pop();
        }
    }
    true
}

/// Endings: the ending, how many letters must remain, and the replacement. The first that fits is used.
const ENDINGS: &[(&[u8], usize, &[u8])] = &[
    (b"ies", 2, b"y"),
    (b"sses", 2, b"ss"),
    (b"ings", 3, b""),
    (b"ing", 3, b""),
    (b"ers", 4, b""),
    (b"er", 4, b""),
    (b"ed", 3, b""),
    (b"ss", 1, b"ss"),
    (b"us", 2, b"us"),
    (b"is", 2, b"is"),
    (b"s", 3, b""),
];

/// First two letters of words that are searched for. They are compared before anything of a word is computed, because few words of a
/// text pass.
#[derive(Debug, Default)]
pub(crate) struct WordStarts {
    /// Bits, one for each pair of small letters. Empty if no word is searched for.
    pairs: Vec<u64>,
}

impl WordStarts {
    /// Adds the beginning of a word in the form that is compared. [`stem_word`] keeps the first two letters of every word.
    pub(crate) fn add_stem(&mut self, stem: &[u8]) {
        if self.pairs.is_empty() {
            // 8 KiB, made for the first word: a ranking without words needs none.
            self.pairs = vec![0; 1 << 10];
        }
        if let Some((at, bit)) = pair_of(stem)
            && let Some(bits) = self.pairs.get_mut(at)
        {
            *bits |= bit;
        }
    }

    /// Returns true if a word may be searched for.
    pub(crate) fn may_begin(&self, word: &[u8]) -> bool {
        pair_of(word).is_some_and(|(at, bit)| self.pairs.get(at).is_some_and(|bits| bits & bit != 0))
    }
}

/// Returns the place of the bit of the first two letters. `None` for a single letter, which nothing is searched for.
fn pair_of(word: &[u8]) -> Option<(usize, u64)> {
    let [first, second, ..] = word else {
        return None;
    };
    let pair = usize::from(first.to_ascii_lowercase()) << 8 | usize::from(second.to_ascii_lowercase());
    Some((pair >> 6, 1 << (pair & 63)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(identifier: &str) -> Vec<String> {
        let mut found = Vec::new();
        for_each_part(identifier.as_bytes(), |part| {
            found.push(String::from_utf8_lossy(part).into_owned())
        });
        found
    }

    #[test]
    fn identifiers_are_cut_at_humps_and_underlines() {
        let cases = [
            ("read_file", vec!["read", "file"]),
            ("HttpServer_max2", vec!["Http", "Server", "max2"]),
            ("parseHTTPHeader", vec!["parse", "HTTP", "Header"]),
            ("__init__", vec!["init"]),
            ("plain", vec!["plain"]),
        ];
        for (whole, expected) in cases {
            assert_eq!(cut(whole), expected, "{whole}");
        }
    }

    #[test]
    fn forms_of_one_word_have_one_stem() {
        let cases = [
            ["landing", "lands"],
            ["running", "run"],
            ["policies", "policy"],
            ["making", "makes"],
            ["parsed", "parser"],
            ["Classes", "class"],
            ["renamed", "rename"],
        ];
        let of = |word: &str| {
            let mut into = Vec::new();
            assert!(stem_word(word.as_bytes(), &mut into));
            String::from_utf8(into).unwrap()
        };
        for [one, other] in cases {
            assert_eq!(of(one), of(other), "{one} and {other}");
        }
    }

    #[test]
    fn a_stem_begins_with_the_letters_of_its_word() {
        for word in [
            "ties",
            "sses",
            "ass",
            "Axes",
            "OOs",
            "xxxx",
            "aabb",
            "e\u{e9}es",
            "ings",
            "ers",
        ] {
            let (mut stem, mut starts) = (Vec::new(), WordStarts::default());
            assert!(!starts.may_begin(word.as_bytes()));
            assert!(stem_word(word.as_bytes(), &mut stem));
            starts.add_stem(&stem);
            assert!(starts.may_begin(word.as_bytes()), "{word}");
            assert!(!starts.may_begin(b"zz"), "{word}");
        }
    }
}
