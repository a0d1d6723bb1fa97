//! A run that takes more of the disk than a run may.
//!
//! Owns: whether this machine has room for it, and the verdict. Never: fills a disk.

use std::process::Command;

use super::runs::Program;
use crate::error::GateError;

/// Kibibytes that must be free: the run would take 12 GB, where nothing ends it.
const ROOM: u64 = 20_000_000;

impl Program<'_> {
    /// Runs a tool that takes 12 GB in files of 1 GB and then waits (finding 25). Inside, why it is not run here.
    pub(super) fn disk_limit(&self) -> Result<Result<(bool, String), String>, GateError> {
        let free = self.free_room()?;
        if free < ROOM {
            return Ok(Err(format!(
                "not run: {free} KiB are free where the copies lie, and it needs {ROOM}"
            )));
        }
        let ended = self.rogue(&["--timeout", "60"], Some("disk-limit"))?;
        let message = ended.text("error_message");
        let left = self.run_folders();
        let held = ended.text("status") == "failed" && message.contains("MiB to the disk") && left.is_empty();
        Ok(Ok((
            held,
            format!("{}, {} folders left", ended.summary(), left.len()),
        )))
    }

    /// Returns the kibibytes that are free where the copies lie.
    fn free_room(&self) -> Result<u64, GateError> {
        let output = Command::new("df").arg("-Pk").arg(&self.cache).output();
        let output = output.map_err(GateError::file("df"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        // df(1p): the fourth field of the second line.
        let field = text
            .lines()
            .nth(1)
            .and_then(|line| line.split_whitespace().nth(3));
        field
            .and_then(|field| field.parse().ok())
            .ok_or_else(|| GateError::Usage(format!("`df` does not tell what is free: {}", text.trim_end())))
    }
}
