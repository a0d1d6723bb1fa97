//! Plans all parts of an answer together: one new state for each path, or the reasons for refusal.
//!
//! Owns: parts that edit the same file, and the content that the tool saw. Never: lands some files and not others
//! without a request.

pub(crate) mod content;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::context::LandingContext;
use crate::file_change::PathStates;
use crate::parse::{EditBody, FileEdit, HeaderName, HunkLine, without_prefix};
use crate::refusal::{about_path, ambiguous, malformed};
use crate::resolve::{PathAction, ResolvedPart, StopReason, resolve_part};
use crate::text::{shown_name, trim_end};
use crate::{
    BaseError, Dialect, EntryKind, FileMode, FileReport, FileState, Refusal, RefusalCode, RepoPath, limits,
    whole,
};

/// Outcome of planning all parts.
pub(crate) struct PlanOutcome {
    /// Reports, file by file.
    pub reports: Vec<FileReport>,
    /// New states. `None` unless everything has its place, or enough of it for a requested partial landing.
    pub states: Option<PathStates>,
}

impl PlanOutcome {
    /// Returns the refusals of files.
    pub(crate) fn refusals(&self) -> impl Iterator<Item = &Refusal> {
        self.reports.iter().filter_map(|report| report.refusal.as_ref())
    }
}

/// Parts of the answer that edit one path.
struct PathParts<'e> {
    parts: Vec<(&'e FileEdit, ResolvedPart)>,
    /// Index of its report.
    report: usize,
}

impl LandingContext<'_> {
    /// Plans all parts, or reports for each file why it is refused.
    ///
    /// # Errors
    /// Fails if the base cannot be read.
    pub(crate) fn plan_parts(self, files: &[FileEdit]) -> Result<PlanOutcome, BaseError> {
        let mut reports = Vec::new();
        let mut groups: BTreeMap<String, PathParts<'_>> = BTreeMap::new();
        let mut bodies = HeaderCheck::default();
        // A byte of an answer can unpack to a thousand bytes, so all of it together is limited.
        let mut binary_bytes = limits::BINARY_BYTES;
        for edit in files {
            let resolved = resolve_part(edit, self.base, binary_bytes);
            match resolved.and_then(|resolved| bodies.check_header(edit, resolved)) {
                Ok(resolved) => {
                    if let Some(content) = &resolved.content {
                        let before = resolved.base.as_ref().map_or(0, |base| base.content.len());
                        let bytes = content.len().saturating_add(before);
                        binary_bytes = binary_bytes.saturating_sub(bytes);
                    }
                    let path = resolved.path.as_str().to_owned();
                    let (parts, report) = (Vec::new(), reports.len());
                    let group = groups.entry(path.clone()).or_insert(PathParts { parts, report });
                    // The first part of a path opens its report; later ones add to it.
                    if group.report == report {
                        reports.push(file_report(path, edit));
                    }
                    if let Some(report) = reports.get_mut(group.report) {
                        report
                            .repairs
                            .extend(edit.repairs.iter().chain(&resolved.repairs).cloned());
                    }
                    group.parts.push((edit, resolved));
                }
                Err(StopReason::Refused(refusal)) => {
                    let path = refusal.path.clone().unwrap_or_default();
                    let mut report = file_report(path, edit);
                    report.refusal = Some(refusal);
                    reports.push(report);
                }
                Err(StopReason::Base(error)) => return Err(error),
            }
        }
        let mut states = Vec::new();
        for group in groups.values() {
            let Some(report) = reports.get_mut(group.report) else {
                continue;
            };
            match self.plan_path(group, report) {
                Ok(new) => states.extend(new),
                Err(StopReason::Refused(refusal)) => {
                    report.refusal = Some(refusal);
                }
                Err(StopReason::Base(error)) => return Err(error),
            }
        }
        let partial = reports.iter().any(FileReport::has_refusal);
        let enough =
            !partial || (self.options.partial && !states.is_empty() && reports.iter().all(may_be_left_out));
        let states = enough.then_some(states);
        Ok(PlanOutcome { reports, states })
    }

    /// Plans one path. Returns its states: two for a move, else one.
    fn plan_path(self, group: &PathParts<'_>, report: &mut FileReport) -> Result<PathStates, StopReason> {
        let parts = distinct_parts(group)?;
        let Some((first, resolved)) = parts.first().copied() else {
            return Ok(Vec::new());
        };
        let path = resolved.path.clone();
        let mode = parts.iter().find_map(|(_, resolved)| resolved.mode);
        if let Some(content) = &resolved.content {
            report.hunks.push(content::whole_report());
            return Ok(states_of(resolved, mode, Arc::clone(content)));
        }
        let file = |old| content::FileParts {
            parts: &parts,
            old,
            context: self,
        };
        let content = match (&resolved.action, &resolved.base) {
            (PathAction::Create, _) | (_, None) => {
                if let EditBody::Whole(lines) = &first.body {
                    whole::check_name(first, &path)?;
                    whole::check_new_file(lines)?;
                    self.not_meant_below(&path, lines)?;
                }
                let content = content::new_content(first, report)?;
                report.hunks.push(content::whole_report());
                Arc::from(content)
            }
            (PathAction::Delete, Some(old)) => {
                file(old).check_deletion(report)?;
                Arc::default()
            }
            (PathAction::Modify | PathAction::Move { .. }, Some(old)) => {
                let new = file(old).modified_content(report);
                if resolved.action == PathAction::Modify && mode.is_none_or(|mode| mode == old.mode) {
                    new?
                } else {
                    check_rest(new, &path)?
                }
            }
        };
        Ok(states_of(resolved, mode, content))
    }

    /// Refuses a new whole file if an existing file further down has the same name and most of its lines: the path was
    /// probably shortened.
    fn not_meant_below(self, path: &RepoPath, lines: &[HunkLine]) -> Result<(), StopReason> {
        /// With this many files of one name, as `mod.rs`, the name alone does not point to one of them.
        const FEW: usize = 4;
        let below = self.base.paths_ending_with(path.as_str(), FEW)?;
        for other in below.iter().filter(|_| below.len() < FEW) {
            let entry = self.base.entry(other)?;
            let Some(entry) = entry.filter(|entry| matches!(entry.kind, EntryKind::File(_))) else {
                continue;
            };
            let content = self.base.read(&entry.id)?;
            // The other file may be any file of the repository, so its size is limited before it is compared.
            if content.len() <= limits::FILE_BYTES && whole::resembles_file(&content, lines) {
                let what = format!("does not exist, and most of its lines are in `{other}`");
                return Err(about_path(RefusalCode::Ambiguous, path, &what)
                    .hint("write the path from the top of the repository; give a new file as a diff that adds it")
                    .into());
            }
        }
        Ok(())
    }
}

/// Distinguishes a header from a body line that looks like one: removing the line `-- a/x` from a file is written
/// `--- a/x`.
#[derive(Default)]
struct HeaderCheck {
    /// Path and content of the part before. `None` before the first part and after a new file.
    before: Option<(RepoPath, Arc<[u8]>)>,
    /// For each such path, its lines that look like a header when they are removed.
    names: HashMap<String, HashSet<Vec<u8>>>,
}

impl HeaderCheck {
    /// Refuses a part whose header may be two lines of the part before.
    fn check_header(&mut self, edit: &FileEdit, resolved: ResolvedPart) -> Result<ResolvedPart, StopReason> {
        let next = resolved.base.as_ref();
        let next = next.map(|base| (resolved.path.clone(), Arc::clone(&base.content)));
        let before = std::mem::replace(&mut self.before, next);
        // A `diff --git` line cannot be a removed line, since those begin with a mark.
        let bare = edit.dialect == Dialect::UnifiedDiff && edit.extended.git_line.is_none();
        let (Some((path, content)), HeaderName::Written(name), true) = (before, &edit.old, bare) else {
            return Ok(resolved);
        };
        // Read once for each file, however many parts follow it; else a long answer about one file takes quadratic
        // time.
        let names = self.names.entry(path.as_str().to_owned()).or_insert_with(|| {
            let lines = content.split(|byte| *byte == b'\n');
            let names = lines.filter_map(|line| trim_end(line).strip_prefix(b"-- "));
            names.map(<[u8]>::to_vec).collect()
        });
        if names.contains(name) {
            let message = format!("a header below the hunks of `{path}` could also be lines of that file");
            let refusal = ambiguous(message).at(path.as_str());
            return Err(refusal.hint("put a `diff --git` line before each file").into());
        }
        Ok(resolved)
    }
}

/// Returns true if a partial landing may leave this file out. An edit without a place may be left out; a dangerous or
/// contradictory one makes the whole answer doubtful.
fn may_be_left_out(report: &FileReport) -> bool {
    report.refusal.as_ref().is_none_or(|refusal| {
        let code = refusal.code;
        code.has_no_place() || code == RefusalCode::Ambiguous || code == RefusalCode::Stale
    })
}

fn file_report(path: String, edit: &FileEdit) -> FileReport {
    FileReport {
        written_as: written_as(&path, edit),
        path,
        dialect: edit.dialect,
        ..FileReport::default()
    }
}

/// Returns the name as written. Returns `None` if it differs from the path by no more than git's prefix.
fn written_as(path: &str, edit: &FileEdit) -> Option<String> {
    let written = edit.new.written().or(edit.old.written())?;
    let same = written == path.as_bytes() || without_prefix(written) == Some(path.as_bytes());
    (!same).then(|| shown_name(written))
}

/// Returns the states of a path with this new content. The new mode is the stated one, or else that of the base.
fn states_of(resolved: &ResolvedPart, mode: Option<FileMode>, content: Arc<[u8]>) -> PathStates {
    let old = resolved.base.clone();
    let before = old.as_ref().map(|old| old.mode);
    let mode = mode.or(before).unwrap_or(FileMode::Regular);
    let new = Some(FileState { mode, content });
    let path = resolved.path.clone();
    match &resolved.action {
        PathAction::Create | PathAction::Modify => vec![(path, old, new)],
        PathAction::Delete => vec![(path, old, None)],
        PathAction::Move { copy: true, .. } => vec![(path, None, new)],
        PathAction::Move { from, copy: false } => vec![(path, None, new), (from.clone(), old, None)],
    }
}

/// Refuses an edit whose lines were applied before, and whose mode or name was not: it is neither done nor open.
fn check_rest(new: Result<Arc<[u8]>, StopReason>, path: &RepoPath) -> Result<Arc<[u8]>, StopReason> {
    match new {
        Err(StopReason::Refused(refusal)) if refusal.code == RefusalCode::Empty => {
            let what = "has the lines of this change already, but not its mode or name";
            Err(about_path(RefusalCode::DoesNotApply, path, what).into())
        }
        new => new,
    }
}

/// Returns each distinct part once. Parts that contradict each other are refused.
fn distinct_parts<'g, 'e>(
    group: &'g PathParts<'e>,
) -> Result<Vec<(&'e FileEdit, &'g ResolvedPart)>, StopReason> {
    let mut seen = HashSet::new();
    let parts = group.parts.iter().map(|(edit, resolved)| (*edit, resolved));
    let parts = parts.filter(|(edit, _)| seen.insert((&edit.body, &edit.extended)));
    let parts: Vec<(&'e FileEdit, &'g ResolvedPart)> = parts.collect();
    // Hunks of several parts add up. A creation, deletion, move or whole file next to another part of its path
    // contradicts it.
    let all_modify = parts.iter().all(|(edit, resolved)| {
        resolved.action == PathAction::Modify
            && resolved.content.is_none()
            && matches!(edit.body, EditBody::Hunks(_))
    });
    if parts.len() > 1 && !all_modify {
        let path = parts.first().map_or("", |(_, resolved)| resolved.path.as_str());
        let message = format!("two parts of the answer contradict each other about `{path}`");
        return Err(malformed(message).at(path).into());
    }
    Ok(parts)
}
