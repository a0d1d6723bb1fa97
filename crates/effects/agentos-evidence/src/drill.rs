//! A drill: changes a copy of the tape and shows that verification finds the change.
//!
//! Owns: the copy. Never: touches the tape itself.

use std::fs;
use std::path::Path;

use crate::{EvidenceError, Store, VerifyChecks, VerifyReport, blob};

impl Store {
    /// Copies the tape into `out`, flips one bit of the byte at `flip_at` (taken modulo its length) and verifies
    /// the copy.
    ///
    /// # Errors
    /// When there is no tape, or the copy cannot be written or read.
    pub fn drill(&self, out: &Path, flip_at: usize) -> Result<VerifyReport, EvidenceError> {
        let path = self.tape_path();
        let mut tape = fs::read(&path).map_err(EvidenceError::io_error("read", &path))?;
        // An empty tape has no byte to flip; the maximum keeps the remainder below from dividing by 0.
        let len = tape.len().max(1);
        if let Some(byte) = tape.get_mut(flip_at % len) {
            *byte ^= 1;
        }
        blob::make_dir(out)?;
        let copy = Store::open(out)?;
        blob::write_plain(&copy.tape_path(), &tape)
            .map_err(EvidenceError::io_error("write", &copy.tape_path()))?;
        let head = self.head_path();
        let head = fs::read(&head).map_err(EvidenceError::io_error("read", &head))?;
        blob::write_plain(&copy.head_path(), &head)
            .map_err(EvidenceError::io_error("write", &copy.head_path()))?;
        copy.verify_with_blobs_of(self, &VerifyChecks::default())
    }
}
