//! First words of lines, by which most lines are known to define nothing.
//!
//! Owns: the words with which definitions and statements begin. Never: passes over a line that defines something.

/// Words that stand before a definition and say nothing about its name.
pub(super) const MODIFIERS: &[&str] = &[
    "pub",
    "export",
    "default",
    "async",
    "static",
    "public",
    "private",
    "protected",
    "internal",
    "final",
    "abstract",
    "override",
    "virtual",
    "inline",
    "extern",
    "unsafe",
    "declare",
    "readonly",
    "sealed",
    "partial",
    "open",
    "suspend",
    "synchronized",
    "native",
    "constexpr",
    "transient",
    "explicit",
];
/// Words that are followed by the name they define.
pub(super) const NAMING: &[&str] = &[
    "fn",
    "func",
    "function",
    "def",
    "fun",
    "class",
    "struct",
    "enum",
    "union",
    "trait",
    "interface",
    "protocol",
    "type",
    "typedef",
    "namespace",
    "module",
    "mod",
    "impl",
    "macro_rules",
    "object",
];
/// Words that are followed by the name of a value.
pub(super) const VALUES: &[&str] = &["const", "static", "let", "var", "val"];
/// Words of statements, which no head of a function has before its name.
pub(super) const STATEMENTS: &[&str] = &[
    "if", "else", "for", "while", "do", "switch", "case", "return", "throw", "new", "await", "yield",
    "assert", "raise", "delete", "typeof", "sizeof", "in", "not", "and", "or", "goto", "import", "from",
    "use", "require", "include", "catch", "except", "match", "elif", "unless", "until", "loop", "when",
    "with", "print", "puts", "echo", "panic", "super", "this", "self", "lambda", "go", "defer", "select",
];

pub(super) fn is_one_of(word: &str, list: &[&str]) -> bool {
    list.contains(&word)
}

pub(super) fn is_function_value(written: &str) -> bool {
    written.contains("=>") || written.contains("function") || written.contains("lambda")
}

/// Lengths of the words of all lists, as bits, by their first byte.
const KEYWORD_LENGTHS: [u32; 128] = {
    let mut lengths = [0; 128];
    let lists = [NAMING, VALUES, MODIFIERS, STATEMENTS];
    let (mut list, mut at) = (0, 0);
    #[allow(
        clippy::indexing_slicing,
        reason = "the loops stay within the lists, and the words are ASCII"
    )]
    while list < lists.len() {
        if at == lists[list].len() {
            (list, at) = (list + 1, 0);
            continue;
        }
        let word = lists[list][at].as_bytes();
        lengths[word[0] as usize] |= 1 << word.len();
        at += 1;
    }
    lengths
};

/// Kinds of the first word of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordKind {
    /// A definition may begin with it.
    Begins,
    /// A statement begins with it.
    States,
    Other,
}

/// Returns false for lines that define nothing, which their first word and their end show: most lines of a function. Each search
/// looks at all lines of a dozen files.
pub(super) fn may_define(written: &str, is_top: bool) -> bool {
    let letters = written
        .bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let word = written.get(..letters.count()).unwrap_or_default();
    let follows = written.as_bytes().get(word.len()).copied().unwrap_or_default();
    // The word goes on, as in `self::open`.
    let is_part = matches!(follows, b':' | b'$') || !follows.is_ascii();
    if word.is_empty() || is_part {
        return true;
    }
    let kind = kind_of_word(word);
    // Inside functions, only functions and constants are values with a name that matters.
    let is_local = !is_top && matches!(word, "let" | "var" | "val");
    if kind == WordKind::Begins && !is_local {
        return true;
    }
    let ends = kind != WordKind::Other || written.ends_with(';') || !written.as_bytes().contains(&b'(');
    !ends || may_assign(written)
}

/// Returns false if the line cannot be `name = function (…)` or `name: (…) => …`.
fn may_assign(written: &str) -> bool {
    let mut marks = written.bytes().filter(|byte| matches!(byte, b'=' | b':' | b'('));
    // In `Some(found) => …`, the parenthesis comes first.
    marks.next() != Some(b'(') && is_function_value(written)
}

fn kind_of_word(word: &str) -> WordKind {
    // Most words differ from all of these in their first letter or their length.
    let first = word.bytes().next().unwrap_or_default();
    let lengths = KEYWORD_LENGTHS.get(usize::from(first)).copied().unwrap_or(0);
    if word.len() >= 32 || lengths >> word.len() & 1 == 0 {
        return WordKind::Other;
    }
    if [NAMING, VALUES, MODIFIERS]
        .iter()
        .any(|list| is_one_of(word, list))
    {
        WordKind::Begins
    } else if is_one_of(word, STATEMENTS) {
        WordKind::States
    } else {
        WordKind::Other
    }
}
