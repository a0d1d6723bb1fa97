//! Objections to a place that was found: evidence in the hunk that speaks for another one.
//!
//! Owns: which evidence counts against a place. Never: finds a place for a hunk that has none.
//!
//! | evidence | speaks against |
//! |---|---|
//! | the stated new line, less what the hunks above add | the stated old line, if the lines fit both |
//! | the heading behind `@@` | a place outside the section of that heading |
//! | the line that was taken for the end of the hunk | a place above an equal line of the file |
//! | counts that are too high by the same number, and the stated line | a place where added lines are at the edge |
//! | the stated line | a looser match elsewhere, if the lines fit the stated line except for blanks or look-alikes |
//! | a deeper copy of the lines, if no number confirms the place and the hunk begins at the margin | an exact match: the author may have left out the indentation of the copy |

use std::collections::HashMap;

use super::{
    FoundPlace, HunkPlace, IndentShift, MatchLevel, MissReason, PlaceMiss, SoughtHunk, TargetFile, indent,
};
use crate::Refusal;
use crate::parse::{HunkLine, LineMark};
use crate::text::{TextLine, leading_blanks, trim, trim_end};

impl TargetFile<'_> {
    /// Returns for each hunk at its stated old line the other place that its stated new line means, if the lines fit
    /// there, too. `None` if the two numbers agree.
    pub(super) fn places_by_new_lines(
        &self,
        sought: &[SoughtHunk<'_>],
        chosen: &[FoundPlace],
    ) -> Result<Vec<Option<usize>>, Refusal> {
        let mut placed: Vec<(usize, usize)> = chosen
            .iter()
            .enumerate()
            .filter_map(|(at, chosen)| Some((chosen.as_ref().ok()?.start, at)))
            .collect();
        placed.sort_unstable();
        let mut others = vec![None; sought.len()];
        // Number of lines that the hunks above, in the same part of the answer, add to the file.
        let mut longer: HashMap<usize, isize> = HashMap::new();
        for (start, at) in placed {
            let Some(one) = sought.get(at) else { continue };
            let grown = longer.entry(one.hunk.part.0).or_default();
            self.budget.spend(one.hunk.lines.len())?;
            let new = one.hunk.stated.new_line();
            let meant = new.and_then(|line| line.checked_add_signed(-*grown));
            let other = meant.filter(|meant| one.stated == Some(start) && *meant != start);
            if let (Some(slot), false) = (others.get_mut(at), one.old.is_empty()) {
                *slot = other.filter(|meant| self.fits_exactly(one, *meant));
            }
            let new = one.hunk.new_lines().count();
            // A new line number is one in the result, so each hunk above shifts it by what it adds.
            *grown += new as isize - one.old.len() as isize;
        }
        Ok(others)
    }

    /// Returns another place that fits a hunk, if the heading behind its `@@` contradicts the stated one. Returns `None`
    /// if there is no contradiction or no other place.
    pub(super) fn other_exact_place(
        &mut self,
        one: &SoughtHunk<'_>,
        start: usize,
    ) -> Result<Option<usize>, Refusal> {
        if !self.is_contradicted(one, start)? {
            return Ok(None);
        }
        let starts = self.find_runs(MatchLevel::Exact, &one.old)?;
        self.budget.spend(starts.len())?;
        Ok(starts.into_iter().find(|other| *other != start))
    }

    /// Returns the place, unless the hunk may continue below it, or its lines fit the stated place as well except for
    /// blanks or look-alikes.
    pub(super) fn accept_place(&self, one: &SoughtHunk<'_>, place: HunkPlace) -> FoundPlace {
        let below = self.lines().below(place.start + one.old.len());
        let more = &one.hunk.continuation;
        let same = |(line, more): (TextLine<'_>, &Vec<u8>)| trim_end(line.text) == trim_end(more);
        if !more.is_empty() && below.len() >= more.len() && below.iter().zip(more).all(same) {
            return Err(PlaceMiss::new(MissReason::MayGoOn, [place.start]));
        }
        if self.lost_context(one, place.start) {
            return Err(PlaceMiss::new(MissReason::LostContext, [place.start]));
        }
        // A single line that was found at another line and with another indentation than stated is too little evidence.
        let alone = one.old.len() == 1 && place.level >= MatchLevel::Indent;
        // Only looser rungs: an exact place elsewhere may be a copy of lines whose blanks or quotes were damaged in transport.
        let looser = |start: usize| {
            let mut levels = MatchLevel::ALL.into_iter().filter(|level| *level > place.level);
            levels.any(|level| self.place_at(one, start, level).is_some())
        };
        match one.stated {
            Some(stated) if stated != place.start && !one.old.is_empty() && (alone || looser(stated)) => {
                Err(PlaceMiss::new(MissReason::Several, [stated, place.start]))
            }
            Some(_) | None => Ok(place),
        }
    }

    /// Returns the places at which the file has the lines of a hunk deeper by one shift. Returns none if the hunk shows that
    /// it has the file's indentation: its number is that of its place, or all its lines are indented.
    ///
    /// Authors leave out the indentation that the lines of a block share. What is left can be the very text of another block
    /// of the file, as with comments of a type and of its methods, and nothing shows which block was meant.
    pub(super) fn deeper_copies(
        &mut self,
        one: &SoughtHunk<'_>,
        place: &HunkPlace,
    ) -> Result<Vec<usize>, Refusal> {
        let at_margin =
            |line: &HunkLine| !trim(&line.text).is_empty() && leading_blanks(&line.text).is_empty();
        if place.level >= MatchLevel::Indent
            || one.old.is_empty()
            || one.stated == Some(place.start)
            || !one.hunk.lines.iter().any(at_margin)
        {
            return Ok(Vec::new());
        }
        let starts = self.find_runs(MatchLevel::Indent, &one.old)?;
        self.budget.spend(starts.len().saturating_mul(one.old.len()))?;
        let mut copies = Vec::new();
        for start in starts.into_iter().filter(|start| *start != place.start) {
            let lines = self.lines().clamped(start..start + one.old.len());
            let shift = indent::find_shift(MatchLevel::Indent, one, lines);
            if matches!(shift, Some(IndentShift::Deeper(_))) && !self.is_contradicted(one, start)? {
                copies.push(start);
            }
        }
        Ok(copies)
    }

    /// Returns true if the hunk seems to have lost a context line, and nothing shows on which side of that line its added
    /// lines belong. The evidence is a header that counts more lines than there are, by the same number on both sides.
    ///
    /// | edge of the hunk | lines that are missing | outcome |
    /// |---|---|---|
    /// | removes a line | any number | lands: the removed line fixes the place |
    /// | only adds lines | 1 or 2 | refused: the lost line may be above or below the added ones |
    /// | only adds lines | 3 | lands: git writes three lines of context, and all of them were cut off |
    /// | only adds lines | more | lands: such counts are invented |
    /// | any, at the bottom | 1 to 3, and these are the last lines of the file | refused: git writes less context there, so the lost line may have been between the changed lines |
    fn lost_context(&self, one: &SoughtHunk<'_>, start: usize) -> bool {
        /// Number of context lines that git writes next to a change.
        const WIDTH: u64 = 3;
        let lines = &one.hunk.lines;
        let end = start + one.old.len();
        let below = self.lines().len().saturating_sub(end) as u64;
        if one.old.is_empty() || !one.hunk.marked {
            return false;
        }
        let added = |line: Option<&HunkLine>| line.is_some_and(|line| line.mark == LineMark::Add);
        let at_bottom = lines.last().is_some_and(|line| line.mark != LineMark::Context) && below > 0;
        let mut run = lines
            .iter()
            .rev()
            .take_while(|line| line.mark != LineMark::Context);
        let inserts_below = at_bottom && run.all(|line| line.mark == LineMark::Add);
        // Diffs write removed lines first: added ones above them, at the edge, were below another line.
        let inserts_above = start > 0 && added(lines.first());
        let new = one.hunk.new_lines().count() as u64;
        let counts = one.hunk.stated;
        let missing = |count: Option<u64>, have: u64| count.and_then(|count| count.checked_sub(have));
        match missing(counts.old_count, one.old.len() as u64) {
            Some(lost) if missing(counts.new_count, new) == Some(lost) => {
                let short = (1..WIDTH).contains(&lost) && (inserts_above || inserts_below);
                short || (at_bottom && (1..=WIDTH).contains(&lost) && lost == below)
            }
            Some(_) => false,
            None if counts.old_count.is_some() => false,
            None => {
                let mut run = lines.iter().take_while(|line| line.mark != LineMark::Context);
                inserts_above && run.any(|line| line.mark == LineMark::Remove)
            }
        }
    }
}
