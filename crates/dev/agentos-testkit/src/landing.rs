//! The public landing corpus: bases, inputs, and the tree that is right for each.
//!
//! Owns: reading `fixtures/landing` and making a repository of a base. Never: judges.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::repo::TestRepo;

/// Correct outcome for an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expect {
    /// Exactly one result is right, and the text is enough to find it.
    Land,
    /// A right result is known, but refusing is sound too.
    Either,
    /// Every change is wrong.
    Refuse,
}

/// Input of the corpus.
#[derive(Debug, Clone, Deserialize)]
pub struct Input {
    /// Name of the input.
    pub id: String,
    /// The base it was made for.
    pub base_id: String,
    /// The damage.
    pub class: String,
    /// Correct outcome.
    pub expect: Expect,
    /// The tree id of the right result; of an input to refuse, the one the author had in mind.
    pub expected_tree: String,
    /// Text of the model. `{{OUTER}}` stands for the folder around the repository.
    #[serde(rename = "input")]
    pub text: String,
    delta: BTreeMap<String, serde_json::Value>,
    chat_files: Vec<String>,
}

/// Base of an input: the files at HEAD, and those of the commit before, where the model saw another state.
#[derive(Debug, Clone, Deserialize)]
pub struct Base {
    /// Name of the base.
    pub id: String,
    /// The tree id of HEAD.
    pub base_tree: String,
    base: Files,
    seen: Option<Files>,
}

/// Path to mode and blob.
type Files = BTreeMap<String, (String, String)>;

#[derive(Deserialize)]
struct Blob {
    sha: String,
    text: String,
}

/// The whole corpus.
#[derive(Debug)]
pub struct Corpus {
    bases: Vec<Base>,
    inputs: Vec<Input>,
    blobs: BTreeMap<String, String>,
}

impl Corpus {
    /// Reads the corpus.
    ///
    /// # Errors
    /// When a file is missing or is not what it should be.
    pub fn read() -> io::Result<Self> {
        let blobs = lines::<Blob>("blobs.jsonl")?;
        Ok(Self {
            bases: lines("bases.jsonl")?,
            inputs: lines("inputs.jsonl")?,
            blobs: blobs.into_iter().map(|blob| (blob.sha, blob.text)).collect(),
        })
    }

    /// The bases.
    #[must_use]
    pub fn bases(&self) -> &[Base] {
        &self.bases
    }

    /// The inputs made for a base.
    pub fn inputs<'a>(&'a self, base: &'a Base) -> impl Iterator<Item = &'a Input> {
        self.inputs.iter().filter(|input| input.base_id == base.id)
    }

    /// Returns each input with the files it speaks of, as the fuzz target `land` reads them: `path NUL content NUL … answer`.
    /// One of more than `most_bytes` is left out.
    #[must_use]
    pub fn seeds(&self, most_bytes: usize) -> Vec<(&str, Vec<u8>)> {
        let bases: BTreeMap<&str, &Base> = self.bases.iter().map(|base| (base.id.as_str(), base)).collect();
        let seeds = self.inputs.iter().filter_map(|input| {
            let base = bases.get(input.base_id.as_str())?;
            let touched: BTreeSet<&String> = input.delta.keys().chain(&input.chat_files).collect();
            let content = |path: &String| self.blobs.get(&base.base.get(path)?.1);
            let files = touched
                .into_iter()
                .filter_map(|path| Some([path.as_str(), "\0", content(path)?, "\0"]));
            let text: String = files.flatten().chain([input.text.as_str()]).collect();
            Some((input.id.as_str(), text.into_bytes()))
        });
        seeds.filter(|(_, seed)| seed.len() <= most_bytes).collect()
    }

    /// How many inputs have a class of this kind.
    #[must_use]
    pub fn count(&self, class: impl Fn(&str) -> bool) -> usize {
        self.inputs.iter().filter(|input| class(&input.class)).count()
    }

    /// A repository whose HEAD is the base. Where the model saw another state, that is the commit before.
    ///
    /// # Panics
    /// When git fails, or the tree is not the stated one: the tests cannot go on.
    #[must_use]
    pub fn repository(&self, base: &Base) -> TestRepo {
        let repo = TestRepo::new();
        let mut stream = Vec::new();
        for (at, files) in base.seen.iter().chain([&base.base]).enumerate() {
            self.commit(&mut stream, at, files);
        }
        let imported = import(repo.path(), &stream);
        assert!(imported.is_ok(), "{}: {imported:?}", base.id);
        repo.git(&["checkout", "-q", "-f", "main"]);
        assert_eq!(
            repo.git(&["rev-parse", "HEAD^{tree}"]),
            base.base_tree,
            "{}",
            base.id
        );
        repo
    }

    fn commit(&self, stream: &mut Vec<u8>, at: usize, files: &Files) {
        let time = 1_000_000_000 + at;
        stream.extend(
            format!("commit refs/heads/main\ncommitter t <t@example.com> {time} +0000\ndata 1\nx\n").bytes(),
        );
        stream.extend(b"deleteall\n");
        for (path, (mode, sha)) in files {
            let text = self.blobs.get(sha).map_or(&[][..], String::as_bytes);
            let name = path.replace('\\', "\\\\").replace('"', "\\\"");
            stream.extend(format!("M {mode} inline \"{name}\"\ndata {}\n", text.len()).bytes());
            stream.extend(text);
            stream.push(b'\n');
        }
    }
}

fn import(repository: &Path, stream: &[u8]) -> io::Result<()> {
    let mut child = Command::new("git")
        .arg("-C")
        .arg(repository)
        .args(["fast-import", "--quiet"])
        .stdin(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(stream)?;
    }
    match child.wait()?.success() {
        true => Ok(()),
        false => Err(io::Error::other("git fast-import failed")),
    }
}

fn lines<T: DeserializeOwned>(file: &str) -> io::Result<Vec<T>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/landing")
        .join(file);
    let text = std::fs::read_to_string(path)?;
    text.lines()
        .map(|line| serde_json::from_str(line).map_err(io::Error::other))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_holds_the_files_that_the_answer_speaks_of() {
        let input = r#"{"id":"x.clean","base_id":"x","class":"clean","expect":"land","expected_tree":"",
            "input":"--- a/f\n","delta":{"f":null,"new":null},"chat_files":["f","g"]}"#;
        let base = r#"{"id":"x","base_tree":"","seen":null,
            "base":{"f":["100644","1"],"g":["100644","2"],"other":["100644","1"]}}"#;
        let blob = |sha: &str, text: &str| (sha.to_owned(), text.to_owned());
        let corpus = Corpus {
            bases: vec![serde_json::from_str(base).unwrap()],
            inputs: vec![serde_json::from_str(input).unwrap()],
            blobs: BTreeMap::from([blob("1", "one\n"), blob("2", "two\n")]),
        };
        let seed = b"f\0one\n\0g\0two\n\0--- a/f\n".to_vec();
        assert_eq!(corpus.seeds(seed.len()), [("x.clean", seed.clone())]);
        assert_eq!(corpus.seeds(seed.len() - 1), []);
    }

    #[test]
    fn the_corpus_makes_seeds() {
        let corpus = Corpus::read().unwrap();
        let count = corpus.seeds(16 << 10).len();
        assert!(count > 100, "{count}");
    }
}
