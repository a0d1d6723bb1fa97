//! New content of a file from its part of the answer: created, deleted, edited by hunks, or given as a whole.
//!
//! Owns: the combined result of the hunks of one file. Never: lands a file in which one hunk has no place without a
//! request.

mod edges;
mod elision;
mod encoding;
mod named;
mod notebook;
mod repeated;
mod view;

use std::collections::HashSet;
use std::sync::Arc;

use crate::canonical::has_id;
use crate::context::LandingContext;
use crate::locate::TargetFile;
use crate::parse::{EditBody, FileEdit, Hunk, HunkLine};
use crate::placement::{self, content_of};
use crate::refusal::{about_path, ambiguous, malformed};
use crate::resolve::{ResolvedPart, StopReason};
use crate::splice::LineSplice;
use crate::text::{FileLines, common_tail, is_page, line_starts, trim_end};
use crate::{
    Dialect, FileReport, FileState, HunkReport, HunkStatus, LandOptions, Refusal, RefusalCode, applied,
    limits, merge, whole,
};

use named::{names_base, names_result};
use repeated::{distinct_hunks, duplicate_repair, hunk_texts, place_repeated};
use view::FileView;

/// Returns the content of a new file. Its hunks follow each other; a hunk that is repeated counts once.
pub(super) fn new_content(edit: &FileEdit, report: &mut FileReport) -> Result<Vec<u8>, StopReason> {
    let hunks = match &edit.body {
        EditBody::Whole(lines) => return Ok(without_tail(lines.iter().collect(), None, report)),
        EditBody::Hunks(hunks) => hunks,
    };
    // The stated line is part of the key: a new file may contain the same lines twice.
    let mut seen = HashSet::new();
    let kept: Vec<&Hunk> = hunks
        .iter()
        .filter(|hunk| seen.insert((hunk.stated.new_start, hunk_texts(hunk))))
        .collect();
    if kept.len() < hunks.len() {
        report.repairs.push(duplicate_repair());
    }
    let mut next = 1;
    for hunk in &kept {
        // Lines of the new file are missing between two hunks that do not follow each other, or a hunk is in the
        // wrong order.
        if kept.len() > 1 && hunk.stated.new_start.is_some_and(|start| start != next) {
            let path = &report.path;
            let message = format!("the hunks of the new file `{path}` do not follow each other");
            return Err(malformed(message).at(path).into());
        }
        next += hunk.lines.len() as u64;
    }
    Ok(without_tail(
        kept.into_iter().flat_map(|hunk| &hunk.lines).collect(),
        edit.extended.index.as_ref().map(|(_, new)| new.as_str()),
        report,
    ))
}

/// Returns the content of these lines without the blanks that all of them end with. The blanks stay if the blob id in
/// the header includes them, or if they are the line breaks of a Markdown page; an empty line that ends with blanks,
/// too, shows that they are not.
fn without_tail(lines: Vec<&HunkLine>, named: Option<&str>, report: &mut FileReport) -> Vec<u8> {
    let tail = common_tail(lines.iter().map(|line| line.text.as_ref()));
    let as_it_stands = content_of(lines.iter().copied());
    let is_empty = |line: &&HunkLine| trim_end(&line.text).is_empty();
    let break_lines = is_page(report.path.as_bytes()) && !lines.iter().any(is_empty);
    if tail == 0 || break_lines || named.is_some_and(|id| has_id(&as_it_stands, id)) {
        return as_it_stands;
    }
    report.repairs.push(whole::tail_repair());
    let mut cut: Vec<HunkLine> = lines.into_iter().cloned().collect();
    for line in &mut cut {
        line.text.truncate(line.text.len() - tail);
    }
    content_of(cut.iter())
}

pub(super) fn whole_report() -> HunkReport {
    HunkReport {
        status: HunkStatus::Landed,
        rung: Some(crate::Rung::WholeFile),
        ..placement::unplaced_report(0, &Hunk::default())
    }
}

/// Parts of an answer about one file of the base, and its state there.
#[derive(Clone, Copy)]
pub(crate) struct FileParts<'p> {
    pub parts: &'p [(&'p FileEdit, &'p ResolvedPart)],
    pub old: &'p FileState,
    pub context: LandingContext<'p>,
}

impl FileParts<'_> {
    /// Checks a deletion. If it shows lines, it must show all of them. Of a binary file it shows none, and its `index` line must
    /// name the blob of the base.
    pub(super) fn check_deletion(self, report: &mut FileReport) -> Result<(), StopReason> {
        let Some((edit, resolved)) = self.parts.first() else {
            return Ok(());
        };
        let hunks: Vec<&Hunk> = edit.hunks().iter().collect();
        // `deleted file mode` alone does not state what goes: git refuses it, too.
        let is_binary = edit.extended.binary.is_some() && names_base(edit, resolved);
        let known = edit.delete || self.old.content.is_empty() || is_binary;
        if hunks.is_empty() && known {
            return Ok(());
        }
        let mut target = TargetFile::new(&self.old.content, self.context.budget);
        let settled = placement::place_hunks(&mut target, &hunks)?;
        report.hunks = settled.reports;
        let all_go = settled.splices.is_ok_and(|splices| {
            let gone: usize = splices.iter().map(|splice| splice.end - splice.start).sum();
            gone == target.lines().len()
        });
        if all_go {
            return Ok(());
        }
        let what = "does not have the content that the answer deletes";
        Err(about_path(RefusalCode::DoesNotApply, &resolved.path, what).into())
    }

    /// Returns the new content of a file of the base.
    pub(super) fn modified_content(self, report: &mut FileReport) -> Result<Arc<[u8]>, StopReason> {
        let content = if let [(edit, _)] = self.parts
            && let EditBody::Whole(new) = &edit.body
        {
            refuse_unseen_whole(&report.path, self.context.options)?;
            let view = FileView::of_lines(&self.old.content, new.iter(), report)?;
            let file = (report.path.as_str(), view.text());
            let (content, repaired) = whole::changed_content(file, new, edit.claim)?;
            report.hunks.push(whole_report());
            report.repairs.extend(repaired);
            Arc::from(view.write_text(&report.path, content)?)
        } else {
            self.edited_content(report)?
        };
        self.check_emptied(&content)?;
        // Checked on the result: many small insertions can make a file larger than the answer.
        if content.len() > limits::FILE_BYTES {
            let message = "the file would become larger than the limit";
            return Err(Refusal::new(RefusalCode::TooLarge, message).into());
        }
        Ok(content)
    }

    /// Refuses a diff without git's header that leaves no line: it could mean an empty file or a deleted one.
    fn check_emptied(self, new: &[u8]) -> Result<(), StopReason> {
        let Some((edit, resolved)) = self.parts.first() else {
            return Ok(());
        };
        let plain = edit.dialect == Dialect::UnifiedDiff && edit.extended.git_line.is_none();
        if !plain || !new.is_empty() || self.old.content.is_empty() {
            return Ok(());
        }
        let what = "loses every line: the file could be meant to be deleted or empty";
        let refusal = about_path(RefusalCode::Ambiguous, &resolved.path, what);
        Err(refusal.hint("write `+++ /dev/null` to delete the file").into())
    }

    /// Returns the new content of a file that is edited by hunks.
    fn edited_content(self, report: &mut FileReport) -> Result<Arc<[u8]>, StopReason> {
        let all: Vec<&Hunk> = self.parts.iter().flat_map(|(edit, _)| edit.hunks()).collect();
        let hunks = distinct_hunks(&all);
        if hunks.is_empty() {
            return Ok(Arc::clone(&self.old.content));
        }
        if let Some(id) = hunks.iter().find_map(|hunk| hunk.cell.as_deref()) {
            return view::replace_cell(&self.old.content, id, &hunks, report);
        }
        view::place_in_views(&self.old.content, &hunks, report, |view, report| {
            self.context.budget.grant_bytes(self.old.content.len());
            let is_result = names_result(self.parts);
            if is_result
                && applied::stands_as_stated(FileLines::new(view.text(), &line_starts(view.text())), &hunks)
            {
                report.hunks = placement::unplaced_reports(hunks.iter().copied());
                return Err(merge::report_all_there(report).into());
            }
            // If the tool saw another state, its line numbers and context are those of that state. Placed on the base
            // directly, a hunk could fit a line that was moved or changed since.
            if let Some(seen) = merge::content_seen(self)? {
                if hunks.len() < all.len() {
                    report.repairs.push(duplicate_repair());
                }
                let lines = hunks.iter().flat_map(|hunk| &hunk.lines);
                let seen = view.text_of(&report.path, &seen, lines)?;
                let texts = (seen.as_ref(), view.text());
                let merged = merge::carry_over(texts, &hunks, is_result, self.context.budget, report)?;
                return Ok(Arc::from(view.write_text(&report.path, merged)?));
            }
            // The lines of the file and their index are gone before the content is copied.
            let content = self.place_on_base(view, (&all, &hunks), report)?;
            Ok(Arc::from(content))
        })
    }

    /// Places hunks on the base. Returns the new content, which the `index` line may prove or contradict.
    fn place_on_base(
        self,
        view: &FileView<'_>,
        (all, hunks): (&[&Hunk], &[&Hunk]),
        report: &mut FileReport,
    ) -> Result<Vec<u8>, StopReason> {
        let mut target = TargetFile::new(view.text(), self.context.budget);
        target.is_stated_base = self
            .parts
            .iter()
            .all(|(edit, resolved)| names_base(edit, resolved));
        let repairs = report.repairs.len();
        let placed = place_all(&mut target, (all, hunks), self.context.options.partial, report)
            .and_then(|splices| Ok(view.write_lines(&report.path, target.lines(), &splices)?));
        let Some(id) = named::result_id(self.parts).filter(|_| !self.context.options.partial) else {
            return placed;
        };
        match placed {
            Ok(content) if has_id(&content, id) => return Ok(content),
            Err(error @ StopReason::Base(_)) => return Err(error),
            Ok(_) | Err(StopReason::Refused(_)) => {}
        }
        // Also where every hunk fits: of equal lines below each other, one that is missing from a hunk leaves no other trace.
        let mut proven = report.clone();
        proven.repairs.truncate(repairs);
        if let Some(content) = named::find_result(&mut target, (hunks, id), view, &mut proven)? {
            *report = proven;
            return Ok(content);
        }
        let content = placed?;
        named::check_result(&target, hunks, report)?;
        Ok(content)
    }
}

/// Refuses the whole new text of a file of which the tool saw only parts: the lines that it did not see would be lost.
fn refuse_unseen_whole(path: &str, options: &LandOptions) -> Result<(), Refusal> {
    let mut seen = options.seen.iter();
    if seen.any(|seen| seen.path.as_str() == path && !seen.lines.is_empty()) {
        let message = format!("the answer gives `{path}` as a whole, but the tool saw only parts of it");
        let refusal = ambiguous(message).at(path);
        return Err(refusal.hint("give a diff or search/replace blocks for the lines that were shown"));
    }
    Ok(())
}

/// Places all hunks, by one retry after the other. Returns the splices of all, or of a part if that is requested.
fn place_all(
    target: &mut TargetFile<'_>,
    (all, hunks): (&[&Hunk], &[&Hunk]),
    partial: bool,
    report: &mut FileReport,
) -> Result<Vec<LineSplice>, StopReason> {
    let settled = placement::place_hunks(target, hunks)?;
    let settled = place_repeated(target, (all, hunks), settled, report)?;
    // Each retry reads the hunks in another way and is used only if they all land then: hunks with `...` in pieces,
    // and hunks without blank lines at their edges.
    let settled = elision::retry_in_pieces(target, hunks, settled, report)?;
    let settled = edges::retry_without_edges(target, hunks, settled, report)?;
    report.hunks = settled.reports;
    match settled.splices {
        Ok(splices) => Ok(splices),
        Err(part) if partial && !part.is_empty() => Ok(part),
        Err(_) => Err(file_refusal(report).into()),
    }
}

/// Returns the refusal of a file whose hunks do not all land: that of the first one, or `empty` if all were applied
/// before.
fn file_refusal(report: &FileReport) -> Refusal {
    let is_there = |hunk: &HunkReport| hunk.status == HunkStatus::AlreadyThere;
    if report.hunks.iter().all(is_there) {
        return merge::already_changed(&report.path);
    }
    let refused = |hunk: &&HunkReport| hunk.status == HunkStatus::Refused && hunk.refusal.is_some();
    let refused = report.hunks.iter().find(refused);
    let chosen = refused.or_else(|| report.hunks.iter().find(|hunk| is_there(hunk)));
    let Some((index, refusal)) = chosen.and_then(|hunk| Some((hunk.index, hunk.refusal.clone()?))) else {
        return about_path(RefusalCode::DoesNotApply, &report.path, "does not land");
    };
    let code = match refusal.code {
        // Some hunks were applied and others were not, so the answer was made for another state.
        RefusalCode::Empty => RefusalCode::DoesNotApply,
        other => other,
    };
    let (path, why) = (&report.path, refusal.message);
    Refusal {
        hint: refusal.hint,
        ..Refusal::new(code, format!("hunk {index} of `{path}` does not land: {why}")).at(path)
    }
}
