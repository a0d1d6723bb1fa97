//! Reading the tape from where an earlier reader stopped.
//!
//! Owns: the mark of a place, and the records after it. Never: trusts a mark; the chain must continue at it.

use crate::head::{self, HeadFile};
use crate::line_view::LineView;
use crate::record::GENESIS;
use crate::runs::TapeLines;
use crate::{EvidenceError, Record, Store};

/// Place on a tape between two records. The default is its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TapeMark {
    /// Number of the tape's files before the one with the place.
    pub file: usize,
    /// Bytes of that file before the place.
    pub offset: u64,
    /// Number of the record before the place, 0 at the beginning.
    pub seq: u64,
    /// Hash of the record before the place.
    pub hash: String,
}

impl Default for TapeMark {
    fn default() -> Self {
        Self {
            file: 0,
            offset: 0,
            seq: 0,
            hash: GENESIS.to_owned(),
        }
    }
}

/// Reader of the records after a mark, in their order.
#[derive(Debug)]
pub struct MarkedRecords {
    lines: Option<TapeLines>,
    mark: TapeMark,
    /// True until the first record after a mark in the middle of the tape was read.
    begins_at_mark: bool,
}

impl Store {
    /// Reads the records after a mark.
    ///
    /// # Errors
    /// When a file of the tape cannot be opened, or has no such place.
    pub fn records_after(&self, mark: &TapeMark) -> Result<MarkedRecords, EvidenceError> {
        let lines = TapeLines::open_at(self, mark)?;
        if *mark != TapeMark::default() && (lines.is_none() || self.contradicts_head(mark)?) {
            return Err(EvidenceError::WrongMark);
        }
        Ok(MarkedRecords {
            lines,
            mark: mark.clone(),
            begins_at_mark: *mark != TapeMark::default(),
        })
    }

    /// Returns whether `head.json` names an earlier record than the mark, or another one of its number: then the tape was replaced.
    fn contradicts_head(&self, mark: &TapeMark) -> Result<bool, EvidenceError> {
        Ok(match head::read(&self.head_path())? {
            HeadFile::Says(head) => head.seq < mark.seq || (head.seq == mark.seq && head.hash != mark.hash),
            HeadFile::Missing | HeadFile::Unreadable => false,
        })
    }

    /// Reads the record after a mark of which only the place is known: the number of files and bytes before it.
    ///
    /// # Errors
    /// [`EvidenceError::WrongMark`] if the record there has another number; the errors of [`Store::records`].
    pub fn record_at(&self, file: usize, offset: u64, seq: u64) -> Result<Record, EvidenceError> {
        let mark = TapeMark {
            file,
            offset,
            ..TapeMark::default()
        };
        let mut lines = TapeLines::open_at(self, &mark)?.ok_or(EvidenceError::WrongMark)?;
        let line = lines.next()?.ok_or(EvidenceError::WrongMark)?;
        let record = Record::parse(line.text()).filter(|record| record.seq == seq);
        record.ok_or(EvidenceError::WrongMark)
    }
}

impl MarkedRecords {
    /// Reads the next record. `None` after the last one.
    ///
    /// # Errors
    /// [`EvidenceError::WrongMark`] if the chain does not continue at the mark; the errors of [`Store::records`].
    pub fn next_record(&mut self) -> Result<Option<Record>, EvidenceError> {
        let Some(lines) = &mut self.lines else {
            return Ok(None);
        };
        let Some(line) = lines.next_written()? else {
            return Ok(None);
        };
        let Some(view) = LineView::parse_line(line.text()) else {
            // Behind a mark, the line is more likely the middle of another tape's record than damage.
            return Err(match self.begins_at_mark {
                true => EvidenceError::WrongMark,
                false => EvidenceError::BrokenRecord {
                    line: self.mark.seq + 1,
                },
            });
        };
        // Somebody may have replaced the tape since the mark was made.
        if view.seq != self.mark.seq + 1 || view.prev != self.mark.hash {
            return Err(EvidenceError::WrongMark);
        }
        let record = view.build_record()?;
        self.begins_at_mark = false;
        self.mark = TapeMark {
            file: lines.file,
            offset: lines.offset,
            seq: record.seq,
            hash: record.hash.clone(),
        };
        Ok(Some(record))
    }

    /// Returns the place after the last record that was read.
    #[must_use]
    pub fn mark(&self) -> &TapeMark {
        &self.mark
    }
}
