//! Elisions: lines such as `...` or `# rest of the file unchanged` that a model writes in place of lines it leaves
//! out.
//!
//! Owns: distinguishing an elision from a line that is meant. Never: fills in what was left out.
//!
//! Models shorten long files with elisions. Landed literally, `// ... existing code ...` would replace the code that
//! it refers to. To refuse every line with dots is no solution: prose, messages and Python stubs contain dots, and a
//! comment may well replace another one. So a line is refused only if the file does not have it and the lines around
//! it show that others are missing:
//!
//! | check | applies to | refused |
//! |---|---|---|
//! | [`check_whole_file`] | every line of a whole file | dots, or words for "the rest stays" |
//! | [`check_added_lines`] | added lines of a hunk | dots at the beginning with such words, or a comment of key words where lines disappear |
//! | [`check_lone_comments`] | runs of changed lines | any comment that replaces at least three lines of code, in any language |

use crate::Refusal;
use crate::parse::{Hunk, HunkLine, LineMark};
use crate::refusal::{ambiguous, malformed};
use crate::text::{excerpt, is_page, trim};

/// Maximum number of characters of a line in a message.
const SHOWN_CHARS: usize = 160;
/// Words with which a line of dots refers to the lines left out.
const WORDS: [&str; 7] = [
    "existing",
    "rest of",
    "unchanged",
    "remain",
    "same as",
    "omitted",
    "previous",
];

/// Words, with commas between them, that a comment may contain next to a key word. With more than one other word it is
/// an ordinary comment.
const SMALL_WORDS: &str = "a,above,and,are,as,at,before,being,below,body,brevity,class,code,content,contents,definitions,\
    entries,fields,file,for,from,function,functions,goes,here,implementation,imports,in,is,it,items,kept,\
    lines,logic,method,methods,module,now,of,original,part,parts,routes,rules,section,shown,stay,stays,\
    stuff,tests,that,the,they,this,was,your";
/// Key words, with commas between them, which state that something is left out.
const KEY_WORDS: &str = "change,changes,continues,etc,existing,more,omitted,other,others,previous,remaining,rest,same,snip,\
    unchanged";

/// Refuses a whole file with an elision, unless the base has that line. `lost` is the number of lines by which the
/// file gets shorter, not counting that line.
pub(crate) fn check_whole_file(
    new: &[HunkLine<'_>],
    lost: usize,
    has: impl Fn(&[u8]) -> bool,
) -> Result<(), Refusal> {
    let short = |text: &[u8]| {
        is_elision(text)
            || only_dots(text)
            || says_the_rest_stays(text)
            || stands_for_others(text, lost > 0, lost)
    };
    match new.iter().find(|line| short(&line.text) && !has(&line.text)) {
        Some(line) => {
            Err(left_out("the answer leaves out a part of the file", line)
                .hint("give the whole file, or a diff"))
        }
        None => Ok(()),
    }
}

/// Refuses an added line that is an elision, unless the file has such a line. The dots must begin the line, since
/// prose and messages end in dots. A line of nothing but dots is code in some languages, as `...` in Python.
pub(crate) fn check_added_lines(hunk: &Hunk<'_>, has: impl Fn(&[u8]) -> bool) -> Result<(), Refusal> {
    let said = |mark: LineMark| {
        let lines = hunk.lines.iter().filter(|line| line.mark == mark);
        lines.filter(|line| !trim(&line.text).is_empty()).count()
    };
    let takes = said(LineMark::Remove) > 0;
    // The elision is itself an added line, and a comment may well replace another comment.
    let remarks = hunk.lines.iter().filter(|line| line.mark == LineMark::Remove);
    let remarks = remarks.filter(|line| comment_text(&line.text).is_some()).count();
    let lost = (said(LineMark::Remove) + 1).saturating_sub(said(LineMark::Add) + remarks);
    let short =
        |text: &[u8]| dots_first(text) || (takes && only_dots(text)) || stands_for_others(text, takes, lost);
    match hunk
        .lines
        .iter()
        .find(|line| line.mark == LineMark::Add && short(&line.text) && !has(&line.text))
    {
        Some(line) => Err(left_out("an added line replaces lines that were left out", line)
            .hint("write out every line of the new text")),
        None => Ok(()),
    }
}

/// Refuses a comment in place of code that is not shown as removed on purpose, whatever its words: alone, or as the
/// first or last of few added lines. Prose files are exempt, since a heading looks like a comment.
pub(crate) fn check_lone_comments(
    lines: &[HunkLine<'_>],
    path: &str,
    has: impl Fn(&[u8]) -> bool,
) -> Result<(), Refusal> {
    if is_page(path.as_bytes()) {
        return Ok(());
    }
    let stands = |line: &HunkLine<'_>| is_remark(&line.text) && !has(&line.text);
    // Each run of changed lines by itself: a comment added in one place is no replacement of code removed in another.
    for run in lines.split(|line| line.mark == LineMark::Context) {
        let of = |mark: LineMark| {
            run.iter()
                .filter(move |line| line.mark == mark && !trim(&line.text).is_empty())
        };
        let gone = of(LineMark::Remove)
            .filter(|line| comment_text(&line.text).is_none())
            .count();
        let new: Vec<&HunkLine<'_>> = of(LineMark::Add).collect();
        // One comment for three lines of code, or a few lines for three times as many: fewer may be a real rewrite.
        let enough = match new.len() {
            1 => gone >= 3,
            few => gone >= 5 && gone >= 3 * few,
        };
        let edges = [new.first(), new.last()];
        if let Some(line) = edges.into_iter().flatten().find(|line| enough && stands(line)) {
            let message = format!(
                "a comment replaces {gone} lines of code and may be a placeholder for them: `{}`",
                excerpt(&line.text, SHOWN_CHARS)
            );
            return Err(ambiguous(message).hint(
                "write those lines out if they stay; if they are removed, show that in a unified diff",
            ));
        }
    }
    Ok(())
}

/// Returns true for a comment in words, and false for a directive or attribute that begins like one, such as
/// `#[test]`.
fn is_remark(line: &[u8]) -> bool {
    const LEADERS: [&[u8]; 8] = [b"// ", b"# ", b"-- ", b"/* ", b"{/* ", b"<!-- ", b"; ", b"% "];
    LEADERS.iter().any(|leader| trim(line).starts_with(leader))
}

/// Returns true for a comment that replaced lines and either begins with dots, or states that something stays and
/// ends in dots or replaces more lines than were added.
fn stands_for_others(line: &[u8], takes: bool, lost: usize) -> bool {
    /// Maximum number of words; a longer comment is prose.
    const WORDS_AT_MOST: usize = 12;
    let Some(text) = comment_text(line).filter(|_| takes) else {
        return false;
    };
    // Comments of this kind are often put in brackets, as in `// (remaining functions stay the same)`.
    let text = text.trim_matches(|mark: char| "[](){}<> ".contains(mark));
    let dots = |text: &str| (text.starts_with("..."), text.ends_with("..."));
    let (before, behind) = dots(&text.replace('…', "..."));
    let words: Vec<&str> = text
        .split(|mark: char| !mark.is_alphanumeric() && mark != '_')
        .filter(|word| !word.is_empty())
        .collect();
    let is_in = |list: &str, word: &str| list.split(',').any(|listed| listed == word);
    let key = |word: &&str| is_in(KEY_WORDS, word);
    // One name is allowed, as in `// rest of parse_line unchanged`. With two, the comment says something about the
    // code.
    let names = words
        .iter()
        .filter(|word| !key(word) && !is_in(SMALL_WORDS, word))
        .count();
    let says = words.len() <= WORDS_AT_MOST && names <= 1 && words.iter().any(key);
    before || (says && (behind || lost > 0))
}

/// Returns true for a context line that is an elision.
pub(crate) fn is_elision(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(trim(line)).to_lowercase();
    let dots = text.contains("...") || text.contains('…');
    text == "..." || text == "…" || (dots && WORDS.iter().any(|word| text.contains(word)))
}

fn left_out(what: &str, line: &HunkLine<'_>) -> Refusal {
    let message = format!("{what}: `{}`", excerpt(&line.text, SHOWN_CHARS));
    malformed(message)
}

/// Returns the text of a comment in lower case. Returns `None` if the line is not a comment alone.
fn comment_text(line: &[u8]) -> Option<String> {
    const LEADERS: [&str; 9] = ["//", "#", "--", "{/*", "/*", "<!--", ";", "%", "*"];
    let text = String::from_utf8_lossy(trim(line)).to_lowercase();
    let rest = LEADERS.iter().find_map(|leader| text.strip_prefix(leader))?;
    let ends = |mark: char| "*/-}> ".contains(mark);
    Some(
        // Doc comments repeat their mark: `///`, `##`, `/**`.
        rest.trim_start_matches(['/', '#', '*', ' '])
            .trim_end_matches(ends)
            .trim()
            .to_owned(),
    )
}

/// Returns true for a comment of dots alone.
fn only_dots(line: &[u8]) -> bool {
    comment_text(line).is_some_and(|text| text == "..." || text == "…")
}

/// Returns true for `# ... existing code ...` and the like.
fn dots_first(line: &[u8]) -> bool {
    let text = comment_text(line).unwrap_or_else(|| String::from_utf8_lossy(trim(line)).to_lowercase());
    (text.starts_with("...") || text.starts_with('…')) && WORDS.iter().any(|word| text.contains(word))
}

/// Returns true for `# rest of file unchanged`, `// (remaining functions stay the same)` and the like.
fn says_the_rest_stays(line: &[u8]) -> bool {
    comment_text(line).is_some_and(|text| {
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        has(&["rest of", "remaining", "existing"]) && has(&["unchanged", "same"])
    })
}
