//! Seeds of the target `land`: the landing corpus in the form that the target reads.
//!
//! Owns: making them. Never: commits them; the landing corpus is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

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

/// Writes the seeds into `folder`, which is made; gives it.
///
/// # Errors
/// When the landing corpus cannot be read or a seed not be written.
pub fn write(root: &Path, folder: &Path, most_bytes: usize) -> Result<PathBuf, String> {
    let failed = |path: &Path, error: std::io::Error| format!("`{}`: {error}", path.display());
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for (name, seed) in seeds(root, most_bytes)? {
        let file = folder.join(name);
        std::fs::write(&file, seed).map_err(|error| failed(&file, error))?;
    }
    Ok(folder.to_owned())
}

/// Each input of the corpus with the files it speaks of, in the form that the target `land` reads.
fn seeds(root: &Path, most_bytes: usize) -> Result<Vec<(String, Vec<u8>)>, String> {
    let folder = root.join(CORPUS);
    let blobs: BTreeMap<String, String> = rows::<Blob>(&folder.join("blobs.jsonl"))?
        .into_iter()
        .map(|blob| (blob.sha, blob.text))
        .collect();
    let bases: BTreeMap<String, Base> = rows::<Base>(&folder.join("bases.jsonl"))?
        .into_iter()
        .map(|base| (base.id.clone(), base))
        .collect();
    let inputs = rows::<Input>(&folder.join("inputs.jsonl"))?;
    let seed = |input: &Input| Some((input.id.clone(), seed(input, bases.get(&input.base_id)?, &blobs)));
    Ok(inputs
        .iter()
        .filter_map(seed)
        .filter(|(_, seed)| seed.len() <= most_bytes)
        .collect())
}

/// `path NUL content NUL … answer`.
fn seed(input: &Input, base: &Base, blobs: &BTreeMap<String, String>) -> Vec<u8> {
    let mut seed = Vec::new();
    let touched: BTreeSet<&String> = input.delta.keys().chain(&input.chat_files).collect();
    for path in touched {
        let content = base.base.get(path).and_then(|(_, sha)| blobs.get(sha));
        if let Some(content) = content {
            for part in [path, content] {
                seed.extend(part.bytes());
                seed.push(0);
            }
        }
    }
    seed.extend(input.input.bytes());
    seed
}

fn rows<T: DeserializeOwned>(file: &Path) -> Result<Vec<T>, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("`{}`: {error}", file.display()))?;
    let rows: Result<Vec<T>, _> = text.lines().map(serde_json::from_str).collect();
    rows.map_err(|error| format!("`{}`: {error}", file.display()))
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
        let seeds = seeds(&crate::root(), 16 << 10).expect("seeds");
        assert!(seeds.len() > 100, "{}", seeds.len());
    }
}
