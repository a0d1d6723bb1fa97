//! Lines that define a name: the heads of functions, types and constants.
//!
//! Owns: how such a line is recognised in the languages that people write most, from its words alone. Never: parses a language.
//! A line that only looks like a head costs a line of an outline, and a head that is missed is still found by a search.

use crate::lines::trim_line;

mod first_word;

use first_word::{MODIFIERS, NAMING, STATEMENTS, VALUES, is_function_value, is_one_of, may_define};

/// Name that a line defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DefinedName<'l> {
    pub name: &'l str,
    /// Name of the type that the name belongs to, if the line itself says it, as in Go and C++. `None` otherwise.
    pub owner: Option<&'l str>,
    /// True if the line adds to a type that is defined elsewhere, such as `impl` in Rust.
    pub extends: bool,
}

/// Words that can follow the name of a type on the line that defines it.
const AFTER_TYPE: &[&str] = &[
    "extends",
    "implements",
    "where",
    "for",
    "struct",
    "interface",
    "func",
    "map",
    "chan",
    "with",
    "permits",
    "final",
];
/// Words that can follow the parameters of a function.
const AFTER_PARAMETERS: [&str; 8] = ["{", ":", "->", "=>", "throws", "const", "noexcept", "override"];
/// Maximum number of tokens that are looked at. The name stands at the beginning of a line.
const MOST_TOKENS: usize = 48;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'l> {
    /// Identifier, or several joined by `::`.
    Name(&'l str),
    Mark(char),
    /// Text between quotation marks.
    Quoted,
}

/// Reads the name that a line defines. `is_top` is true for a line at the left edge. `None` if it defines none.
pub(crate) fn read_signature(line: &str, is_top: bool) -> Option<DefinedName<'_>> {
    let written = trim_line(line);
    if let Some(macro_name) = written.strip_prefix("#define ") {
        let name = macro_name.trim_start();
        let end = name.find(|c: char| !is_name_char(c)).unwrap_or(name.len());
        return name.get(..end).filter(|name| !name.is_empty()).map(plain_name);
    }
    // Comments, preprocessor lines and texts.
    if matches!(
        written.as_bytes(),
        [b'#' | b'*' | b'"' | b'\'', ..] | [b'/', b'/' | b'*', ..] | [b'-', b'-', ..]
    ) {
        return None;
    }
    match may_define(written, is_top) {
        true => read_tokens(written, is_top),
        false => None,
    }
}

/// Reads the name that a line defines from its words.
fn read_tokens(written: &str, is_top: bool) -> Option<DefinedName<'_>> {
    let tokens = split_tokens(written);
    let mut at = skip_annotations(&tokens);
    let start = at;
    while let Some(Token::Name(word)) = tokens.get(at) {
        if is_one_of(word, NAMING)
            && let Some(found) = read_named(&tokens, at)
        {
            return Some(found);
        }
        if is_one_of(word, VALUES)
            && let Some(found) = read_value(&tokens, at, is_top, written)
        {
            return Some(found);
        }
        if !is_one_of(word, MODIFIERS) && !is_one_of(word, VALUES) {
            break;
        }
        at += 1;
        // `pub(crate)`, and the `"C"` of `extern "C"`.
        if *word == "pub" && tokens.get(at) == Some(&Token::Mark('(')) {
            at = skip_group(&tokens, at);
        }
        if tokens.get(at) == Some(&Token::Quoted) {
            at += 1;
        }
    }
    read_assigned(&tokens, written).or_else(|| read_function(&tokens, start, at, written))
}

fn plain_name(name: &str) -> DefinedName<'_> {
    DefinedName {
        name,
        owner: None,
        extends: false,
    }
}

/// Makes the name of `Type::name`, or of `name`.
fn qualified_name(name: &str) -> DefinedName<'_> {
    match name.rsplit_once("::") {
        Some((owner, name)) => DefinedName {
            owner: Some(owner.rsplit("::").next().unwrap_or(owner)),
            ..plain_name(name)
        },
        None => plain_name(name),
    }
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

fn split_tokens(line: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        if tokens.len() >= MOST_TOKENS {
            break;
        }
        let taken = if is_name_char(first) {
            let end = name_length(rest);
            tokens.extend(rest.get(..end).map(Token::Name));
            end
        } else if matches!(first, '"' | '`') {
            let inside = rest.get(1..).unwrap_or_default();
            tokens.push(Token::Quoted);
            inside.find(first).map_or(rest.len(), |end| end + 2)
        } else {
            if !first.is_whitespace() {
                tokens.push(Token::Mark(first));
            }
            first.len_utf8()
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    tokens
}

/// Returns the length of an identifier, with the types before it that are joined by `::`.
fn name_length(text: &str) -> usize {
    let mut end = 0;
    loop {
        let rest = text.get(end..).unwrap_or_default();
        end += rest.find(|c: char| !is_name_char(c)).unwrap_or(rest.len());
        let joined = text.get(end..).and_then(|rest| rest.strip_prefix("::"));
        match joined {
            Some(next) if next.starts_with(is_name_char) => end += 2,
            Some(_) | None => return end,
        }
    }
}

/// Returns the position after annotations such as `@Override` or `@Named("x")`.
fn skip_annotations(tokens: &[Token<'_>]) -> usize {
    let mut at = 0;
    while tokens.get(at) == Some(&Token::Mark('@')) {
        at += 2;
        if tokens.get(at) == Some(&Token::Mark('(')) {
            at = skip_group(tokens, at);
        }
    }
    at
}

/// Returns the position after a group in parentheses or angle brackets.
fn skip_group(tokens: &[Token<'_>], open: usize) -> usize {
    let (opens, closes) = match tokens.get(open) {
        Some(Token::Mark('<')) => ('<', '>'),
        Some(_) | None => ('(', ')'),
    };
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        if *token == Token::Mark(opens) {
            depth += 1;
        } else if *token == Token::Mark(closes) {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return at + 1;
            }
        }
    }
    tokens.len()
}

/// Reads the name after a word such as `fn` or `class`.
fn read_named<'l>(tokens: &[Token<'l>], keyword: usize) -> Option<DefinedName<'l>> {
    let Some(Token::Name(word)) = tokens.get(keyword) else {
        return None;
    };
    let mut at = keyword + 1;
    let mut owner = None;
    if *word == "impl" {
        return read_extension(tokens, at);
    }
    if tokens.get(at) == Some(&Token::Mark('(')) && *word == "func" {
        // The receiver of a method in Go.
        let end = skip_group(tokens, at);
        let mut names = tokens.get(at..end)?.iter().filter_map(|token| match token {
            Token::Name(name) => Some(*name),
            Token::Mark(_) | Token::Quoted => None,
        });
        owner = names.next_back();
        at = end;
    }
    while matches!(tokens.get(at), Some(Token::Mark('*' | '&' | '!'))) {
        at += 1;
    }
    let Some(Token::Name(name)) = tokens.get(at) else {
        return None;
    };
    let is_type = !matches!(*word, "fn" | "func" | "function" | "def" | "fun" | "macro_rules");
    match tokens.get(at + 1) {
        // In C, `struct name *function(…)` defines a function, and `struct name;` nothing.
        Some(Token::Name(next)) if is_type && !is_one_of(next, AFTER_TYPE) => return None,
        Some(Token::Mark('*' | ')' | '.' | ',')) if is_type => return None,
        Some(Token::Mark(';')) if matches!(*word, "mod" | "class" | "union") => return None,
        Some(_) | None => {}
    }
    let found = qualified_name(name);
    Some(DefinedName {
        owner: owner.or(found.owner),
        ..found
    })
}

/// Reads the type of `impl Trait for Type`.
fn read_extension<'l>(tokens: &[Token<'l>], after: usize) -> Option<DefinedName<'l>> {
    let mut at = after;
    let mut last = None;
    while let Some(token) = tokens.get(at) {
        match token {
            Token::Name("where") | Token::Mark('{') => break,
            Token::Name("for") => last = None,
            Token::Name(name) => last = last.or(Some(*name)),
            Token::Mark('<') => {
                at = skip_group(tokens, at);
                continue;
            }
            Token::Mark(_) | Token::Quoted => {}
        }
        at += 1;
    }
    last.map(|name| DefinedName {
        extends: true,
        ..plain_name(name.rsplit("::").next().unwrap_or(name))
    })
}

/// Reads the name of a constant, or of a function that is a value. Variables inside functions are none.
fn read_value<'l>(
    tokens: &[Token<'l>],
    keyword: usize,
    is_top: bool,
    written: &str,
) -> Option<DefinedName<'l>> {
    let mut at = keyword + 1;
    if tokens.get(at) == Some(&Token::Name("mut")) {
        at += 1;
    }
    let Some(Token::Name(name)) = tokens.get(at) else {
        return None;
    };
    let ends = matches!(tokens.get(at + 1), None | Some(Token::Mark(':' | '=' | ';')));
    let counts = is_top || is_function_value(written) || tokens.get(keyword) == Some(&Token::Name("const"));
    (ends && counts).then(|| plain_name(name))
}

/// Reads the name of `exports.name = function (…)` or `name: function (…)`.
fn read_assigned<'l>(tokens: &[Token<'l>], written: &str) -> Option<DefinedName<'l>> {
    if !is_function_value(written) {
        return None;
    }
    let sign = tokens
        .iter()
        .position(|token| matches!(token, Token::Mark('=' | ':' | '(')))?;
    let value = tokens.get(sign + 1)?;
    let is_function = matches!(value, Token::Name("function" | "async" | "lambda"))
        || (*value == Token::Mark('(') && written.contains("=>"));
    match (
        tokens.get(sign),
        sign.checked_sub(1).and_then(|at| tokens.get(at)),
    ) {
        (Some(Token::Mark('=' | ':')), Some(Token::Name(name))) if is_function => Some(plain_name(name)),
        (_, _) => None,
    }
}

/// Reads the name of a function without a word that says so, as in C, Java and the methods of JavaScript.
fn read_function<'l>(
    tokens: &[Token<'l>],
    start: usize,
    begins: usize,
    written: &str,
) -> Option<DefinedName<'l>> {
    let open = tokens.iter().position(|token| *token == Token::Mark('('))?;
    let before = tokens.get(begins..open.checked_sub(1)?)?;
    let Some(Token::Name(name)) = tokens.get(open - 1) else {
        return None;
    };
    let is_statement = |token: &Token<'_>| matches!(token, Token::Name(word) if is_one_of(word, STATEMENTS));
    let is_odd = |token: &Token<'_>| {
        !matches!(
            token,
            Token::Name(_) | Token::Mark('*' | '&' | '<' | '>' | ',' | '[' | ']' | '~' | '?')
        )
    };
    if is_one_of(name, STATEMENTS) || before.iter().any(|token| is_statement(token) || is_odd(token)) {
        return None;
    }
    let has_type = begins > start || !before.is_empty();
    let close = matching_end(written)?;
    let rest = close.map(|close| written.get(close..).unwrap_or_default().trim());
    let is_head = match rest {
        // The parameters go on in the next line.
        None => has_type && written.ends_with(['(', ',']),
        Some("") => has_type,
        Some(rest) => {
            !rest.ends_with(';')
                && AFTER_PARAMETERS.iter().any(|word| rest.starts_with(word))
                && (has_type || rest.ends_with('{'))
        }
    };
    is_head.then(|| qualified_name(name))
}

/// Returns the position after the parenthesis that closes the first one: `Some(None)` if it is on a later line, and `None` if
/// there is none.
#[expect(
    clippy::option_option,
    reason = "no group, an open group and a closed one are three cases"
)]
fn matching_end(written: &str) -> Option<Option<usize>> {
    let open = written.find('(')?;
    let mut depth = 0_usize;
    for (at, c) in written.char_indices().skip_while(|(at, _)| *at < open) {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return Some(Some(at + 1));
        }
    }
    Some(None)
}

#[cfg(test)]
mod tests {
    use super::{may_define, read_signature, read_tokens};

    /// Returns the name as `owner.name`, with `+` for an addition to a type.
    fn read(line: &str) -> String {
        let is_top = !line.starts_with([' ', '\t']);
        read_signature(line, is_top).map_or_else(String::new, |found| {
            let owner = found.owner.map_or(String::new(), |owner| format!("{owner}."));
            let plus = if found.extends { "+" } else { "" };
            format!("{plus}{owner}{}", found.name)
        })
    }

    #[test]
    fn heads_of_functions_types_and_values_are_recognised() {
        let cases = [
            ("pub(crate) async fn read_it<T>(a: T) -> u8 {", "read_it"),
            ("    const fn size(self) -> usize", "size"),
            ("impl<'a, T: Ord> fmt::Display for Tree<T> {", "+Tree"),
            ("impl Tree {", "+Tree"),
            ("pub struct Tree<T>(T);", "Tree"),
            ("macro_rules! check {", "check"),
            ("const LIMIT: usize = 3;", "LIMIT"),
            ("func (c *Context) Next() {", "Context.Next"),
            ("type Context struct {", "Context"),
            ("func New(opts ...OptionFunc) *Engine {", "New"),
            ("class Shop(Base):", "Shop"),
            ("    async def open(self, key):", "open"),
            ("export default class App extends Component {", "App"),
            ("export const useShop = () => {", "useShop"),
            ("res.links = function links (links) {", "links"),
            ("  render(props) {", "render"),
            ("  handle: function (request) {", "handle"),
            (
                "  public static <T> List<T> copyOf(final List<T> in) throws E {",
                "copyOf",
            ),
            ("static int uv__read(uv_stream_t* stream,", "uv__read"),
            ("int main(int argc, char **argv)", "main"),
            ("struct list *list_new(void) {", "list_new"),
            ("void Shop::close(int a) {", "Shop.close"),
            ("#define MAX_SIZE 10", "MAX_SIZE"),
            ("typedef struct node node;", ""),
            ("interface Point<T> {", "Point"),
        ];
        for (line, expected) in cases {
            assert_eq!(read(line), expected, "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_line_that_is_passed_over_defines_nothing(
            line in "(if|return|self|x|foo_a|pub|use|const|é)?( |::|\\(|\\$|:)?[a-c(){};:=,<>* ]{0,12}(function|=> |fn |struct |lambda )?[a-c(){};,= ]{0,9}",
        ) {
            let written = line.trim();
            for is_top in [false, true] {
                if !may_define(written, is_top) {
                    proptest::prop_assert_eq!(read_tokens(written, is_top), None);
                }
            }
        }
    }

    #[test]
    fn calls_and_statements_define_nothing() {
        let cases = [
            "    read_it(a, b);",
            "    if (a) {",
            "    } else if (b) {",
            "    return call(a)",
            "describe('x', function () {",
            "    let total = items.len();",
            "    total = compute(a)",
            "// fn read_it()",
            "    self.open(a)",
            "int read_it(int a);",
            "mod words;",
            "",
            "(",
        ];
        for line in cases {
            assert_eq!(read(line), "", "{line}");
        }
    }
}
