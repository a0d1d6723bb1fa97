//! The public landing corpus: bases, inputs, and the tree that is right for each.
//!
//! Owns: reading `fixtures/landing` and making a repository of a base. Never: judges.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::repo::TestRepo;

/// What is right for an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expect {
    /// One result is right and the text is enough to find it.
    Land,
    /// A right result is known, but refusing is sound too.
    Either,
    /// Every change is wrong.
    Refuse,
}

/// One input.
#[derive(Debug, Clone, Deserialize)]
pub struct Input {
    /// Its name.
    pub id: String,
    /// The base it was made for.
    pub base_id: String,
    /// The damage.
    pub class: String,
    /// What is right.
    pub expect: Expect,
    /// The tree id of the right result; of an input to refuse, the one the author had in mind.
    pub expected_tree: String,
    /// What the model wrote. `{{OUTER}}` stands for the folder around the repository.
    #[serde(rename = "input")]
    pub text: String,
}

/// One base: the files at HEAD, and those of the commit before, where the model saw another state.
#[derive(Debug, Clone, Deserialize)]
pub struct Base {
    /// Its name.
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
