//! Decides whether a hunk was applied before: whether the file has its whole post-image.
//!
//! Owns: the rule, for the hunks of every dialect. Never: takes lines for the result because nothing contradicts them.
//!
//! # The problem
//!
//! "The file has this change already" ends the work: nobody looks again. It must not be said of a file that lacks the
//! change. The lines that a hunk leaves are weak evidence of it. A hunk that removes `bar(1);` below `foo();` leaves
//! `foo();`, and a file with `foo();` and `bar(2);` has that line as well; there the hunk was not applied, and another
//! line stands where the removed one stood.
//!
//! # The rule
//!
//! The post-image of a hunk is its context and added lines, in one run, with what its edges state. The hunk was
//! applied if all of these hold:
//!
//! 1. The run is in the file. Context may differ as far as a rung of the ladder allows; an added line is equal, except
//!    for its line end and the one indentation shift.
//! 2. Both edges hold:
//!
//!    | edge of the hunk | what must be there |
//!    |---|---|
//!    | context that occurs nowhere else among the changed lines | that context ([`Edge::Shown`]) |
//!    | added lines, at least as many as the lines they replace | those lines, and outside no removed line ([`Edge::Open`]) |
//!    | removed lines, or fewer added ones | the beginning or end of the file: what stood next to them is unknown ([`Edge::OfFile`]) |
//!    | no context, and the header states line 1, or ends below leading context as git's last hunk | the beginning or end of the file |
//!    | `*** End of File`, `\ No newline at end of file` | the end of the file, with that final newline |
//!
//! 3. There is one such place, or one at the stated new line.
//! 4. A hunk that only removes lines is at its stated new line, or the run reaches a border of the file that the hunk
//!    names, or it is the whole file. Else its lines may have stood at another place. A hunk that inserts blank lines
//!    alone is at its stated new line.
//! 5. An insertion with context at one side only ends at a border of the file that it names. Else the lines may have
//!    stood there before, as a bracket below a bracket.
//! 6. The hunk has as many lines as its header counts. Half of a hunk may stand in a file that never had the change.
//! 7. No two hunks of a file claim the same lines ([`contested`]).
//! 8. The `index` line does not name the file as the old one: what was made for this content is not in it.
//!
//! Where the bytes of the result are known, they decide instead: `merge` compares with the content that the tool saw,
//! and `plan` with the blob id of the `index` line.

use std::collections::HashSet;

use crate::Refusal;
use crate::locate::{HunkPlace, MatchLevel, SoughtHunk, TargetFile};
use crate::parse::{Hunk, HunkLine, LineMark, StatedLines};
use crate::splice::AddedText;
use crate::text::{FileLines, LineEnding, TextLine, trim};

/// Outcome of the search for the result of a hunk.
pub(crate) enum AppliedState {
    /// The lines of the result are not in the file, or at several places.
    Absent,
    /// The whole post-image begins at this line; 0 is the first of the file.
    Proven(usize),
    /// The lines begin at this line, but nothing shows that the hunk put them there.
    Unproven(usize),
}

/// Condition at one edge of a post-image.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Edge<'h> {
    /// Context states what is there.
    Shown,
    /// Added lines stand there. These lines were removed and must not stand outside.
    Open(HashSet<&'h [u8]>),
    /// The edge is the beginning or the end of the file.
    OfFile,
}

/// Lines that a hunk leaves, and the conditions at their edges.
struct PostImage<'h> {
    one: &'h SoughtHunk<'h>,
    new: Vec<&'h HunkLine>,
    top: Edge<'h>,
    bottom: Edge<'h>,
    /// True if the last line has no newline. `None` if the hunk does not state it.
    bare: Option<bool>,
    /// Stated first new line; 0 is the first of the file. `None` if the hunk states none.
    stated: Option<usize>,
}

impl<'h> PostImage<'h> {
    fn of(one: &'h SoughtHunk<'h>) -> Self {
        let hunk = one.hunk;
        let new: Vec<&HunkLine> = hunk.new_lines().collect();
        let numbered = hunk.stated.old_start.is_some();
        let first = hunk.stated.new_start.or(hunk.stated.old_start);
        // git anchors a hunk without leading context at line 1, and one without trailing context at the end. A hunk
        // without any context may come from `git diff -U0`, where the second rule does not hold.
        let at_top = one.lead == 0 && numbered && first.is_some_and(|line| line <= 1);
        let at_bottom = one.at_end || (one.trail == 0 && numbered && one.lead > 0);
        let old: Vec<&[u8]> = one.old.iter().map(|line| line.text.as_ref()).collect();
        let up: Vec<&[u8]> = old.iter().rev().copied().collect();
        let bare = hunk.lines.iter().any(|line| line.no_newline);
        let bare = bare.then(|| new.last().is_some_and(|line| line.no_newline));
        Self {
            one,
            top: edge_at(&old, hunk.lines.iter(), (one.lead, one.trail), at_top),
            bottom: edge_at(&up, hunk.lines.iter().rev(), (one.trail, one.lead), at_bottom),
            bare,
            stated: hunk.stated.new_line(),
            new,
        }
    }

    /// Returns true if the hunk does more than to insert blank lines, which are next to anything.
    fn says_more(&self) -> bool {
        let adds = |line: &&HunkLine| line.mark == LineMark::Add && !trim(&line.text).is_empty();
        self.new.iter().any(adds) || self.one.hunk.has(LineMark::Remove)
    }

    /// Returns true if both edges hold for the post-image at this line.
    fn edges_hold(&self, lines: FileLines<'_>, start: usize) -> bool {
        let end = start + self.new.len();
        let above = start.checked_sub(1).and_then(|at| lines.line(at));
        let below = lines.line(end);
        let holds = |edge: &Edge<'_>, outside: Option<&TextLine<'_>>| match (edge, outside) {
            (Edge::Shown, _) | (Edge::Open(_) | Edge::OfFile, None) => true,
            (Edge::Open(removed), Some(line)) => !removed.contains(line.text),
            (Edge::OfFile, Some(_)) => false,
        };
        let newline = self.bare.is_none_or(|bare| {
            let last = lines.iter().next_back();
            below.is_none() && last.is_some_and(|line| (line.eol == LineEnding::Missing) == bare)
        });
        // A hunk that states a later line does not begin at the top, whatever was removed above it since.
        let later = self.top == Edge::OfFile && self.stated.is_some_and(|line| line > 0);
        holds(&self.top, above.as_ref()) && holds(&self.bottom, below.as_ref()) && newline && !later
    }

    /// Returns true if the added lines are in the file as a landing at this place writes them.
    fn has_added(&self, lines: FileLines<'_>, place: &HunkPlace) -> bool {
        let here = lines.clamped(place.start..place.start + self.new.len());
        let is_added = |line: &&HunkLine| line.mark == LineMark::Add;
        let added: Vec<&HunkLine> = self.new.iter().copied().filter(is_added).collect();
        let rule = AddedText::derive(lines, place, &self.new, &added);
        self.new.iter().zip(here.iter()).all(|(line, here)| {
            line.mark != LineMark::Add || rule.text_of(&line.text).is_ok_and(|text| *text == *here.text)
        })
    }

    /// Returns true if the removed lines of the hunk can only have stood at the place that was found: it adds lines, which
    /// are there, or reaches a border that it names, or its lines are the whole file.
    fn is_pinned(&self, target: &TargetFile<'_>, start: usize) -> bool {
        let adds = self.new.iter().any(|line| line.mark == LineMark::Add);
        let whole = start == 0 && self.new.len() == target.lines().len();
        adds || self.top == Edge::OfFile || self.bottom == Edge::OfFile || whole
    }

    /// Returns true if the hunk lost lines: its header counts more on both sides. What is left of it may stand in a file
    /// that never had the change.
    fn lost_lines(&self) -> bool {
        let stated = self.one.hunk.stated;
        let more = |stated: Option<u64>, have: usize| stated.is_some_and(|stated| stated > have as u64);
        more(stated.old_count, self.one.old.len()) && more(stated.new_count, self.new.len())
    }

    /// Returns the first line of the result of an insertion next to its context, which still matches after the insertion
    /// was applied. Returns `None` if it is not there.
    fn find_inserted(&self, lines: FileLines<'_>, place: &HunkPlace) -> Option<usize> {
        let end = place.start + self.one.old.len();
        let below = (self.one.trail == 0).then_some(place.start);
        let above = end.checked_sub(self.new.len()).filter(|_| self.one.lead == 0);
        [below, above]
            .into_iter()
            .flatten()
            .find(|start| count_same(lines, *start, &self.new) == self.new.len())
    }

    /// Returns the first line of a result that keeps the removed lines inside and is around their place, as when a line
    /// was wrapped in a block before. Returns `None` if it is not there.
    fn find_wrapped(&self, target: &TargetFile<'_>, place: &HunkPlace) -> Result<Option<usize>, Refusal> {
        // A hunk that fits its stated line is believed. The exception takes lines out and puts them in again without any
        // context: git writes no such hunk, so its stated line proves nothing.
        let added = self.new.iter().filter(|line| line.mark == LineMark::Add);
        let added: HashSet<&[u8]> = added.map(|line| line.text.as_ref()).collect();
        let mut old = self.one.old.iter();
        let again = old.any(|line| line.mark == LineMark::Remove && added.contains(line.text.as_slice()));
        let bare = self.one.lead == 0 && self.one.trail == 0;
        let as_stated =
            place.level == MatchLevel::Exact && self.one.stated == Some(place.start) && !(again && bare);
        let says = self.new.iter().any(|line| trim(&line.text).len() > 1);
        // A result that is shorter than the old lines cannot contain them and more.
        let grows = self.new.len() > self.one.old.len()
            || (self.new.len() == self.one.old.len() && place.level != MatchLevel::Exact);
        if as_stated || !says || !grows {
            return Ok(None);
        }
        let first = (place.start + self.one.old.len()).saturating_sub(self.new.len());
        for start in first..=place.start {
            let same = count_same(target.lines(), start, &self.new);
            target.budget.spend(same + 1)?;
            if same == self.new.len() {
                return Ok(Some(start));
            }
        }
        Ok(None)
    }
}

/// Maximum number of context lines that are compared. Fewer lines than there are make the rule stricter, and many
/// would make the comparison quadratic.
const COMPARED: usize = 16;

/// Returns the condition at one edge of the post-image. `old` and `lines` begin at that edge, `context` and `other` are
/// the numbers of context lines there and at the other edge, and `of_file` is true if the hunk states that the file
/// begins or ends there.
fn edge_at<'h>(
    old: &[&[u8]],
    lines: impl Iterator<Item = &'h HunkLine>,
    (context, other): (usize, usize),
    of_file: bool,
) -> Edge<'h> {
    let from = context.saturating_sub(COMPARED);
    let through = old.get(from..old.len() - other.min(old.len()));
    let inner = through.and_then(<[_]>::split_first).map(|(_, inner)| inner);
    let again = old.get(from..context).zip(inner).is_some_and(|(part, inner)| {
        !part.is_empty() && inner.windows(part.len()).any(|window| window == part)
    });
    if of_file || again {
        return Edge::OfFile;
    }
    if context > 0 {
        return Edge::Shown;
    }
    let changed = lines.take_while(|line| line.mark != LineMark::Context);
    let (gone, come): (Vec<_>, Vec<_>) = changed.partition(|line| line.mark == LineMark::Remove);
    if come.len() < gone.len() {
        return Edge::OfFile;
    }
    Edge::Open(gone.into_iter().map(|line| line.text.as_ref()).collect())
}

/// Searches for the result of a hunk whose old lines have no place.
pub(crate) fn find_applied(
    target: &mut TargetFile<'_>,
    one: &SoughtHunk<'_>,
) -> Result<AppliedState, Refusal> {
    let image = PostImage::of(one);
    // Single brackets and empty lines are everywhere, so finding them proves nothing.
    if image.new.iter().all(|line| trim(&line.text).len() < 2) {
        return Ok(AppliedState::Absent);
    }
    let as_context = |line: &&HunkLine| HunkLine {
        mark: LineMark::Context,
        ..(*line).clone()
    };
    let result = Hunk {
        lines: image.new.iter().map(as_context).collect(),
        anchors: one.hunk.anchors.clone(),
        section: one.hunk.section.clone(),
        stated: StatedLines {
            old_start: one.hunk.stated.new_start,
            ..StatedLines::default()
        },
        at_end: one.at_end,
        ..Hunk::default()
    };
    target.budget.spend(result.lines.len().saturating_mul(COMPARED))?;
    let mut places = target.find_candidates(&SoughtHunk::new(&result))?;
    target
        .budget
        .spend(places.len().saturating_mul(image.new.len()))?;
    places.retain(|place| image.has_added(target.lines(), place));
    let standing: Vec<usize> = places.iter().map(|place| place.start).collect();
    let adds = image.new.iter().any(|line| line.mark == LineMark::Add);
    places.retain(|place| image.edges_hold(target.lines(), place.start));
    let stated = places
        .iter()
        .find(|place| Some(place.start) == image.stated && place.level == MatchLevel::Exact);
    // Context alone is no result: where it is twice, a border of the file next to one of them is chance.
    let chosen = match (stated, places.as_slice(), standing.as_slice()) {
        (Some(place), _, _) => place.start,
        (None, [only], [_]) => only.start,
        (None, [only], _) if adds => only.start,
        (None, _, []) => return Ok(AppliedState::Absent),
        (None, _, [first, ..]) => return Ok(AppliedState::Unproven(*first)),
    };
    let proven = !target.is_stated_base
        && !image.lost_lines()
        && (stated.is_some() || (image.says_more() && image.is_pinned(target, chosen)));
    Ok(match proven {
        true => AppliedState::Proven(chosen),
        false => AppliedState::Unproven(chosen),
    })
}

/// Judges a hunk whose old lines have this place: its result may be around them, so that to land it would apply it
/// twice.
pub(crate) fn judge_placed(
    target: &TargetFile<'_>,
    one: &SoughtHunk<'_>,
    place: &HunkPlace,
) -> Result<AppliedState, Refusal> {
    let lines = target.lines();
    let image = PostImage::of(one);
    let removes = one.hunk.has(LineMark::Remove);
    if one.old.is_empty() || !(one.hunk.has(LineMark::Add) || removes) {
        return Ok(AppliedState::Absent);
    }
    target.budget.spend(one.old.len().saturating_mul(COMPARED))?;
    let start = if removes {
        image.find_wrapped(target, place)?
    } else {
        image.find_inserted(lines, place)
    };
    // Context at one side still matches after the insertion, and before it the same lines may have stood there: a
    // bracket below a bracket. Only a border of the file, where nothing else can be, distinguishes the two.
    let bounded = removes || image.top == Edge::OfFile || image.bottom == Edge::OfFile;
    let says = image.says_more() && bounded && !target.is_stated_base;
    Ok(match start {
        None => AppliedState::Absent,
        Some(start) if says && image.edges_hold(lines, start) => AppliedState::Proven(start),
        Some(start) => AppliedState::Unproven(start),
    })
}

/// Counts how many lines of the file from `start` on are equal to `new`, one after the other.
fn count_same(lines: FileLines<'_>, start: usize, new: &[&HunkLine]) -> usize {
    let pairs = lines.below(start).iter().zip(new);
    pairs.take_while(|(line, new)| line.text == new.text).count()
}

/// Returns true if every hunk's new lines are at its stated new line. Together with a blob id that names the file as
/// the result, this proves the change, whatever repeats in the file.
pub(crate) fn stands_as_stated(lines: FileLines<'_>, hunks: &[&Hunk]) -> bool {
    hunks.iter().all(|hunk| {
        let new: Vec<&HunkLine> = hunk.new_lines().collect();
        let stands = |start| count_same(lines, start, &new) == new.len();
        (new.is_empty() && hunk.stated.new_start.is_some()) || hunk.stated.new_line().is_some_and(stands)
    })
}

/// Returns the numbers of the hunks that claim the same lines of the file as another one. `proven` has the number and
/// the place of each hunk whose result was found.
pub(crate) fn contested(sought: &[SoughtHunk<'_>], proven: &[(usize, usize)]) -> HashSet<usize> {
    let mut cores: Vec<(usize, usize, usize)> = proven
        .iter()
        .filter_map(|(at, start)| {
            let one = sought.get(*at)?;
            let new = one.hunk.new_lines().count();
            Some((start + one.lead, start + new.saturating_sub(one.trail), *at))
        })
        .collect();
    cores.sort_unstable();
    let mut out = HashSet::new();
    let mut reach: Option<(usize, usize, usize)> = None;
    for core in cores {
        if let Some(above) = reach
            && (core.0 < above.1 || (core.0, core.1) == (above.0, above.1))
        {
            out.extend([above.2, core.2]);
        }
        if reach.is_none_or(|above| core.1 >= above.1) {
            reach = Some(core);
        }
    }
    out
}
