//! The end of the tape: the last record, and bytes after it that a crash may have left.
//!
//! Owns: finding the last line without reading the whole tape. Never: accepts an incomplete line as a record.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use crate::record::{GENESIS, MAX_LINE, Record};

/// Bytes that are read first. Most records are shorter.
const FIRST_LOOK: u64 = 8 * 1024;

/// End of the tape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TapeTail {
    /// Bytes up to the last line feed, including it.
    pub len: u64,
    /// Number of the last record; 0 for an empty tape.
    pub seq: u64,
    /// Hash of the last record.
    pub hash: String,
}

/// State of the tape's end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TailState {
    /// The last line is a record. The bytes after it, if any, have no line feed.
    Whole(TapeTail, Vec<u8>),
    /// The last line is not a record.
    Broken,
}

/// Reads the end of the tape: at most two lines, regardless of the length of the tape.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn read_tail(file: &mut File) -> io::Result<TailState> {
    let len = file.metadata()?.len();
    // The longest last line, the longest torn line after it, and the line feeds of the last line and of the one before.
    let window = u64::try_from(2 * MAX_LINE + 2).unwrap_or(u64::MAX).min(len);
    let mut count = window.min(FIRST_LOOK);
    let mut bytes = read_back(file, len, count)?;
    // Two line feeds enclose the last complete line. A longer look is needed only for a long record.
    while line_ends(&bytes) < 2 && count < window {
        count = window.min(count.saturating_mul(8));
        bytes = read_back(file, len, count)?;
    }
    let end = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let (lines, fragment) = bytes.split_at(end);
    let Some((_, lines)) = lines.split_last() else {
        // No line feed in the window: an empty tape, its torn first record, or a line longer than any record.
        let empty = TapeTail {
            len: 0,
            seq: 0,
            hash: GENESIS.to_owned(),
        };
        return Ok(if window == len {
            TailState::Whole(empty, fragment.to_vec())
        } else {
            TailState::Broken
        });
    };
    let start = lines.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let (_, last) = lines.split_at(start);
    let Some(record) = Record::parse(last) else {
        return Ok(TailState::Broken);
    };
    let torn = u64::try_from(fragment.len()).unwrap_or(u64::MAX);
    let tail = TapeTail {
        len: len.saturating_sub(torn),
        seq: record.seq,
        hash: record.hash,
    };
    Ok(TailState::Whole(tail, fragment.to_vec()))
}

fn read_back(file: &mut File, len: u64, count: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(len.saturating_sub(count)))?;
    let mut bytes = Vec::with_capacity(usize::try_from(count).unwrap_or_default());
    file.take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn line_ends(bytes: &[u8]) -> usize {
    bytes.iter().filter(|b| **b == b'\n').count()
}
