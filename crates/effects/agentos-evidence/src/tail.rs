//! The end of the tape: the last record, and what a crash may have left after it.
//!
//! Owns: finding the last line without reading the tape. Never: takes a fragment for a record.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use crate::record::{GENESIS, MAX_LINE, Record};

/// Most records are shorter than this many bytes.
const FIRST_LOOK: u64 = 8 * 1024;

/// Where the tape stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tail {
    /// Bytes up to and with the last line end.
    pub len: u64,
    /// The last record's number; 0 for an empty tape.
    pub seq: u64,
    /// The last record's hash.
    pub hash: String,
}

/// The tape's end as found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A whole last record, and the bytes after it that are none.
    Whole(Tail, Vec<u8>),
    /// The last line is not a record.
    Broken,
}

/// Reads the end of the tape: at most two lines, however long the tape is.
pub(crate) fn read(file: &mut File) -> io::Result<Found> {
    let len = file.metadata()?.len();
    let window = u64::try_from(2 * MAX_LINE + 2).unwrap_or(u64::MAX).min(len);
    let mut count = window.min(FIRST_LOOK);
    let mut bytes = read_back(file, len, count)?;
    while line_ends(&bytes) < 2 && count < window {
        count = window.min(count.saturating_mul(8));
        bytes = read_back(file, len, count)?;
    }
    let end = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let (lines, fragment) = bytes.split_at(end);
    let Some((_, lines)) = lines.split_last() else {
        // No line end in sight: an empty tape, its torn first record, or a line longer than any record.
        let empty = Tail {
            len: 0,
            seq: 0,
            hash: GENESIS.to_owned(),
        };
        return Ok(if window == len {
            Found::Whole(empty, fragment.to_vec())
        } else {
            Found::Broken
        });
    };
    let start = lines.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let (_, last) = lines.split_at(start);
    let Some(record) = Record::parse(last) else {
        return Ok(Found::Broken);
    };
    let torn = u64::try_from(fragment.len()).unwrap_or(u64::MAX);
    let tail = Tail {
        len: len.saturating_sub(torn),
        seq: record.seq,
        hash: record.hash,
    };
    Ok(Found::Whole(tail, fragment.to_vec()))
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
