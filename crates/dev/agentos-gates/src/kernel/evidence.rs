//! Tampering with evidence: every kind must be detected, and intact evidence must never be reported.
//!
//! Owns: the tampering, with files and git alone. Never: knows how the program verifies.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::GateChecks;
use super::ground::{FIX, Ground, WORKFLOW};
use crate::error::GateError;
use crate::witness;

/// A repository with evidence, and the checks of its damaged versions.
struct TamperCase<'a, 'b> {
    ground: &'a Ground,
    repository: PathBuf,
    checks: &'a mut GateChecks<'b>,
}

/// Applies every kind of tampering, each in several places.
pub(super) fn check_tampering(ground: &Ground, checks: &mut GateChecks<'_>) -> Result<(), GateError> {
    let (repository, other) = (record_evidence(ground)?, record_evidence(ground)?);
    let mut case = TamperCase {
        ground,
        repository,
        checks,
    };
    case.check_verify("none-before", 0)?;
    case.tape_operators(&tape_lines(&other)?)?;
    case.blob_operators()?;
    case.check_verify("none-after", 0)?;
    case.commit_operators()
}

/// Creates a repository whose tape has a landing, a refusal and an undo.
fn record_evidence(ground: &Ground) -> Result<PathBuf, GateError> {
    let repository = ground.make_repository()?;
    ground.call_with_input(&repository, &["apply", "-"], FIX)?;
    ground.call_with_input(&repository, &["apply", "-"], WORKFLOW)?;
    ground.call(&repository, &["undo"])?;
    ground.call_with_input(&repository, &["apply", "-"], FIX)?;
    Ok(repository)
}

fn tape_path(repository: &Path) -> PathBuf {
    repository.join(".git/agentos/tape.jsonl")
}

fn tape_lines(repository: &Path) -> Result<Vec<String>, GateError> {
    let tape = tape_path(repository);
    let text = std::fs::read_to_string(&tape).map_err(GateError::file(&tape))?;
    Ok(text.lines().map(|line| format!("{line}\n")).collect())
}

impl TamperCase<'_, '_> {
    /// Adds a check that `evidence verify` ends with this code.
    fn check_verify(&mut self, id: &str, code: i32) -> Result<(), GateError> {
        let ended = self
            .ground
            .call(&self.repository, &["evidence", "verify", "--json"])?;
        self.checks.add_check(
            &format!("TAMPER-{id}"),
            ended.code == Some(code),
            ended.describe_end(),
        );
        Ok(())
    }

    fn tape_operators(&mut self, foreign: &[String]) -> Result<(), GateError> {
        let lines = tape_lines(&self.repository)?;
        let count = lines.len();
        let mut spoiled: Vec<(String, Vec<String>)> = Vec::new();
        // Every third line, because each damaged tape costs a call of the program.
        for at in (0..count).step_by(3) {
            let (before, rest) = lines.split_at(at);
            let Some((line, after)) = rest.split_first() else {
                break;
            };
            let joined = |middle: &[String]| [before, middle, after].concat();
            // The time stamp keeps its length and form, so the record still parses.
            let edited = line.replacen("\"ts\":\"2", "\"ts\":\"1", 1);
            spoiled.push((format!("edit-{at}"), joined(&[edited])));
            spoiled.push((format!("drop-{at}"), joined(&[])));
            spoiled.push((format!("twice-{at}"), joined(&[line.clone(), line.clone()])));
            if let Some((next, after)) = after.split_first() {
                let swapped = [before, &[next.clone(), line.clone()], after].concat();
                spoiled.push((format!("swap-{at}"), swapped));
            }
            spoiled.extend(
                foreign
                    .get(at)
                    .map(|theirs| (format!("splice-{at}"), joined(std::slice::from_ref(theirs)))),
            );
        }
        let (head, tail) = lines.split_at(count / 2);
        let quarter = head.get(..count / 4).unwrap_or_default();
        spoiled.push(("head-cut".to_owned(), tail.to_vec()));
        spoiled.push(("tail-cut".to_owned(), head.to_vec()));
        spoiled.push(("middle-cut".to_owned(), [quarter, tail].concat()));
        spoiled.push(("whole".to_owned(), foreign.to_vec()));
        let tape = tape_path(&self.repository);
        for (id, lines) in spoiled {
            self.ground.write_file(&tape, lines.concat())?;
            self.check_verify(&id, 7)?;
        }
        self.ground.write_file(&tape, lines.concat())
    }

    fn blob_operators(&mut self) -> Result<(), GateError> {
        let blobs = self.repository.join(".git/agentos/blobs");
        let mut found = BTreeMap::new();
        witness::list_files(&blobs, &blobs, &|_| false, &mut found)?;
        let files = found.iter().filter(|(_, seen)| seen.starts_with("file"));
        let files: Vec<PathBuf> = files.map(|(path, _)| blobs.join(path)).collect();
        let read = |file: &PathBuf| std::fs::read(file).map_err(GateError::file(file));
        let remove = |file: &PathBuf| std::fs::remove_file(file).map_err(GateError::file(file));
        // A blob is read-only for its owner, so it is removed before another is written.
        let write = |file: &PathBuf, bytes: &[u8]| {
            remove(file).and_then(|()| std::fs::write(file, bytes).map_err(GateError::file(file)))
        };
        for (at, file) in files.iter().enumerate() {
            let bytes = read(file)?;
            write(file, &[bytes.as_slice(), b"x"].concat())?;
            self.check_verify(&format!("blob-{at}"), 7)?;
            write(file, &bytes)?;
        }
        if let [first, second, ..] = files.as_slice() {
            let (one, two) = (read(first)?, read(second)?);
            write(first, &two)?;
            write(second, &one)?;
            self.check_verify("blobs-swapped", 7)?;
            write(first, &one)?;
            remove(second)?;
            self.check_verify("blob-gone", 7)?;
            self.ground.write_file(second, &two)?;
        }
        Ok(())
    }

    fn commit_operators(&mut self) -> Result<(), GateError> {
        let (ground, repository) = (self.ground, self.repository.clone());
        let git = |args: &[&str]| ground.run_git(&repository, args);
        let amend = ["commit", "--quiet", "--amend", "--allow-empty", "--message"];
        let commit = git(&["rev-parse", "HEAD"])?;
        let message = git(&["log", "-1", "--format=%B"])?;
        ground.write_file(&repository.join("README.md"), "rewritten\n")?;
        git(&["add", "--all"])?;
        git(&[&amend[..], &[message.as_str()]].concat())?;
        self.check_verify("commit", 7)?;
        git(&["reset", "--quiet", "--hard", &commit])?;
        self.check_verify("none-at-last", 0)?;
        let kept = message.lines().filter(|line| !line.starts_with("AgentOS-"));
        let without: String = kept.map(|line| format!("{line}\n")).collect();
        // The same change under other words is a note: ordinary git makes such commits.
        git(&[&amend[..], &[without.as_str()]].concat())?;
        self.check_verify("none-reworded", 0)?;
        let other = format!("{without}\nAgentOS-Evidence: sha256:{}\n", "0".repeat(64));
        git(&[&amend[..], &[other.as_str()]].concat())?;
        // Without these two, the amended commit would still be in the object store; a clone does not have it.
        git(&["reflog", "expire", "--expire=now", "--all"])?;
        git(&["gc", "--quiet", "--prune=now"])?;
        self.check_verify("trailer", 7)
    }
}
