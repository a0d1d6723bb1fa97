//! Repositories and changes of any size, the same in every run.
//!
//! Owns: what the files hold and where they lie: 50 to a folder, 50 folders to an area, two kilobytes each. Never:
//! leaves git work for later that the measurement would then pay for.

use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// Lines of a file: each round changes one of its own, far enough from the next for either to fit without the other.
const LINES: usize = 110;
const APART: usize = 8;
/// More rounds than this have no line of their own.
pub const MOST_ROUNDS: usize = LINES / APART - 1;

fn path(file: usize) -> String {
    format!(
        "area{:02}/part{:02}/file{:02}.txt",
        file / 2500,
        file / 50 % 50,
        file % 50
    )
}

fn line(file: usize, number: usize) -> String {
    format!("line {number} of file {file}\n")
}

/// The patch of one round for these files.
pub fn patch(files: std::ops::Range<usize>, round: usize) -> String {
    let at = (round + 1) * APART;
    let mut text = String::new();
    for file in files {
        let path = path(file);
        let start = at - 3;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -{start},7 +{start},7 @@"
        );
        for number in start..start + 7 {
            let old = line(file, number);
            if number == at {
                let _ = write!(text, "-{old}+changed: {old}");
            } else {
                let _ = write!(text, " {old}");
            }
        }
    }
    text
}

/// Makes a repository of so many files, packed and checked out, with the branches `main` and `side`.
pub fn make(at: &Path, files: usize) -> Result<(), String> {
    std::fs::create_dir_all(at).map_err(|error| error.to_string())?;
    git(
        at,
        &["init", "--quiet", "--initial-branch=main", "--template=", "."],
    )?;
    for (name, value) in [
        ("user.name", "Bench"),
        ("user.email", "bench@example.com"),
        ("gc.auto", "0"),
        ("maintenance.auto", "false"),
    ] {
        git(at, &["config", name, value])?;
    }
    import(at, files)?;
    git(at, &["reset", "--quiet", "--hard"])?;
    git(at, &["branch", "side"])?;
    // Of a file as young as the index, git reads the content: that is over after a second.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    git(at, &["update-index", "--refresh"])?;
    git(at, &["status", "--porcelain"])
}

fn import(at: &Path, files: usize) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("`git fast-import`: {error}");
    let mut child = Command::new("git")
        .args(["fast-import", "--quiet"])
        .current_dir(at)
        .stdin(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(pipe) = child.stdin.take() {
        let mut pipe = BufWriter::new(pipe);
        let mut commit = String::from(
            "commit refs/heads/main\ncommitter Bench <bench@example.com> 1700000000 +0000\ndata 6\nfirst\n\n",
        );
        for file in 0..files {
            let mut content = String::new();
            for number in 1..=LINES {
                content.push_str(&line(file, number));
            }
            let mark = file + 1;
            write!(pipe, "blob\nmark :{mark}\ndata {}\n{content}\n", content.len()).map_err(failed)?;
            let _ = writeln!(commit, "M 100644 :{mark} {}", path(file));
        }
        pipe.write_all(commit.as_bytes()).map_err(failed)?;
        pipe.flush().map_err(failed)?;
    }
    let status = child.wait().map_err(failed)?;
    match status.success() {
        true => Ok(()),
        false => Err("`git fast-import` failed".to_owned()),
    }
}

/// Runs git, whose answer does not matter.
pub fn git(at: &Path, args: &[&str]) -> Result<(), String> {
    let output = Command::new("git")
        .args(args)
        .current_dir(at)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("`git`: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "`git {}`: {}",
        args.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    ))
}
