//! A file that is given as a whole: its new bytes, and the signs that the block is something else.
//!
//! Owns: distinguishing a file from an excerpt, a numbered listing or a diff of it. Never: fills in what is left out.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::locate::HunkPlace;
use crate::parse::{FileClaim, FileEdit, Hunk, HunkLine, LineMark, new_repair};
use crate::refusal::{ambiguous, malformed};
use crate::splice::{hunk_splices, join_splices};
use crate::text::{
    BOM, FileLines, common_tail, line_starts, split_lines, split_run, strip_start, texts_of, trim, trim_start,
};
use crate::{Refusal, Repair, RepoPath};

/// Returns the new content of an existing file, and the repair if one was needed. Lines that stay keep their bytes.
///
/// # Errors
/// Fails if the block may be an excerpt, a listing, a diff, or a file with parts left out.
pub(crate) fn changed_content(
    (path, base): (&str, &[u8]),
    new: &[HunkLine],
    claim: FileClaim,
) -> Result<(Vec<u8>, Option<Repair>), Refusal> {
    let old = split_lines(base);
    let texts = texts_of(&old);
    let new = match claim {
        FileClaim::Comment => below_name(&texts, new),
        FileClaim::Call | FileClaim::Complete | FileClaim::Title => new,
    };
    let there: HashSet<&[u8]> = texts.iter().copied().collect();
    let mut wanted: Vec<&[u8]> = new.iter().map(|line| line.text.as_ref()).collect();
    let mut repaired = None;
    let tail = common_tail(wanted.iter().copied());
    if tail > 0 && common_tail(texts.iter().copied()) == 0 {
        for line in &mut wanted {
            *line = line.get(..line.len() - tail).unwrap_or_default();
        }
        repaired = Some(tail_repair());
    }
    // A new version of a file shares lines with the old one. If none is equal, marks or numbers may stand before
    // each.
    if !wanted.iter().any(|line| has_text(line) && there.contains(line)) {
        not_a_diff(&wanted, &there)?;
        if split_numbers(&texts).is_none()
            && let Some(bare) = without_numbers(&wanted, &there)?
        {
            wanted = bare;
            let detail = "the numbers in front of the lines are not in the file and were removed";
            repaired = Some(new_repair("line-numbers", detail));
        }
    }
    // The file keeps its byte order mark, and gets none: it is invisible, so nobody would notice its addition.
    let marked;
    if let Some(first) = wanted.first_mut() {
        *first = first.strip_prefix(BOM).unwrap_or(first);
        if base.starts_with(BOM) {
            marked = [BOM, first].concat();
            *first = &marked;
        }
    }
    let hunk = Hunk::of_texts(&texts, &wanted);
    check_claim(path, &hunk.lines, claim)?;
    let starts = line_starts(base);
    let old = FileLines::new(base, &starts);
    let content = match hunk_splices(old, &hunk, &HunkPlace::exact(0)) {
        Ok(splices) => join_splices(old, &splices),
        // Cannot happen at level `Exact`, where no line is shifted; the lines as given are the right result then.
        Err(_) => crate::placement::content_of(hunk.lines.iter().filter(|line| line.is_new())),
    };
    Ok((content, repaired))
}

/// Returns the repair of blanks that every line ended with.
pub(crate) fn tail_repair() -> Repair {
    let detail = "every line ended with the same blanks, which were removed";
    new_repair("trailing-blanks", detail)
}

/// Refuses a block that may be a part of the file, by what says that it is all of it.
///
/// Below a title, the block must keep two thirds of the file. Of the files that real commits modify, 97.8 % keep a third of
/// their lines, 97.1 % a half, 95.8 % two thirds and 94.8 % three quarters (`scripts/landing/kept_share.py` on 12
/// repositories, 11,414 files). A snippet that adds to a small file keeps up to a half of it, so a lower share would replace
/// files by snippets, and a higher one would refuse more new versions.
fn check_claim(path: &str, lines: &[HunkLine], claim: FileClaim) -> Result<(), Refusal> {
    let stays = count_said(lines, LineMark::Context);
    let old = stays + count_said(lines, LineMark::Remove);
    let keeps = || stays * 3 >= old * 2 && !is_excerpt(lines) && count_unreplaced(lines.iter()) == 0;
    let is_whole = match claim {
        FileClaim::Complete | FileClaim::Call => true,
        FileClaim::Title => keeps(),
        // A comment with a path is above many excerpts, too: the last lines must have others in their place as well.
        FileClaim::Comment => keeps() && count_unreplaced(lines.iter().rev()) == 0,
    };
    if is_whole {
        return Ok(());
    }
    let message = format!(
        "the block keeps {stays} of the {old} lines of `{path}`: it may be an excerpt of the file, or the whole new file"
    );
    Err(ambiguous(message).at(path).hint(
        "write `the complete file` above the block if it replaces the file; give a diff or search/replace blocks for a part",
    ))
}

/// Returns the lines below the comment that names the file, if the file does not begin with that comment.
fn below_name<'l>(old: &[&[u8]], new: &'l [HunkLine]) -> &'l [HunkLine] {
    let Some((name, rest)) = new.split_first() else {
        return new;
    };
    let first = old.first().copied().unwrap_or_default();
    if first.strip_prefix(BOM).unwrap_or(first) == name.text {
        return new;
    }
    let gap = rest.iter().take_while(|line| !has_text(&line.text)).count();
    if has_text(first) {
        rest.get(gap..).unwrap_or_default()
    } else {
        rest
    }
}

/// Refuses a new file that only a comment in its first line names: nothing shows whether that line belongs to it.
pub(crate) fn check_name(edit: &FileEdit, path: &RepoPath) -> Result<(), Refusal> {
    if edit.claim != FileClaim::Comment {
        return Ok(());
    }
    let message = format!("a block with `{path}` in a comment could be that new file, or an example");
    Err(ambiguous(message)
        .at(path.as_str())
        .hint("write the path of a new file above its block"))
}

/// Refuses a new file that leaves parts out, is a numbered listing, or has a diff mark before each line.
pub(crate) fn check_new_file(new: &[HunkLine]) -> Result<(), Refusal> {
    /// Fewer lines may be numbered, or begin with a plus, by chance.
    const ENOUGH: usize = 3;
    let texts: Vec<&[u8]> = new.iter().map(|line| line.text.as_ref()).collect();
    let listed = split_numbers(&texts).is_some_and(|(first, _)| first == 1);
    // A line that begins directly with its number and contains a tab may be a row of a table; a listing is aligned to
    // the right.
    let is_set_right = |line: &&[u8]| line.starts_with(b" ") || !line.contains(&b'\t');
    let set_right = texts.first().is_some_and(is_set_right);
    if texts.len() >= ENOUGH && listed && set_right {
        return Err(ambiguous_numbers());
    }
    if texts.len() >= ENOUGH && texts.iter().all(|line| line.starts_with(b"+")) {
        return Err(marks_in_front());
    }
    Ok(())
}

/// Returns true if nearly all lines of each file are in the other, and there are enough of them to tell two files of
/// a kind apart. Equal content is no change of that file, so it returns false.
pub(crate) fn resembles_file(base: &[u8], new: &[HunkLine]) -> bool {
    /// Minimum number of shared lines that contain a word.
    const ENOUGH: usize = 8;
    let telling = |line: &&[u8]| line.iter().filter(|byte| byte.is_ascii_alphabetic()).count() >= 2;
    let base = split_lines(base);
    let old = base.iter().map(|line| line.text);
    let new = new.iter().map(|line| line.text.as_ref());
    if old.clone().eq(new.clone()) {
        return false;
    }
    let old: HashSet<&[u8]> = old.filter(telling).collect();
    let new: HashSet<&[u8]> = new.filter(telling).collect();
    let shared = old.intersection(&new).count();
    let nearly = |of: usize| shared * 5 >= of * 4;
    shared >= ENOUGH && nearly(old.len()) && nearly(new.len())
}

/// Counts the lines with this mark that have text.
fn count_said(lines: &[HunkLine], mark: LineMark) -> usize {
    let said = |line: &&HunkLine| line.mark == mark && has_text(&line.text);
    lines.iter().filter(said).count()
}

fn has_text(line: &[u8]) -> bool {
    !trim(line).is_empty()
}

pub(crate) fn ambiguous_numbers() -> Refusal {
    let message = "every line of the block begins with its number, which may or may not be part of the file";
    ambiguous(message).hint("give the lines without numbers in front")
}

fn marks_in_front() -> Refusal {
    let message = "every line of the block begins with a mark, as in a diff that has no header";
    malformed(message)
        .hint("write `--- a/path`, `+++ b/path` and `@@` above it, or give the file without marks")
}

/// Refuses a block of diff lines: each begins with a mark, and those that a diff would keep or remove are lines of
/// the file without it.
fn not_a_diff(new: &[&[u8]], there: &HashSet<&[u8]>) -> Result<(), Refusal> {
    let lines: Vec<(&u8, &[u8])> = new
        .iter()
        .filter(|line| has_text(line) && !line.starts_with(b"\\ No newline"))
        .filter_map(|line| line.split_first())
        .collect();
    let marked = lines.iter().all(|(mark, _)| b" +-".contains(mark));
    let changes = lines.iter().any(|(mark, _)| **mark != b' ');
    let known = lines
        .iter()
        .all(|(mark, text)| **mark == b'+' || there.contains(text));
    if marked && changes && known {
        return Err(marks_in_front());
    }
    Ok(())
}

/// Removes the numbers before the lines, if the file shows that they are not its own. Returns `None` if the lines are
/// not numbered.
///
/// # Errors
/// Fails if the numbers may be part of the file.
fn without_numbers<'l>(new: &[&'l [u8]], there: &HashSet<&[u8]>) -> Result<Option<Vec<&'l [u8]>>, Refusal> {
    let Some((first, bare)) = split_numbers(new) else {
        return Ok(None);
    };
    let said = bare.iter().filter(|line| has_text(line)).count();
    let is_known = |line: &&&[u8]| has_text(line) && there.contains(*line);
    let known = bare.iter().filter(is_known).count();
    match (first == 1, known * 2 > said) {
        (true, true) => Ok(Some(bare)),
        (false, false) if known == 0 => Ok(None),
        (true | false, _) => Err(ambiguous_numbers()),
    }
}

/// Returns the first number and the lines after the numbers. Returns `None` unless every line has a number that is
/// one more than that of the line above.
pub(crate) fn split_numbers<'l>(new: &[&'l [u8]]) -> Option<(u64, Vec<&'l [u8]>)> {
    let (first, _) = line_number(new.first()?)?;
    let text = |(wanted, line): (u64, &&'l [u8])| {
        let (found, text) = line_number(line)?;
        (found == wanted).then_some(text)
    };
    let bare: Vec<&[u8]> = (first..).zip(new).map(text).collect::<Option<_>>()?;
    (bare.len() > 1).then_some((first, bare))
}

/// Reads the number before a line of a listing: `  12 | text`, `12: text`, or with a tab or an arrow. Returns the
/// number and the text, or `None`.
pub(crate) fn line_number(rest: &[u8]) -> Option<(u64, &[u8])> {
    let rest = trim_start(rest);
    // A number without a separator, as `2024 was …`, is text.
    let (digits, rest) = split_run(rest, |byte| byte.is_ascii_digit());
    let value = std::str::from_utf8(digits).ok()?.parse().ok()?;
    if let Some(text) = strip_start("\t;\u{2192}", rest) {
        return Some((value, text));
    }
    let rest = strip_start("|;:;\u{2502}", trim_start(rest))?;
    Some((value, rest.strip_prefix(b" ").unwrap_or(rest)))
}

/// Returns true if the block may be an excerpt of the file: it begins below the file's first line and leaves out most
/// of the file or its end; or most of its lines stay, and more than a fifth of the file would be lost at its ends.
fn is_excerpt(lines: &[HunkLine]) -> bool {
    /// Fewer lines may well be removed at an end.
    const ENOUGH: usize = 3;
    let first_new = lines.iter().find(|line| line.is_new());
    let begins_inside = lines.first().is_some_and(|line| line.mark == LineMark::Remove)
        && first_new.is_some_and(|line| line.mark == LineMark::Context && has_text(&line.text));
    let gone = lines.iter().filter(|line| line.mark == LineMark::Remove).count();
    let old = lines.iter().filter(|line| line.is_old()).count();
    let only_goes = lines.iter().all(|line| line.mark != LineMark::Add);
    let lines = &slid_to_the_end(lines)[..];
    let ends_inside = lines.last().is_some_and(|line| line.mark == LineMark::Remove);
    let stay = count_said(lines, LineMark::Context);
    let stays = stay > 0 && stay >= count_said(lines, LineMark::Add);
    let at_ends = count_unreplaced(lines.iter()) + count_unreplaced(lines.iter().rev());
    (begins_inside && (only_goes || ends_inside || gone > old / 2))
        || (stays && at_ends >= ENOUGH && at_ends * 5 > old)
}

/// Returns the same change with its last removed lines moved down as far as possible. If the lines that stay at the
/// end are also the first of the removed ones, the end of the file may be what is missing.
fn slid_to_the_end(lines: &[HunkLine]) -> Cow<'_, [HunkLine]> {
    /// Two parts of a file do not end in more equal lines than these by chance.
    const TAIL: usize = 16;
    let is = |mark: LineMark| move |line: &&HunkLine| line.mark == mark;
    let stay = lines.iter().rev().take_while(is(LineMark::Context)).count();
    let (above, end) = lines.split_at(lines.len() - stay);
    let is_changed = |line: &&HunkLine| line.mark != LineMark::Context;
    let changed = above.iter().rev().take_while(is_changed).count();
    let (above, changed) = above.split_at(above.len() - changed);
    let gone = changed.iter().filter(is(LineMark::Remove));
    let both: Vec<&HunkLine> = gone.clone().chain(end).collect();
    let stands = |window: &[&HunkLine]| window.iter().zip(end).all(|(one, other)| one.text == other.text);
    // The lines that stay are searched for among the removed lines and themselves, topmost occurrence first.
    let first = match stay {
        1..=TAIL => both.windows(stay).position(stands),
        _ => None,
    };
    let Some(first) = first.filter(|first| *first < gone.count()) else {
        return Cow::Borrowed(lines);
    };
    let come = changed.iter().filter(is(LineMark::Add)).cloned();
    let marked = both.iter().enumerate().map(|(at, line)| HunkLine {
        mark: if (first..first + stay).contains(&at) {
            LineMark::Context
        } else {
            LineMark::Remove
        },
        ..(*line).clone()
    });
    Cow::Owned(above.iter().cloned().chain(come).chain(marked).collect())
}

/// Counts how many more lines are removed than added before the first line that stays.
fn count_unreplaced<'l>(lines: impl Iterator<Item = &'l HunkLine>) -> usize {
    let changed = lines.take_while(|line| line.mark != LineMark::Context || !has_text(&line.text));
    let said: Vec<&HunkLine> = changed.filter(|line| has_text(&line.text)).collect();
    let count = |mark: LineMark| said.iter().filter(|line| line.mark == mark).count();
    count(LineMark::Remove).saturating_sub(count(LineMark::Add))
}
