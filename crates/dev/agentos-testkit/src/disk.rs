//! File systems that run full or cannot be written, for tests of what is said then.
//!
//! Owns: mounting in a temporary folder, which needs root, and taking it away again. Never: mounts anywhere else.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Bytes of a block: free space is left in steps of it.
const BLOCK: u64 = 4096;

/// Something mounted, until it is dropped.
#[derive(Debug)]
pub struct Mounted {
    at: PathBuf,
}

impl Mounted {
    /// Mounts a file system in memory with this size, as in `2m`. Returns `None` if mounting is not allowed.
    #[must_use]
    pub fn in_memory(at: &Path, size: &str) -> Option<Self> {
        let option = format!("size={size}");
        mount(&["-t", "tmpfs", "-o", &option, "tmpfs"], at).then(|| Self { at: at.to_owned() })
    }

    /// Makes a folder read-only by a mount. Returns `None` if mounting is not allowed.
    #[must_use]
    pub fn read_only(at: &Path) -> Option<Self> {
        let source = at.display().to_string();
        if !mount(&["--bind", &source], at) {
            return None;
        }
        let mounted = Self { at: at.to_owned() };
        mount(&["-o", "remount,ro,bind"], at).then_some(mounted)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // What stays mounted stays in a temporary folder; the test has ended either way.
        let _ = Command::new("umount").arg(&self.at).output();
    }
}

fn mount(args: &[&str], at: &Path) -> bool {
    let done = Command::new("mount").args(args).arg(at).output();
    done.is_ok_and(|done| done.status.success())
}

/// Fills the file system with this file until so many blocks are left.
///
/// # Errors
/// When the file cannot be made.
pub fn fill(ballast: &Path, blocks: u64) -> io::Result<()> {
    let mut file = std::fs::File::create_new(ballast)?;
    while file.write_all(&[0; BLOCK as usize]).is_ok() {}
    let full = file.metadata()?.len();
    file.set_len((full - full % BLOCK).saturating_sub(blocks * BLOCK))
}
