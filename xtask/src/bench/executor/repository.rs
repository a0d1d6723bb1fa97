//! Repositories and changes of any size, identical in every run.
//!
//! Owns: contents and paths of the files: 50 files of two kilobytes in a folder, 50 folders in an area. Never: leaves git
//! work for later, for which the measurement would pay.

use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;

use anyhow::Result;
use xshell::{Shell, cmd};

/// Number of lines of a file. Each round changes a line of its own, far enough from the others to fit without them.
const LINES: usize = 110;
const APART: usize = 8;
/// Largest number of rounds for which a file has lines.
pub const MOST_ROUNDS: usize = LINES / APART - 1;

/// Returns the path of a file by its number.
fn file_path(file: usize) -> String {
    format!(
        "area{:02}/part{:02}/file{:02}.txt",
        file / 2500,
        file / 50 % 50,
        file % 50
    )
}

/// Returns a line of a file; every line of a repository is different.
fn line_text(file: usize, number: usize) -> String {
    format!("line {number} of file {file}\n")
}

/// Returns the patch of one round for these files.
pub fn round_patch(files: Range<usize>, round: usize) -> String {
    let at = (round + 1) * APART;
    let start = at - 3;
    let mut text = String::new();
    for file in files {
        let path = file_path(file);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -{start},7 +{start},7 @@"
        );
        for number in start..start + 7 {
            let old = line_text(file, number);
            let _ = match number == at {
                true => write!(text, "-{old}+changed: {old}"),
                false => write!(text, " {old}"),
            };
        }
    }
    text
}

/// Creates a repository of `files` files, packed and checked out, with the branches `main` and `side`.
///
/// # Errors
/// When git fails.
pub fn make_repository(sh: &Shell, at: &Path, files: usize) -> Result<()> {
    let _inside = sh.push_dir(sh.create_dir(at)?);
    let git = |line: &str| {
        let words = line.split(' ');
        cmd!(sh, "git {words...}").quiet().ignore_stdout()
    };
    // `--template=`: hooks and excludes of the machine's template would be part of the measurement.
    git("init --quiet --initial-branch=main --template= .").run()?;
    for setting in [
        "user.name Bench",
        "user.email bench@example.com",
        "gc.auto 0",
        "maintenance.auto false",
    ] {
        git(&format!("config {setting}")).run()?;
    }
    // `fast-import` writes one pack. `git add` would leave up to 90,000 loose objects, among which every
    // measured call would search.
    git("fast-import --quiet").stdin(import_stream(files)).run()?;
    git("reset --quiet --hard").run()?;
    git("branch side").run()?;
    // git reads the content of a file that is as young as the index ("racily clean"), which would be measured too.
    // A second later, a refreshed index is younger than all files.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    git("update-index --refresh").run()?;
    Ok(git("status --porcelain").run()?)
}

/// Returns the input of `git fast-import` for a commit with all files.
fn import_stream(files: usize) -> String {
    let mut blobs = String::new();
    let mut commit = String::from(
        "commit refs/heads/main\ncommitter Bench <bench@example.com> 1700000000 +0000\ndata 6\nfirst\n\n",
    );
    for file in 0..files {
        let content: String = (1..=LINES).map(|number| line_text(file, number)).collect();
        let mark = file + 1;
        // Writing to a string cannot fail.
        let _ = write!(blobs, "blob\nmark :{mark}\ndata {}\n{content}\n", content.len());
        let _ = writeln!(commit, "M 100644 :{mark} {}", file_path(file));
    }
    blobs + &commit
}
