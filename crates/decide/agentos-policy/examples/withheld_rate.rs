//! Measures how many commits would wait because they have text of a withheld folder, if each were the change of a tool.
//!
//! Owns: the table. Never: decides, since `TakenSearch` does, or reads a history: `scripts/bench/withheld_rate.py` calls this program and
//! writes commits to its standard input.
//!
//! | line | meaning |
//! |---|---|
//! | `folder NAME` | the commits below are judged as if this folder of a repository were withheld |
//! | `blob ID N` | a content of N bytes, which follow |
//! | `commit ID CHANGED WITHHELD READABLE` | a commit, of whose base and change the files follow, one a line |
//! | `OLD NEW PATH` | a changed file; `-` for no file |
//! | `ID PATH` | a file of the base |

use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead, Write as _};

use agentos_landing::{Change, FileState, RepoPath};
use agentos_policy::TakenSearch;

type Failure = Box<dyn Error>;

/// Input, with the contents that it has named until now.
struct Commits<R> {
    input: R,
    blobs: HashMap<String, Vec<u8>>,
}

/// Files of a base: path and id of the content.
type BaseFiles = Vec<(String, String)>;

impl<R: BufRead> Commits<R> {
    /// Reads a line. `None` at the end.
    fn read_words(&mut self, most: usize) -> Result<Option<Vec<String>>, Failure> {
        let mut line = String::new();
        let read = self.input.read_line(&mut line)?;
        let words = line.trim_end_matches('\n').splitn(most, ' ').map(str::to_owned);
        Ok((read > 0).then(|| words.collect()))
    }

    fn read_blob(&mut self, id: &str, bytes: &str) -> Result<(), Failure> {
        let mut content = vec![0; bytes.parse()?];
        self.input.read_exact(&mut content)?;
        self.blobs.insert(id.to_owned(), content);
        Ok(())
    }

    fn content(&self, id: &str) -> Result<&[u8], Failure> {
        let found = self.blobs.get(id).map(Vec::as_slice);
        found.ok_or_else(|| format!("there is no blob `{id}`").into())
    }

    /// Reads a change. `None` if it cannot be one of a tool, such as a change of modes alone.
    fn read_change(&mut self, count: &str) -> Result<Option<Change>, Failure> {
        let mut states = Vec::new();
        for _ in 0..count.parse()? {
            let words = self.read_words(3)?.unwrap_or_default();
            let [old, new, path] = words.as_slice() else {
                return Err("a changed file has three words".into());
            };
            let state = |id: &String| match id.as_str() {
                "-" => Ok(None),
                id => self.content(id).map(|content| Some(FileState::regular(content))),
            };
            if let Ok(path) = RepoPath::new(path) {
                states.push((path, state(old)?, state(new)?));
            }
        }
        Ok(Change::new(states).ok())
    }

    fn read_base(&mut self, count: &str) -> Result<BaseFiles, Failure> {
        let mut files = Vec::new();
        for _ in 0..count.parse()? {
            let words = self.read_words(2)?.unwrap_or_default();
            let [id, path] = words.as_slice() else {
                return Err("a file of the base has two words".into());
            };
            files.push((path.clone(), id.clone()));
        }
        Ok(files)
    }
}

/// Numbers about the commits of one folder.
#[derive(Default)]
struct Tally {
    name: String,
    commits: usize,
    waiting: usize,
    withheld_bytes: usize,
}

impl Tally {
    fn format_row(&self) -> String {
        let share = 100.0 * self.waiting as f64 / self.commits.max(1) as f64;
        format!(
            "{:<44} {:>7} {:>7} {share:>6.2} % {:>9}",
            self.name, self.commits, self.waiting, self.withheld_bytes
        )
    }
}

fn main() -> Result<(), Failure> {
    let lists = std::env::args().any(|word| word == "--list");
    let mut out = std::io::stdout();
    let mut commits = Commits {
        input: std::io::stdin().lock(),
        blobs: HashMap::new(),
    };
    let mut tallies: Vec<Tally> = Vec::new();
    while let Some(words) = commits.read_words(5)? {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match (words.as_slice(), tallies.last_mut()) {
            (["folder", name], _) => tallies.push(Tally {
                name: (*name).to_owned(),
                ..Tally::default()
            }),
            (["blob", id, bytes], _) => commits.read_blob(id, bytes)?,
            (["commit", id, changed, withheld, readable], Some(tally)) => {
                let change = commits.read_change(changed)?;
                let (withheld, readable) = (commits.read_base(withheld)?, commits.read_base(readable)?);
                let Some(change) = change else { continue };
                let mut search = TakenSearch::new(&change, |_| false);
                tally.withheld_bytes = 0;
                for (path, id) in &withheld {
                    let text = commits.content(id)?;
                    tally.withheld_bytes += text.len();
                    search.add_withheld(path, text);
                }
                for (_, id) in &readable {
                    if !search.has_findings() {
                        break;
                    }
                    search.add_readable(commits.content(id)?);
                }
                let found = search.into_findings();
                tally.commits += 1;
                tally.waiting += usize::from(!found.is_empty());
                for taken in found.iter().filter(|_| lists) {
                    writeln!(out, "{} {id} {} <- {}", tally.name, taken.path, taken.from)?;
                }
            }
            (other, _) => return Err(format!("cannot read the line `{}`", other.join(" ")).into()),
        }
    }
    writeln!(
        out,
        "{:<44} {:>7} {:>7} {:>8} {:>9}",
        "folder", "commits", "wait", "share", "bytes"
    )?;
    let mut all = Tally {
        name: "all".to_owned(),
        ..Tally::default()
    };
    for tally in tallies {
        writeln!(out, "{}", tally.format_row())?;
        all.commits += tally.commits;
        all.waiting += tally.waiting;
    }
    writeln!(out, "{}", all.format_row())?;
    Ok(())
}
