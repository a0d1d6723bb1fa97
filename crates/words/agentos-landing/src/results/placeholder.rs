//! Placeholders: lines such as `...` or `# rest of the file unchanged` that a model writes in place of lines it leaves
//! out.
//!
//! Owns: distinguishing a placeholder from a line that is meant. Never: fills in what was left out.
//!
//! Models shorten long files with placeholders. Landed literally, `// ... existing code ...` would replace the code that
//! it refers to. Not every line with dots can be refused: prose, messages and Python stubs contain dots, and a
//! comment may well replace another one. So an added line is refused only if the base does not have it, and:
//!
//! | line | refused |
//! |---|---|
//! | dots with words for "the rest stays", in a comment or alone | always |
//! | a comment that says that the rest stays; a comment of dots alone in a new file | always |
//! | dots alone, maybe in brackets or a comment | where lines disappear |
//! | a comment, a line in brackets or emphasis, or a line of a page, of key words in any language | where lines disappear that it does not replace itself |
//! | any other comment, in a dialect that does not show what is removed | where it replaces at least three lines of code |

use std::cell::OnceCell;
use std::collections::HashSet;

use super::{ChangedRun, left_out, may_stand_for};
use crate::text::{is_in, is_page, split_lines, trim, trim_end};
use crate::{Dialect, Refusal};

/// Words with which a line of dots refers to the lines left out.
const WORDS: &str = "existing,rest of,unchanged,remain,same as,omitted,previous";

/// Words, with commas between them, that a comment may contain next to a key word. With more than one other word it is
/// an ordinary comment.
const SMALL_WORDS: &str = "a,above,all,and,are,as,at,be,before,being,below,body,brevity,calls,class,code,codigo,c\u{f3}digo,columns,constants,content,\
    contents,definitions,archivo,del,der,die,du,entries,everything,fields,file,for,from,function,functions,goes,here,implementation,\
    imports,in,is,it,items,lines,logic,method,methods,module,now,of,original,part,parts,routes,rules,section,sections,settings,\
    shown,sin,stay,stays,stuff,styles,tests,text,that,the,they,this,was,your";
/// Key words, with commas between them, which state that something is left out. The last lines are German, French, Spanish
/// and Portuguese.
const KEY_WORDS: &str = "change,changes,continues,etc,existing,keep,keeps,kept,more,omitted,other,others,previous,remain,remaining,\
    remains,rest,same,snip,unchanged,unmodified,untouched,unver\u{e4}ndert,gleich,inchang\u{e9},inchang\u{e9}e,reste,cambios,igual,\
    resto,mant\u{e9}m";
/// Key words of languages that do not put blanks between words: "omitted", "the rest", "no change", "as above".
const KEY_TEXTS: &str = "\u{7701}\u{7565},\u{5176}\u{4f59},\u{4e0d}\u{53d8},\u{5909}\u{66f4}\u{306a}\u{3057},\
    \u{540c}\u{4e0a},\u{4ee5}\u{4e0b}\u{7565}";

/// Refuses a placeholder among the added lines of a file.
pub(super) fn check_runs(
    path: &str,
    base: &[u8],
    runs: &[ChangedRun<'_>],
    dialect: Dialect,
) -> Result<(), Refusal> {
    let there: OnceCell<HashSet<&[u8]>> = OnceCell::new();
    let texts = || split_lines(base).iter().map(|line| trim_end(line.text)).collect();
    let is_new = |line: &[u8]| !there.get_or_init(texts).contains(line);
    let page = is_page(path.as_bytes());
    let said = |lines: &[&[u8]]| lines.iter().filter(|line| !trim(line).is_empty()).count();
    // A whole file may have the placeholder elsewhere than the lines that it stands for.
    let whole = dialect == Dialect::WholeFile && !base.is_empty();
    let [all_gone, all_new] = [
        runs.iter().map(|run| said(run.removed)).sum::<usize>(),
        runs.iter().map(|run| said(run.added)).sum::<usize>(),
    ];
    for run in runs {
        let gone = said(run.removed);
        let remarks = run.removed.iter().filter(|line| is_comment(line)).count();
        // The placeholder is itself an added line, and a comment may well replace another comment.
        let lost = (gone + 1).saturating_sub(said(run.added) + remarks);
        let lost_of_all = (all_gone + 1).saturating_sub(all_new + remarks);
        let lost = if whole { lost.max(lost_of_all) } else { lost };
        let takes = gone > 0 || (whole && all_gone > 0);
        let short = |line: &[u8]| {
            dots_first(line)
                || says_the_rest_stays(line)
                || (is_elision(line) && (takes || trim(line).len() > 3))
                || (base.is_empty() && is_comment(line) && only_dots(line))
                || (takes && (only_dots(line) || stands_for_others(line, page, lost)))
        };
        if let Some(line) = run.added.iter().find(|line| short(line) && is_new(line)) {
            return Err(left_out(line));
        }
        if dialect != Dialect::UnifiedDiff && !page {
            check_lone_comment(run, &is_new)?;
        }
    }
    Ok(())
}

/// Refuses a comment in place of code that is not shown as removed on purpose, whatever its words: alone, or as the
/// first or last of few added lines.
fn check_lone_comment(run: &ChangedRun<'_>, is_new: &dyn Fn(&[u8]) -> bool) -> Result<(), Refusal> {
    let is_code = |line: &&&[u8]| !trim(line).is_empty() && !is_comment(line);
    let gone = run.removed.iter().filter(is_code).count();
    let new: Vec<&&[u8]> = run.added.iter().filter(|line| !trim(line).is_empty()).collect();
    // One comment for three lines of code, or a few lines for three times as many: fewer may be a real rewrite.
    let enough = match new.len() {
        1 => gone >= 3,
        few => gone >= 5 && gone >= 3 * few,
    };
    let mut edges = [new.first(), new.last()].into_iter().flatten();
    match edges.find(|line| enough && is_remark(line) && is_new(line)) {
        Some(line) => Err(may_stand_for(line, gone)),
        None => Ok(()),
    }
}

/// Returns true for a comment in words, and false for a directive or attribute that begins like one, such as
/// `#[test]`.
fn is_remark(line: &[u8]) -> bool {
    const LEADERS: [&[u8]; 8] = [b"// ", b"# ", b"-- ", b"/* ", b"{/* ", b"<!-- ", b"; ", b"% "];
    LEADERS.iter().any(|leader| trim(line).starts_with(leader))
}

/// Returns true for a comment that replaced lines and either begins with dots, or states that something stays and
/// ends in dots or replaces more lines than were added.
fn stands_for_others(line: &[u8], page: bool, lost: usize) -> bool {
    /// Maximum number of words; a longer comment is prose.
    const WORDS_AT_MOST: usize = 12;
    let text = match comment_text(line).or_else(|| wrapped_text(line)) {
        Some(text) => text,
        None if page => lower(line),
        None => return false,
    };
    // Comments of this kind are often put in brackets, as in `// (remaining functions stay the same)`.
    let text = text.trim_matches(|mark: char| "[](){}<>*_ ".contains(mark));
    let (before, behind) = (text.starts_with("..."), text.ends_with("..."));
    let words = text.split(|mark: char| !mark.is_alphanumeric() && mark != '_');
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let key = |word: &&str| is_in(KEY_WORDS, word);
    let is_small = |word: &&str| is_in(SMALL_WORDS, word) || word.bytes().all(|byte| byte.is_ascii_digit());
    // One name is allowed, as in `// rest of parse_line unchanged`. With two, the comment says something about the
    // code.
    let names = words.iter().filter(|word| !key(word) && !is_small(word)).count();
    let says = words.len() <= WORDS_AT_MOST && names <= 1 && words.iter().any(key);
    let says = says || (words.len() <= 2 && KEY_TEXTS.split(',').any(|key| text.contains(key)));
    (before && is_comment(line)) || (says && (behind || lost > 0))
}

/// Returns the text of a line that is in brackets or emphasis as a whole. Returns `None` for another line.
fn wrapped_text(line: &[u8]) -> Option<String> {
    let text = lower(line);
    let mut pairs = [('(', ')'), ('[', ']'), ('<', '>'), ('*', '*'), ('_', '_')].into_iter();
    let is_wrapped = pairs.any(|(open, close)| text.starts_with(open) && text.ends_with(close));
    (is_wrapped && text.len() > 2).then_some(text)
}

/// Returns the text of a line in lower case, with three dots for an ellipsis.
fn lower(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(trim(line));
    text.to_lowercase().replace('…', "...")
}

/// Returns true for a line that is a placeholder in any place: dots alone, or dots with words for "the rest stays".
pub(crate) fn is_elision(line: &[u8]) -> bool {
    let text = lower(line);
    // In the middle, dots belong to a sentence.
    let bare = text.trim_matches(|mark: char| !mark.is_alphanumeric() && mark != '.');
    let has_dots = bare.starts_with("...") || bare.ends_with("...");
    text == "..." || (has_dots && WORDS.split(',').any(|word| text.contains(word)))
}

fn is_comment(line: &[u8]) -> bool {
    comment_text(line).is_some()
}

/// Returns the text of a comment in lower case. Returns `None` if the line is not a comment alone.
fn comment_text(line: &[u8]) -> Option<String> {
    const LEADERS: [&str; 9] = ["//", "#", "--", "{/*", "/*", "<!--", ";", "%", "*"];
    let text = lower(line);
    let rest = LEADERS.iter().find_map(|leader| text.strip_prefix(leader))?;
    let ends = |mark: char| "*/-}> ".contains(mark);
    Some(
        // Doc comments repeat their mark: `///`, `##`, `/**`.
        rest.trim_start_matches(['/', '#', '*', ';', ' '])
            .trim_end_matches(ends)
            .trim()
            .to_owned(),
    )
}

/// Returns true for dots alone: in a comment, in brackets, or bare.
fn only_dots(line: &[u8]) -> bool {
    let text = comment_text(line).unwrap_or_else(|| lower(line));
    let text = text.trim_matches(|mark: char| "[](){}<>*_ ".contains(mark));
    text == "..."
}

/// Returns true for `# ... existing code ...` and the like.
fn dots_first(line: &[u8]) -> bool {
    let text = comment_text(line).unwrap_or_else(|| lower(line));
    text.starts_with("...") && WORDS.split(',').any(|word| text.contains(word))
}

/// Returns true for `# rest of file unchanged`, `// (remaining functions stay the same)` and the like.
fn says_the_rest_stays(line: &[u8]) -> bool {
    comment_text(line).is_some_and(|text| {
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        has(&["rest of", "remaining", "existing"]) && has(&["unchanged", "same"])
    })
}
