//! Checks of the result, once, after all dialects: text that no author means to be in a file.
//!
//! Owns: what is refused whatever policy says. Never: looks at the answer. Only base, result, and the ids that the answer
//! gives for its results count.
//!
//! | added text, which the base lacks | refused, unless |
//! |---|---|
//! | the three marks of a conflict, in their order | the base has such marks, the path names a merge or test data, or a page shows them in a fence |
//! | a fence around all of a file or of a replacement | the file is a page, or its base has fences |
//! | CDATA around all of a file or of a replacement | the base has CDATA, or it is in XML |
//! | a number in front of each added line, ascending | the base has such numbers |
//! | a placeholder ([`placeholder`]) | the base has the line, or no line disappears |

pub(crate) mod placeholder;

use std::collections::HashMap;

use crate::canonical::{ShownLines, has_id};
use crate::compare::line_edits;
use crate::parse::parse_fence;
use crate::refusal::{ambiguous, malformed};
use crate::text::{TextLine, is_in, is_page, split_ending, split_lines, trim, trim_end};
use crate::whole::{ambiguous_numbers, line_number, split_numbers};
use crate::{Change, Dialect, FileChange, FileReport, Refusal};

/// Lines that one place of a file loses and gets.
pub(crate) struct ChangedRun<'l> {
    pub removed: &'l [&'l [u8]],
    pub added: &'l [&'l [u8]],
}

impl<'l> ChangedRun<'l> {
    /// Returns the first and the last added line. Returns `None` if lines are only removed.
    fn ends(&self) -> Option<(&'l [u8], &'l [u8])> {
        Some((self.added.first()?, self.added.last()?))
    }
}

/// Checks the added lines of every file. `stated` are the ids of results that the answer names: a file with such an id is
/// what git had on the author's disk, and no slip of the text.
///
/// # Errors
/// Fails for the first file with a text that nobody means to be in it.
pub(crate) fn check_results(
    change: &Change,
    reports: &[FileReport],
    stated: &[String],
) -> Result<(), Refusal> {
    let dialects = reports
        .iter()
        .map(|report| (report.path.as_str(), report.dialect));
    // If two reports have one path, the first counts.
    let dialects: HashMap<&str, Dialect> = dialects.rev().collect();
    for file in change.files() {
        let dialect = dialects.get(file.path.as_str()).copied();
        let dialect = dialect.unwrap_or(Dialect::UnifiedDiff);
        match check_file(file, dialect) {
            Err(refusal) if !is_proven(file, stated) => return Err(refusal.at(file.path.as_str())),
            Err(_) | Ok(()) => {}
        }
    }
    Ok(())
}

fn is_proven(file: &FileChange, stated: &[String]) -> bool {
    let new = file.new.as_ref();
    new.is_some_and(|new| stated.iter().any(|id| has_id(&new.content, id)))
}

fn check_file(file: &FileChange, dialect: Dialect) -> Result<(), Refusal> {
    let Some(new) = file.new.as_ref().filter(|new| !new.is_binary()) else {
        return Ok(());
    };
    let old = file.old.as_ref();
    let base: &[u8] = old.map(|old| old.content.as_ref()).unwrap_or_default();
    // Few lines of a large file change, and only those are compared.
    let shown = ShownLines::of(base, &new.content, 0);
    let [old, added] = [shown.before, shown.after].map(|lines| {
        lines
            .into_iter()
            .map(|line| trim_end(split_ending(line).text))
            .collect::<Vec<_>>()
    });
    let runs = line_edits(&old, &added).into_iter().map(|edit| ChangedRun {
        removed: old.get(edit.old).unwrap_or_default(),
        added: added.get(edit.new).unwrap_or_default(),
    });
    let runs: Vec<ChangedRun<'_>> = runs.collect();
    let path = file.path.as_str();
    check_conflicts(path, base, &new.content, &runs)?;
    check_wrappers(path, base, &new.content, &runs)?;
    if file.old.is_some() {
        check_numbers(base, &runs)?;
    }
    placeholder::check_runs(path, base, &runs, dialect)
}

/// Counts the conflicts in a text: the three marks in their order, outside of fences if `page` is true.
fn count_conflicts(text: &[u8], page: bool) -> usize {
    let (mut count, mut next, mut fenced) = (0, 0, false);
    for line in split_lines(text) {
        fenced ^= page && parse_fence(line.text).is_some();
        if fenced {
            continue;
        }
        let is_mark = |mark: &[u8]| {
            let rest = line.text.strip_prefix(mark);
            rest.is_some_and(|rest| rest.first().is_none_or(|byte| b" \r".contains(byte)))
        };
        next = match next {
            _ if is_mark(b"<<<<<<<") => 1,
            1 if is_mark(b"=======") => 2,
            2 if is_mark(b">>>>>>>") => {
                count += 1;
                0
            }
            other => other,
        };
    }
    count
}

fn check_conflicts(path: &str, old: &[u8], new: &[u8], runs: &[ChangedRun<'_>]) -> Result<(), Refusal> {
    /// Words of a path whose files show conflicts on purpose; and words that do so in tests and documents.
    const PURPOSES: &str = "conflict,conflicts,fixture,fixtures,testdata,snapshot,snapshots";
    const MERGES: &str = "merge,merges,merging,rebase";
    const PLACES: &str = "test,tests,spec,specs,doc,docs";
    let begins = |line: &&[u8]| line.starts_with(b"<<<<<<<") || line.starts_with(b">>>>>>>");
    if !runs.iter().any(|run| run.added.iter().any(begins)) {
        return Ok(());
    }
    let page = is_page(path.as_bytes());
    let lower = path.to_lowercase();
    let words = || lower.split(|mark: char| !mark.is_alphanumeric());
    let has = |list| words().any(|word| is_in(list, word));
    if count_conflicts(old, false) > 0
        || count_conflicts(new, page) == 0
        || has(PURPOSES)
        || (has(MERGES) && has(PLACES))
    {
        return Ok(());
    }
    Err(malformed("the change adds the marks of a merge conflict").hint(
        "resolve the conflict and give the text without its marks; a search/replace block begins with `<<<<<<< SEARCH`",
    ))
}

fn is_fence(line: &[u8]) -> bool {
    parse_fence(line).is_some()
}

fn check_wrappers(path: &str, old: &[u8], new: &[u8], runs: &[ChangedRun<'_>]) -> Result<(), Refusal> {
    let opens_data = |line: &[u8]| trim(line).starts_with(b"<![CDATA[");
    let is_suspect = |line: &&[u8]| is_fence(line) || opens_data(line);
    if !runs.iter().any(|run| run.added.iter().any(is_suspect)) {
        return Ok(());
    }
    let lines = split_lines(new);
    let said = lines.iter().map(|line| trim_end(line.text));
    let said: Vec<&[u8]> = said.filter(|line| !line.is_empty()).collect();
    let [first, last] = [said.first(), said.last()].map(|line| line.copied().unwrap_or_default());
    let has = |starts: &dyn Fn(&[u8]) -> bool| split_lines(old).iter().any(|line| starts(line.text));
    let is_data = |first: &[u8], last: &[u8]| opens_data(first) && trim(last).ends_with(b"]]>");
    const XML: &str = ".xml,.svg,.xsd,.xsl,.xhtml,.html,.htm,proj,.rss";
    let is_xml = XML.split(',').any(|ending| path.ends_with(ending));
    let mut ends = runs.iter().filter_map(ChangedRun::ends);
    let mut data_in_runs = || !is_xml && ends.any(|(first, last)| is_data(first, last));
    if (is_data(first, last) || data_in_runs()) && !has(&opens_data) {
        return Err(wrapped("CDATA"));
    }
    if is_page(path.as_bytes()) {
        return Ok(());
    }
    let around_file = said.len() > 1 && is_fence(first) && is_fence(last);
    let added = runs.iter().flat_map(|run| run.added);
    let fences = added.filter(|line| is_fence(line)).count();
    // A fence at both ends of a replacement, or without a partner.
    let is_fenced = |run: &ChangedRun<'_>| {
        let is_fenced = |(first, last): (&[u8], &[u8])| is_fence(first) && is_fence(last);
        !run.removed.is_empty() && run.ends().is_some_and(is_fenced)
    };
    let around_run = || fences > 0 && runs.iter().any(is_fenced);
    if (around_file || fences % 2 == 1 || around_run()) && !has(&is_fence) {
        return Err(wrapped("a code fence"));
    }
    Ok(())
}

fn wrapped(what: &str) -> Refusal {
    malformed(format!(
        "the new text has {what} around it, which is not a part of the file"
    ))
    .hint("give the text alone; a fence belongs around the whole edit, and not into it")
}

/// Refuses a number in front of each added line, if the file has none.
fn check_numbers(old: &[u8], runs: &[ChangedRun<'_>]) -> Result<(), Refusal> {
    let is_listing = |run: &ChangedRun<'_>| {
        let said = run.added.iter().copied().filter(|line| !line.is_empty());
        split_numbers(&said.collect::<Vec<_>>()).is_some()
    };
    let has_number = |line: &TextLine<'_>| line_number(line.text).is_some();
    if runs.iter().any(is_listing) && !split_lines(old).iter().any(has_number) {
        return Err(ambiguous_numbers());
    }
    Ok(())
}

/// Returns the refusal of a placeholder.
fn left_out(line: &[u8]) -> Refusal {
    /// Maximum number of characters of a line in a message.
    const SHOWN_CHARS: usize = 160;
    let line = crate::text::excerpt(line, SHOWN_CHARS);
    malformed(format!(
        "an added line stands for lines that were left out: `{line}`"
    ))
    .hint("write out every line of the new text, or give a diff")
}

/// Returns the refusal of a comment that may be a placeholder.
fn may_stand_for(line: &[u8], gone: usize) -> Refusal {
    let line = crate::text::excerpt(line, 160);
    ambiguous(format!(
        "a comment replaces {gone} lines of code and may be a placeholder for them: `{line}`"
    ))
    .hint("write those lines out if they stay; if they are removed, show that in a unified diff")
}
