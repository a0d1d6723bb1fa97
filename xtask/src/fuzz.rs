//! `cargo xtask fuzz`: landing under a fuzzer, on the stable compiler.
//!
//! Owns: the seeds, made of the landing corpus, and how the fuzzer is called. Never: keeps a finding; a person
//! makes a test of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::say;

const CORPUS: &str = "crates/agentos-testkit/fixtures/landing";
const CRATE: &str = "crates/agentos-diff";
const TARGETS: &[&str] = &["land", "roundtrip", "series"];
/// Larger inputs make the fuzzer slow and find nothing that smaller ones do not.
const MOST_BYTES: usize = 16 << 10;

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The target.
    pub target: String,
    /// How long.
    pub seconds: u64,
}

impl Options {
    /// Reads the arguments after `fuzz`.
    ///
    /// # Errors
    /// What is not understood.
    pub fn parse(args: &[&str]) -> Result<Self, String> {
        let known = || format!("the targets are `{}`", TARGETS.join("`, `"));
        let (target, rest) = args
            .split_first()
            .ok_or_else(|| format!("`fuzz` needs a target; {}", known()))?;
        if !TARGETS.contains(target) {
            return Err(format!("`{target}` is no target; {}", known()));
        }
        let seconds = match rest {
            [] => Ok(300),
            ["--seconds", number] => number.parse(),
            _ => return Err(format!("`{}` is not understood here", rest.join(" "))),
        };
        Ok(Self {
            target: (*target).to_owned(),
            seconds: seconds.map_err(|_| "`--seconds` needs a whole number".to_owned())?,
        })
    }
}

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

/// Writes the seeds and runs the fuzzer. False when it found something.
///
/// # Errors
/// When the seeds cannot be made or the fuzzer is not there.
pub fn run(root: &Path, options: &Options) -> Result<bool, String> {
    let seeds = seeds(root)?;
    let folder = root.join(CRATE).join("fuzz/corpus").join(&options.target);
    std::fs::create_dir_all(&folder).map_err(|error| format!("`{}`: {error}", folder.display()))?;
    if options.target == "land" {
        for (name, seed) in &seeds {
            let file = folder.join(name);
            std::fs::write(&file, seed).map_err(|error| format!("`{}`: {error}", file.display()))?;
        }
        say(&format!("{} seeds of the landing corpus", seeds.len()));
    }
    let limits = [
        format!("-max_total_time={}", options.seconds),
        format!("-max_len={MOST_BYTES}"),
        "-timeout=10".to_owned(),
        "-rss_limit_mb=2048".to_owned(),
        "-print_final_stats=1".to_owned(),
    ];
    let status = Command::new("cargo")
        .args([
            "fuzz",
            "run",
            "--sanitizer",
            "none",
            "--jobs",
            "1",
            &options.target,
            "--",
        ])
        .args(limits)
        .current_dir(root.join(CRATE))
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("`cargo` cannot be run: {error}"))?;
    // 101 is cargo's own: no such command.
    if status.code() == Some(101) {
        return Err(
            "`cargo fuzz` did not run; install it with `cargo install --locked cargo-fuzz`".to_owned(),
        );
    }
    Ok(status.success())
}

/// Each input of the corpus with the files it speaks of, in the form that the target `land` reads.
fn seeds(root: &Path) -> Result<Vec<(String, Vec<u8>)>, String> {
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
        .filter(|(_, seed)| seed.len() <= MOST_BYTES)
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
    fn arguments_are_read() {
        let asked = Options::parse(&["land", "--seconds", "60"]).expect("options");
        assert_eq!((asked.target.as_str(), asked.seconds), ("land", 60));
        assert_eq!(Options::parse(&["roundtrip"]).expect("options").seconds, 300);
        let cases: [(&[&str], &str); 4] = [
            (&[], "needs a target"),
            (&["speed"], "`speed` is no target"),
            (&["land", "--seconds", "soon"], "needs a whole number"),
            (&["land", "--fast"], "`--fast` is not understood"),
        ];
        for (args, expected) in cases {
            let problem = Options::parse(args).expect_err("a problem");
            assert!(problem.contains(expected), "{args:?}: {problem}");
        }
    }

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
        let seeds = seeds(&crate::root()).expect("seeds");
        assert!(seeds.len() > 100, "{}", seeds.len());
    }
}
