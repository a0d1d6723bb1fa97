//! The text in which the edits of a file are placed: its bytes, its characters in UTF-8, or the cells of a notebook.
//!
//! Owns: which of them an edit is meant for. Never: changes a byte outside the placed lines.

use std::borrow::Cow;
use std::sync::Arc;

use serde::de::IgnoredAny;

use super::encoding::TextEncoding;
use super::notebook::NotebookText;
use crate::merge::stale_refusal;
use crate::parse::{Hunk, HunkLine, new_repair};
use crate::refusal::{about_path, ambiguous};
use crate::resolve::StopReason;
use crate::splice::{LineSplice, join_splices};
use crate::text::FileLines;
use crate::{FileReport, Refusal, RefusalCode};

/// Text in which the edits of a file are placed.
pub(super) enum FileView<'c> {
    /// The bytes of the file.
    Bytes(&'c [u8]),
    /// The characters of a file in another encoding, in UTF-8.
    Decoded(TextEncoding, Vec<u8>),
    /// The lines of the cells of a notebook.
    Cells(NotebookText<'c>),
}

impl<'c> FileView<'c> {
    /// Returns the view of a file for these lines of its edit.
    ///
    /// # Errors
    /// Fails if the lines need an encoding that is not known.
    pub(super) fn of_lines<'h>(
        content: &'c [u8],
        lines: impl Iterator<Item = &'h HunkLine>,
        report: &mut FileReport,
    ) -> Result<Self, Refusal> {
        Ok(match TextEncoding::recognise(&report.path, content, lines)? {
            Some((encoding, text)) => {
                let detail = format!("the file is in {}, and so is the result", encoding.name());
                report.repairs.push(new_repair("encoding", detail));
                Self::Decoded(encoding, text)
            }
            None => Self::Bytes(content),
        })
    }

    /// Returns the text.
    pub(super) fn text(&self) -> &[u8] {
        match self {
            Self::Bytes(content) => content,
            Self::Decoded(_, text) => text,
            Self::Cells(cells) => &cells.text,
        }
    }

    /// Returns the text of another state of the file.
    ///
    /// # Errors
    /// Fails with `stale` if nothing shows that this state is written as the file is.
    pub(super) fn text_of<'s, 'h>(
        &self,
        path: &str,
        state: &'s [u8],
        lines: impl Iterator<Item = &'h HunkLine>,
    ) -> Result<Cow<'s, [u8]>, Refusal> {
        let other = |why: &str| Err(stale_refusal(path, why));
        match self {
            Self::Bytes(_) => Ok(Cow::Borrowed(state)),
            Self::Decoded(encoding, _) => match TextEncoding::recognise(path, state, lines)? {
                Some((same, text)) if same == *encoding => Ok(Cow::Owned(text)),
                Some(_) | None => other("the tool saw it in another encoding"),
            },
            // The lines of two notebooks are compared in their JSON, where an edit of a cell is not written.
            Self::Cells(_) => other("the tool saw another state of its cells"),
        }
    }

    /// Returns the new bytes of the file for the edited lines of the text.
    ///
    /// # Errors
    /// Fails if the file cannot express them.
    pub(super) fn write_lines(
        &self,
        path: &str,
        lines: FileLines<'_>,
        splices: &[LineSplice],
    ) -> Result<Vec<u8>, Refusal> {
        match self {
            Self::Bytes(_) | Self::Decoded(_, _) => self.write_text(path, join_splices(lines, splices)),
            Self::Cells(cells) => cells.write_back(splices).ok_or_else(|| {
                let message =
                    format!("an edit of `{path}` is not inside one cell whose lines are written alike");
                Refusal::new(RefusalCode::DoesNotApply, message)
                    .at(path)
                    .hint("edit the cells one by one, or the lines of the file as they are")
            }),
        }
    }

    /// Returns the new bytes of the file for its whole new text.
    ///
    /// # Errors
    /// Fails if the file cannot express it.
    pub(super) fn write_text(&self, path: &str, text: Vec<u8>) -> Result<Vec<u8>, Refusal> {
        match self {
            Self::Bytes(_) | Self::Cells(_) => Ok(text),
            Self::Decoded(encoding, _) => encoding.encode(path, &text),
        }
    }
}

/// Result of the edits of one file.
type EditedFile = Result<Arc<[u8]>, StopReason>;

/// Returns a notebook with another text in one of its cells.
pub(super) fn replace_cell(content: &[u8], id: &str, hunks: &[&Hunk], report: &mut FileReport) -> EditedFile {
    let text = crate::placement::content_of(hunks.iter().flat_map(|hunk| &hunk.lines));
    let new = NotebookText::read(content).and_then(|cells| cells.replace_cell(id, &text));
    match (new, hunks.len()) {
        (Some(new), 1) => {
            report.hunks.push(super::whole_report());
            Ok(Arc::from(new))
        }
        (_, _) => {
            let what = "has no cell, or several, with this id";
            let refusal = about_path(RefusalCode::Malformed, &report.path, what);
            Err(refusal.hint("quote whole lines of one cell").into())
        }
    }
}

/// Places the edits of a notebook in its lines and in those of its cells. They must mean the same, or only one of the
/// two may leave a notebook.
pub(super) fn place_in_views(
    content: &[u8],
    hunks: &[&Hunk],
    report: &mut FileReport,
    mut place: impl FnMut(&FileView<'_>, &mut FileReport) -> EditedFile,
) -> EditedFile {
    let before = report.clone();
    let lines = hunks.iter().flat_map(|hunk| &hunk.lines);
    let as_it_is = place(&FileView::of_lines(content, lines, report)?, report);
    let named = report.path.ends_with(".ipynb");
    let Some(cells) = named.then(|| NotebookText::read(content)).flatten() else {
        return as_it_is;
    };
    let mut edits = hunks.iter().filter_map(|hunk| hunk.inline.as_ref());
    let may_be_unescaped = as_it_is.is_ok() && edits.any(|edit| cells.may_be_unescaped(edit));
    let has_cells = !cells.text.is_empty();
    let mut cell_report = before;
    let in_cells = place(&FileView::Cells(cells), &mut cell_report);
    let path = &report.path;
    let refuse = |message: String| {
        let refusal = ambiguous(message).at(path);
        Err(refusal.hint("quote whole lines of one cell").into())
    };
    let is_json = |file: &[u8]| serde_json::from_slice::<IgnoredAny>(file).is_ok();
    match (as_it_is, in_cells) {
        (Ok(one), in_cells) if is_json(&one) => match in_cells {
            Ok(other) if one == other => Ok(one),
            // As JSON, `\n` would be a line feed in the program, and not the two characters.
            Err(_) if may_be_unescaped => refuse(format!(
                "an edit of `{path}` is inside of a cell, and nothing shows if it is written as JSON"
            )),
            Err(_) => Ok(one),
            Ok(_) => refuse(format!(
                "an edit fits a line of `{path}` and another one of its cells"
            )),
        },
        (_, Ok(other)) if is_json(&other) => {
            let detail = "the text is that of a cell, and its lines were written as JSON";
            cell_report.repairs.push(new_repair("notebook-cell", detail));
            *report = cell_report;
            Ok(other)
        }
        (Ok(_), _) | (Err(_), Ok(_)) => refuse(format!(
            "an edit of `{path}` would leave a file that is no notebook"
        )),
        // A text of a cell is nowhere in the JSON, so only the search in the cells says more about it.
        (Err(StopReason::Refused(refusal)), Err(in_cells))
            if has_cells && refusal.code == RefusalCode::DoesNotApply =>
        {
            report.hunks = cell_report.hunks;
            Err(in_cells)
        }
        (Err(error), Err(_)) => Err(error),
    }
}
