//! Seeds of the target `land`: the landing corpus in the form that the target reads.
//!
//! Owns: making them. Never: commits them; the landing corpus is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use xshell::Shell;

const CORPUS: &str = "crates/dev/agentos-testkit/fixtures/landing";

#[derive(Deserialize)]
struct Input {
    id: String,
    base_id: String,
    input: String,
    delta: BTreeMap<String, serde_json::Value>,
    chat_files: Vec<String>,
}

#[derive(Deserialize)]
struct Base {
    id: String,
    base: BTreeMap<String, (String, String)>,
}

#[derive(Deserialize)]
struct Blob {
    sha: String,
    text: String,
}

/// Writes the seeds below `folder`; returns where they are.
///
/// # Errors
/// When the landing corpus cannot be read or a seed not be written.
pub fn write(sh: &Shell, folder: &Path, most_bytes: usize) -> Result<PathBuf> {
    let folder = sh.create_dir(folder.join("seeds"))?;
    for (name, seed) in seeds(sh, most_bytes)? {
        sh.write_file(folder.join(name), seed)?;
    }
    Ok(folder)
}

/// Returns each input of the corpus with the files it speaks of, in the form that the target `land` reads.
fn seeds(sh: &Shell, most_bytes: usize) -> Result<Vec<(String, Vec<u8>)>> {
    let blobs = rows::<Blob>(sh, "blobs")?
        .into_iter()
        .map(|blob| (blob.sha, blob.text))
        .collect();
    let bases = rows::<Base>(sh, "bases")?
        .into_iter()
        .map(|base| (base.id.clone(), base));
    let bases: BTreeMap<String, Base> = bases.collect();
    let inputs = rows::<Input>(sh, "inputs")?;
    let seeds = inputs.iter().filter_map(|input| {
        let seed = seed(input, bases.get(&input.base_id)?, &blobs);
        Some((input.id.clone(), seed))
    });
    Ok(seeds.filter(|(_, seed)| seed.len() <= most_bytes).collect())
}

/// `path NUL content NUL … answer`.
fn seed(input: &Input, base: &Base, blobs: &BTreeMap<String, String>) -> Vec<u8> {
    let mut seed = Vec::new();
    let touched: BTreeSet<&String> = input.delta.keys().chain(&input.chat_files).collect();
    for path in touched {
        if let Some(content) = base.base.get(path).and_then(|(_, sha)| blobs.get(sha)) {
            for part in [path, content] {
                seed.extend(part.bytes());
                seed.push(0);
            }
        }
    }
    seed.extend(input.input.bytes());
    seed
}

fn rows<T: DeserializeOwned>(sh: &Shell, name: &str) -> Result<Vec<T>> {
    let file = format!("{CORPUS}/{name}.jsonl");
    let text = sh.read_file(&file)?;
    let rows: Result<Vec<T>, _> = text.lines().map(serde_json::from_str).collect();
    rows.context(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_holds_the_files_that_the_answer_speaks_of() {
        let input = r#"{"id":"x.clean","base_id":"x","input":"--- a/f\n","delta":{"f":null,"new":null},"chat_files":["f","g"]}"#;
        let base = r#"{"id":"x","base":{"f":["100644","1"],"g":["100644","2"],"other":["100644","1"]}}"#;
        let blobs = BTreeMap::from([
            ("1".to_owned(), "one\n".to_owned()),
            ("2".to_owned(), "two\n".to_owned()),
        ]);
        let input: Input = serde_json::from_str(input).expect("an input");
        let base: Base = serde_json::from_str(base).expect("a base");
        assert_eq!(seed(&input, &base, &blobs), b"f\0one\n\0g\0two\n\0--- a/f\n");
    }

    #[test]
    fn the_corpus_makes_seeds() {
        let sh = Shell::new().expect("a shell");
        sh.change_dir(crate::root());
        let seeds = seeds(&sh, 16 << 10).expect("seeds");
        assert!(seeds.len() > 100, "{}", seeds.len());
    }
}
