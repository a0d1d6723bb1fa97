//! Decides which paths a sparse checkout leaves out of the working tree.
//!
//! Owns: the patterns of `info/sparse-checkout`, matched as git matches them. Never: reads the index, or looks at the
//! working tree.
//!
//! The patterns have the syntax of gitignore(5) with the opposite meaning: a path that a pattern matches is checked out. In
//! cone mode git writes only patterns of a few forms (`/*`, `!/*/`, `/dir/`, `!/dir/*/`), from which it can tell folders
//! apart by hash. Matched as ordinary patterns, they give the same answers, so one matcher serves both modes
//! (git-sparse-checkout(1), "INTERNALS").

use std::io::ErrorKind;

use agentos_durable::{LinkRule, read_regular_file};

use crate::preflight::ancestor_folders;
use crate::{RepoError, Repository};

/// Maximum bytes of the file of patterns, far above what `git sparse-checkout` writes for any repository.
const LONGEST: u64 = 1 << 24;

/// Patterns of a sparse checkout, in the order of the file.
#[derive(Debug)]
pub(crate) struct SparsePatterns {
    patterns: Vec<PathPattern>,
    ignores_case: bool,
}

/// Pattern of one line.
#[derive(Debug)]
struct PathPattern {
    /// True if the pattern leaves out what it matches.
    negative: bool,
    /// True if it matches folders only.
    folders_only: bool,
    /// True if it is matched with the last part of a path, false if with the whole path.
    last_part_only: bool,
    tokens: Vec<Token>,
}

/// Part of a pattern.
#[derive(Debug)]
enum Token {
    /// Matches one byte out of a set.
    One(Box<[bool; 256]>),
    /// `*`: any bytes but `/`.
    Star,
    /// `**` at the end: any bytes.
    DeepStar,
    /// `**/`: nothing, or any folders.
    Folders,
}

impl Repository {
    /// Reads the patterns of the working tree's sparse checkout. `None` if it has none, so that every file is checked out.
    ///
    /// # Errors
    /// When the file of patterns cannot be read.
    pub(crate) fn sparse_patterns(&self) -> Result<Option<SparsePatterns>, RepoError> {
        if !self.is_on("core.sparsecheckout") {
            return Ok(None);
        }
        // The file belongs to one working tree, as the index does.
        let path = self.git.path().join("info/sparse-checkout");
        match read_regular_file(&path, LinkRule::Followed, LONGEST) {
            Ok(text) => Ok(Some(SparsePatterns::parse(&text, self.is_on("core.ignorecase")))),
            // git skips the sparse checkout too if there is no such file (`populate_from_existing_patterns` in unpack-trees.c).
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(RepoError::io(&path)(error)),
        }
    }
}

impl SparsePatterns {
    fn parse(text: &[u8], ignores_case: bool) -> Self {
        let lines = text.split(|byte| *byte == b'\n');
        Self {
            patterns: lines.filter_map(PathPattern::parse).collect(),
            ignores_case,
        }
    }

    /// Returns whether the file at this path is checked out.
    pub(crate) fn include(&self, path: &str) -> bool {
        // The innermost folder for which a pattern decides is the one that counts; without a decision the path is left out.
        if let Some(decided) = self.decide(path, false) {
            return decided;
        }
        let above: Vec<&str> = ancestor_folders(path).collect();
        let decided = above.iter().rev().find_map(|folder| self.decide(folder, true));
        decided.unwrap_or(false)
    }

    /// Returns what the last matching pattern says. `None` if no pattern matches.
    fn decide(&self, path: &str, is_folder: bool) -> Option<bool> {
        let last = path.rsplit('/').next().unwrap_or(path);
        let matching = self.patterns.iter().rev().find(|pattern| {
            let text = if pattern.last_part_only { last } else { path };
            (is_folder || !pattern.folders_only)
                && match_tokens(&pattern.tokens, text.as_bytes(), self.ignores_case)
        });
        matching.map(|pattern| !pattern.negative)
    }
}

impl PathPattern {
    /// Parses a line. `None` if it has no pattern, or one that matches nothing.
    fn parse(line: &[u8]) -> Option<Self> {
        let line = trim_blanks(line.strip_suffix(b"\r").unwrap_or(line));
        if line.starts_with(b"#") {
            return None;
        }
        let (negative, line) = match line.strip_prefix(b"!") {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let (folders_only, line) = match line.strip_suffix(b"/") {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        if line.is_empty() {
            return None;
        }
        Some(Self {
            negative,
            folders_only,
            last_part_only: !line.contains(&b'/'),
            tokens: parse_tokens(line.strip_prefix(b"/").unwrap_or(line))?,
        })
    }
}

/// Removes blanks at the end, except one behind a backslash.
fn trim_blanks(line: &[u8]) -> &[u8] {
    let mut kept = line;
    while let Some(shorter) = kept.strip_suffix(b" ") {
        if shorter.ends_with(b"\\") {
            break;
        }
        kept = shorter;
    }
    kept
}

/// Parses a pattern. `None` if it ends within a set or an escape: git matches nothing with it.
fn parse_tokens(pattern: &[u8]) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = pattern;
    // `**` is special only between slashes or at an end (gitignore(5)).
    let mut after_slash = true;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'*' => {
                let stars = rest.iter().take_while(|byte| **byte == b'*').count();
                let behind = rest.get(stars..)?;
                let is_deep = stars > 0 && after_slash;
                if is_deep && behind.is_empty() {
                    tokens.push(Token::DeepStar);
                } else if let (true, Some(below)) = (is_deep, behind.strip_prefix(b"/")) {
                    tokens.push(Token::Folders);
                    rest = below;
                    continue;
                } else {
                    tokens.push(Token::Star);
                }
                rest = behind;
            }
            b'?' => tokens.push(one(|byte| byte != b'/')),
            b'[' => {
                let (set, behind) = parse_set(rest)?;
                tokens.push(Token::One(set));
                rest = behind;
            }
            b'\\' => {
                let (literal, behind) = rest.split_first()?;
                tokens.push(one(|byte| byte == *literal));
                rest = behind;
            }
            literal => tokens.push(one(|byte| byte == *literal)),
        }
        after_slash = *first == b'/';
    }
    Some(tokens)
}

fn one(is_in: impl Fn(u8) -> bool) -> Token {
    Token::One(Box::new(set_of(is_in)))
}

fn set_of(is_in: impl Fn(u8) -> bool) -> [bool; 256] {
    let mut set = [false; 256];
    for (byte, entry) in (0..=u8::MAX).zip(set.iter_mut()) {
        *entry = is_in(byte);
    }
    set
}

/// Parses a set of bytes behind its `[`, and returns what follows it. `None` if it does not end.
fn parse_set(text: &[u8]) -> Option<(Box<[bool; 256]>, &[u8])> {
    let (negated, mut rest) = match text {
        [b'!' | b'^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut ranges: Vec<(u8, u8)> = Vec::new();
    let mut classes: Vec<&[u8]> = Vec::new();
    let mut is_first = true;
    loop {
        let (byte, after) = rest.split_first()?;
        rest = after;
        match byte {
            b']' if !is_first => break,
            b'[' if rest.starts_with(b":") => {
                let end = rest.windows(2).position(|two| two == b":]")?;
                classes.push(rest.get(1..end)?);
                rest = rest.get(end + 2..)?;
            }
            _ => {
                let from = if *byte == b'\\' {
                    take_byte(&mut rest)?
                } else {
                    *byte
                };
                let mut to = from;
                if let [b'-', next, ..] = rest
                    && *next != b']'
                {
                    rest = rest.get(1..)?;
                    to = match take_byte(&mut rest)? {
                        b'\\' => take_byte(&mut rest)?,
                        to => to,
                    };
                }
                ranges.push((from, to));
            }
        }
        is_first = false;
    }
    let is_named = |byte: u8| {
        ranges.iter().any(|(from, to)| (*from..=*to).contains(&byte))
            || classes.iter().any(|class| is_in_class(class, byte))
    };
    // A set never matches a slash, nor does its opposite.
    let set = set_of(|byte| byte != b'/' && is_named(byte) != negated);
    Some((Box::new(set), rest))
}

fn take_byte(rest: &mut &[u8]) -> Option<u8> {
    let (byte, after) = rest.split_first()?;
    *rest = after;
    Some(*byte)
}

/// Returns whether a byte belongs to a class such as `alpha` (POSIX, in the C locale).
fn is_in_class(class: &[u8], byte: u8) -> bool {
    match class {
        b"alnum" => byte.is_ascii_alphanumeric(),
        b"alpha" => byte.is_ascii_alphabetic(),
        b"blank" => matches!(byte, b' ' | b'\t'),
        b"cntrl" => byte.is_ascii_control(),
        b"digit" => byte.is_ascii_digit(),
        b"graph" => byte.is_ascii_graphic(),
        b"lower" => byte.is_ascii_lowercase(),
        b"print" => byte.is_ascii_graphic() || byte == b' ',
        b"punct" => byte.is_ascii_punctuation(),
        b"space" => byte.is_ascii_whitespace() || byte == 0x0b,
        b"upper" => byte.is_ascii_uppercase(),
        b"xdigit" => byte.is_ascii_hexdigit(),
        _ => false,
    }
}

/// Returns whether tokens match a whole text. Follows all possibilities at once, so that the work is at most the product of
/// both lengths, however many stars there are.
fn match_tokens(tokens: &[Token], text: &[u8], ignores_case: bool) -> bool {
    // `open` has the tokens that the rest of the text may begin with; `within` those of `**/` that have begun a folder.
    let mut open = vec![false; tokens.len() + 1];
    let mut within = vec![false; tokens.len() + 1];
    let reach = |open: &mut Vec<bool>, at: usize| {
        let mut at = at;
        loop {
            if let Some(entry) = open.get_mut(at) {
                *entry = true;
            }
            match tokens.get(at) {
                Some(Token::Star | Token::DeepStar | Token::Folders) => at += 1,
                Some(Token::One(_)) | None => break,
            }
        }
    };
    reach(&mut open, 0);
    for byte in text {
        let mut next = vec![false; tokens.len() + 1];
        let mut next_within = vec![false; tokens.len() + 1];
        for (at, token) in tokens.iter().enumerate() {
            let is_open = open.get(at).copied().unwrap_or(false);
            let is_within = within.get(at).copied().unwrap_or(false);
            match token {
                Token::One(set) if is_open && holds(set, *byte, ignores_case) => reach(&mut next, at + 1),
                Token::Star if is_open && *byte != b'/' => reach(&mut next, at),
                Token::DeepStar if is_open => reach(&mut next, at),
                Token::Folders if is_open || is_within => {
                    if let Some(entry) = next_within.get_mut(at) {
                        *entry = true;
                    }
                    if *byte == b'/' {
                        reach(&mut next, at + 1);
                    }
                }
                Token::One(_) | Token::Star | Token::DeepStar | Token::Folders => {}
            }
        }
        (open, within) = (next, next_within);
    }
    open.last().copied().unwrap_or(false)
}

fn holds(set: &[bool; 256], byte: u8, ignores_case: bool) -> bool {
    let has = |byte: u8| set.get(usize::from(byte)).copied().unwrap_or(false);
    has(byte) || (ignores_case && (has(byte.to_ascii_lowercase()) || has(byte.to_ascii_uppercase())))
}

#[cfg(test)]
mod tests;
