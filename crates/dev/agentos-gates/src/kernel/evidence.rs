//! Evidence that somebody tampered with: every kind of it is found, and untouched evidence never is.
//!
//! Owns: the tampering, with files and git alone. Never: knows how the program verifies.

use std::path::{Path, PathBuf};

use super::check;
use super::ground::{FIX, Ground, WORKFLOW};
use crate::error::GateError;
use crate::results::Check;

/// The evidence as it was, and one way after the other to spoil it.
struct Case<'a> {
    ground: &'a Ground,
    repository: PathBuf,
    tape: PathBuf,
    lines: Vec<String>,
    /// The tape of another repository.
    foreign: Vec<String>,
    checks: Vec<Check>,
}

/// All operators, each over several places.
pub(super) fn tampering(ground: &Ground) -> Result<Vec<Check>, GateError> {
    let repository = recorded(ground)?;
    let other = recorded(ground)?;
    let tape = repository.join(".git/agentos/tape.jsonl");
    let mut case = Case {
        ground,
        lines: lines(&tape)?,
        foreign: lines(&other.join(".git/agentos/tape.jsonl"))?,
        repository,
        tape,
        checks: Vec::new(),
    };
    case.untouched("before")?;
    case.tape_operators()?;
    case.blob_operators()?;
    case.untouched("after")?;
    case.commit_operators()?;
    Ok(case.checks)
}

/// A repository with a landing, a refusal and an undo on its tape.
fn recorded(ground: &Ground) -> Result<PathBuf, GateError> {
    let repository = ground.repository()?;
    ground.give(&repository, &["apply", "-"], FIX)?;
    ground.give(&repository, &["apply", "-"], WORKFLOW)?;
    ground.call(&repository, &["undo"])?;
    ground.give(&repository, &["apply", "-"], FIX)?;
    Ok(repository)
}

fn lines(tape: &Path) -> Result<Vec<String>, GateError> {
    let text = std::fs::read_to_string(tape).map_err(GateError::file(tape))?;
    Ok(text.lines().map(str::to_owned).collect())
}

impl Case<'_> {
    fn verify(&mut self, id: String, name: &str, code: i32) -> Result<(), GateError> {
        let said = self
            .ground
            .call(&self.repository, &["evidence", "verify", "--json"])?;
        self.checks.push(check(
            format!("TAMPER-{id}"),
            name,
            said.code == Some(code),
            said.short(),
        ));
        Ok(())
    }

    fn untouched(&mut self, when: &str) -> Result<(), GateError> {
        self.verify(format!("none-{when}"), "untouched evidence verifies", 0)
    }

    /// Verifies with this tape in place, and puts the true one back.
    fn with(&mut self, id: String, spoiled: &[String]) -> Result<(), GateError> {
        let text: String = spoiled.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&self.tape, text).map_err(GateError::file(&self.tape))?;
        self.verify(id, "a spoiled tape is found", 7)?;
        let text: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&self.tape, text).map_err(GateError::file(&self.tape))
    }

    fn tape_operators(&mut self) -> Result<(), GateError> {
        let lines = self.lines.clone();
        let count = lines.len();
        for at in (0..count).step_by(3) {
            let (before, rest) = lines.split_at(at);
            let Some((line, after)) = rest.split_first() else {
                break;
            };
            let joined = |middle: &[String]| [before, middle, after].concat();
            let edited = line.replacen("\"ts\":\"2", "\"ts\":\"1", 1);
            self.with(format!("edit-{at}"), &joined(&[edited]))?;
            self.with(format!("drop-{at}"), &joined(&[]))?;
            self.with(format!("twice-{at}"), &joined(&[line.clone(), line.clone()]))?;
            if let Some((next, after)) = after.split_first() {
                let swapped = [before, &[next.clone(), line.clone()], after].concat();
                self.with(format!("swap-{at}"), &swapped)?;
            }
            if let Some(theirs) = self.foreign.get(at).cloned() {
                self.with(format!("splice-{at}"), &joined(&[theirs]))?;
            }
        }
        let (head, tail) = lines.split_at(count / 2);
        self.with("head-cut".to_owned(), tail)?;
        self.with("tail-cut".to_owned(), head)?;
        let middle = [head.get(..count / 4).unwrap_or_default(), tail].concat();
        self.with("middle-cut".to_owned(), &middle)?;
        let foreign = self.foreign.clone();
        self.with("whole".to_owned(), &foreign)
    }

    fn blob_operators(&mut self) -> Result<(), GateError> {
        let blobs = self.repository.join(".git/agentos/blobs");
        let mut found = std::collections::BTreeMap::new();
        crate::witness::list(&blobs, &blobs, &|_| false, &mut found)?;
        let files: Vec<PathBuf> = found
            .iter()
            .filter(|(_, seen)| seen.starts_with("file"))
            .map(|(path, _)| blobs.join(path))
            .collect();
        let read = |file: &PathBuf| std::fs::read(file).map_err(GateError::file(file));
        let write = |file: &PathBuf, bytes: &[u8]| {
            // A blob is read-only to its owner; whoever tampers takes it away first.
            std::fs::remove_file(file).map_err(GateError::file(file))?;
            std::fs::write(file, bytes).map_err(GateError::file(file))
        };
        for (at, file) in files.iter().enumerate() {
            let bytes = read(file)?;
            let mut spoiled = bytes.clone();
            spoiled.push(b'x');
            write(file, &spoiled)?;
            self.verify(format!("blob-{at}"), "a spoiled blob is found", 7)?;
            write(file, &bytes)?;
        }
        if let [first, second, ..] = files.as_slice() {
            let (one, two) = (read(first)?, read(second)?);
            write(first, &two)?;
            write(second, &one)?;
            self.verify("blobs-swapped".to_owned(), "swapped blobs are found", 7)?;
            write(first, &one)?;
            std::fs::remove_file(second).map_err(GateError::file(second))?;
            self.verify("blob-gone".to_owned(), "a blob that is gone is found", 7)?;
            std::fs::write(second, &two).map_err(GateError::file(second))?;
        }
        Ok(())
    }

    fn commit_operators(&mut self) -> Result<(), GateError> {
        let commit = self.ground.git(&self.repository, &["rev-parse", "HEAD"])?;
        let message = self.ground.git(&self.repository, &["log", "-1", "--format=%B"])?;
        let amend = ["commit", "--quiet", "--amend", "--allow-empty", "--message"];
        self.ground.put(&self.repository, "README.md", "rewritten\n")?;
        self.ground.git(&self.repository, &["add", "--all"])?;
        self.ground
            .git(&self.repository, &[&amend[..], &[message.as_str()]].concat())?;
        self.verify("commit".to_owned(), "a rewritten commit is found", 7)?;
        self.ground
            .git(&self.repository, &["reset", "--quiet", "--hard", &commit])?;
        self.verify("none-at-last".to_owned(), "untouched evidence verifies", 0)?;
        let without: String = message
            .lines()
            .filter(|line| !line.starts_with("AgentOS-"))
            .map(|line| format!("{line}\n"))
            .collect();
        self.ground
            .git(&self.repository, &[&amend[..], &[without.as_str()]].concat())?;
        // As in a clone: the commit that was amended is not there.
        for args in [
            &["reflog", "expire", "--expire=now", "--all"][..],
            &["gc", "--quiet", "--prune=now"],
        ] {
            self.ground.git(&self.repository, args)?;
        }
        self.verify("trailer".to_owned(), "a commit without its trailer is found", 7)
    }
}
