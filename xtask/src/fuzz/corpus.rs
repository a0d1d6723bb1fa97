//! The committed corpora: small ones that reach everything the fuzzer has reached so far.
//!
//! Owns: where they are and how they are made smaller. Never: removes an input that a person named.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{MOST_BYTES, OUTPUT};

/// Where the corpora are, with the other recorded data of the tests.
const FOLDER: &str = "crates/dev/agentos-testkit/fixtures/fuzz";
/// Files of one corpus.
const MOST_FILES: usize = 200;
/// Bytes of one corpus.
const MOST_TOTAL: usize = 300 << 10;

/// The folder of a target's corpus.
pub fn committed(root: &Path, target: &str) -> PathBuf {
    root.join(FOLDER).join(target)
}

/// Replaces what the fuzzer found before by the fewest inputs that reach as much as all that it learned since; says how
/// many there are.
///
/// # Errors
/// When the fuzzer cannot be run, or a file cannot be written.
pub fn keep(root: &Path, program: &Path, target: &str) -> Result<String, String> {
    let committed = committed(root, target);
    let output = root.join(OUTPUT);
    let merged = output.join("merged").join(target);
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |error: std::io::Error| format!("`{path}`: {error}")
    };
    if merged.is_dir() {
        fs::remove_dir_all(&merged).map_err(failed(&merged))?;
    }
    for folder in [&merged, &committed] {
        fs::create_dir_all(folder).map_err(failed(folder))?;
    }
    // Its own merge (libFuzzer, "Corpus") is what `cargo fuzz cmin` calls.
    let status = Command::new(program)
        .args(["-merge=1", &format!("-max_len={MOST_BYTES}")])
        .args([&merged, &committed, &output.join("corpus").join(target)])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| format!("`{}` cannot be run: {error}", program.display()))?;
    if !status.success() {
        return Err(format!("the corpus of `{target}` cannot be merged"));
    }
    let named: Vec<PathBuf> = files(&committed)?
        .into_iter()
        .filter(|path| !is_found(path))
        .collect();
    let mut merged = files(&merged)?;
    merged.sort_by_key(|path| fs::metadata(path).map_or(0, |found| found.len()));
    let mut kept: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    let mut total = 0;
    for path in named.iter().chain(&merged) {
        let bytes = fs::read(path).map_err(failed(path))?;
        let is_there = kept.iter().any(|(_, known)| *known == bytes);
        let has_room = kept.len() < MOST_FILES && total + bytes.len() <= MOST_TOTAL;
        if let Some(name) = path.file_name().filter(|_| has_room && !is_there) {
            total += bytes.len();
            kept.push((committed.join(name), bytes));
        }
    }
    fs::remove_dir_all(&committed).map_err(failed(&committed))?;
    fs::create_dir_all(&committed).map_err(failed(&committed))?;
    for (path, bytes) in &kept {
        fs::write(path, bytes).map_err(failed(path))?;
    }
    let count = kept.len();
    Ok(format!(
        "{target:<14} {count} inputs are kept, {} named by hand",
        named.len()
    ))
}

/// Did the fuzzer name it? It takes the SHA-1 of the content.
fn is_found(path: &Path) -> bool {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    name.len() == 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("`{}`: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_corpora_are_small() {
        let root = crate::root();
        for target in super::super::targets(&root).expect("targets") {
            let files = files(&committed(&root, &target)).expect("a corpus");
            let total: usize = files
                .iter()
                .map(|path| fs::read(path).expect("a file").len())
                .sum();
            assert!(files.len() <= MOST_FILES, "{target}: {} files", files.len());
            assert!(total <= MOST_TOTAL, "{target}: {total} bytes");
        }
    }

    #[test]
    fn a_name_tells_who_found_an_input() {
        assert!(is_found(Path::new("x/da39a3ee5e6b4b0d3255bfef95601890afd80709")));
        assert!(!is_found(Path::new("x/final-twice.jsonl")));
    }
}
