//! Measures how many commits the presets would ask about because of a loss, and how many with other limits.
//!
//! Owns: the table. Never: decides, since every number comes from `PolicySet::decide`, or reads a history:
//! `scripts/bench/ask_rate.py` calls this program and writes commits to its standard input.
//!
//! | line | meaning |
//! |---|---|
//! | `repository NAME` | the commits below are of this repository |
//! | `skip ID` | a commit that cannot be read |
//! | `commit ID N` | a commit, of which N files follow |
//! | `OLD-MODE OLD-BYTES NEW-MODE NEW-BYTES PATH` | a file, then both contents without anything between them; mode 000000: no file |

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::io::{BufRead, Write};
use std::process::ExitCode;

use agentos_landing::{Change, FileMode, FileState, RepoPath, ResultFacts};
use agentos_policy::{Layer, PolicySet, PolicySource, ToolFacts};
use agentos_tool::{Enforcement, ExecutionMode, Timestamp};

type Failure = Box<dyn Error>;

/// Limits that are tried: the rule's id, its question and its conditions.
const CANDIDATES: &[(&str, &str, &str)] = &[
    ("files > 1", "land", "over_lost_files = 1"),
    ("files > 2", "land", "over_lost_files = 2"),
    ("files > 3", "land", "over_lost_files = 3"),
    ("files > 5", "land", "over_lost_files = 5"),
    ("files > 10", "land", "over_lost_files = 10"),
    ("lines > 50", "land", "over_net_removed = 50"),
    ("lines > 100", "land", "over_net_removed = 100"),
    ("lines > 200", "land", "over_net_removed = 200"),
    ("lines > 300", "land", "over_net_removed = 300"),
    ("lines > 500", "land", "over_net_removed = 500"),
    (
        "half of > 0",
        "modify",
        "over_old_lines = 0\nover_lost_percent = 50",
    ),
    (
        "half of > 10",
        "modify",
        "over_old_lines = 10\nover_lost_percent = 50",
    ),
    (
        "half of > 20",
        "modify",
        "over_old_lines = 20\nover_lost_percent = 50",
    ),
    (
        "half of > 50",
        "modify",
        "over_old_lines = 50\nover_lost_percent = 50",
    ),
    (
        "2/3 of > 20",
        "modify",
        "over_old_lines = 20\nover_lost_percent = 66",
    ),
    (
        "3/4 of > 20",
        "modify",
        "over_old_lines = 20\nover_lost_percent = 75",
    ),
];

/// Candidates that together are the rules of the presets.
const CHOSEN: [&str; 3] = ["files > 3", "lines > 200", "half of > 20"];
/// Combinations that are tried besides.
const COMBINED: [[&str; 3]; 5] = [
    CHOSEN,
    ["files > 3", "lines > 100", "half of > 20"],
    ["files > 3", "lines > 300", "half of > 20"],
    ["files > 5", "lines > 200", "half of > 20"],
    ["files > 3", "lines > 200", "2/3 of > 20"],
];

fn main() -> Result<ExitCode, Failure> {
    let lists = std::env::args().any(|word| word == "--list");
    let policies = Policies::load()?;
    let mut out = std::io::stdout();
    let mut input = std::io::stdin().lock();
    let mut tallies: Vec<(String, Tally)> = Vec::new();
    let mut line = String::new();
    while input.read_line(&mut line)? > 0 {
        let words: Vec<&str> = line.trim_end().split(' ').collect();
        match (words.as_slice(), tallies.last_mut()) {
            (["repository", name], _) => tallies.push(((*name).to_owned(), Tally::default())),
            (["skip", _], Some((_, tally))) => tally.left_out += 1,
            (["commit", id, files], Some((name, tally))) => match read_change(&mut input, files.parse()?)? {
                None => tally.left_out += 1,
                Some(change) => {
                    let matched = policies.decide(&change)?;
                    if lists && matched.iter().any(|id| CHOSEN.contains(&id.as_str())) {
                        writeln!(out, "{name} {id} {}", matched.join(", "))?;
                    }
                    tally.add(&matched);
                }
            },
            (_, _) => return Err(format!("cannot read the line `{}`", line.trim_end()).into()),
        }
        line.clear();
    }
    let mut all = Tally::default();
    writeln!(out, "{:<34} {:>7} {:>12}", "repository", "commits", "asked")?;
    for (name, tally) in tallies {
        writeln!(out, "{name:<34} {}", tally.chosen_row())?;
        all.join(tally);
    }
    writeln!(out, "{:<34} {}\n", "all", all.chosen_row())?;
    write!(out, "{}", all.format_candidates())?;
    writeln!(
        out,
        "left out (a submodule, a missing object, a link that becomes a file): {}",
        all.left_out
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Reads the change of a commit. `None` if a change cannot express it.
fn read_change(input: &mut impl BufRead, files: usize) -> Result<Option<Change>, Failure> {
    let mut states = Vec::new();
    let mut is_complete = true;
    for _ in 0..files {
        let mut line = String::new();
        input.read_line(&mut line)?;
        let mut words = line.trim_end_matches('\n').splitn(5, ' ');
        let mut word = || words.next().ok_or("a line of a file is too short");
        let (old_mode, old_bytes) = (word()?, word()?.parse()?);
        let (new_mode, new_bytes) = (word()?, word()?.parse()?);
        let path = RepoPath::new(word()?);
        let old = read_state(input, old_mode, old_bytes)?;
        let new = read_state(input, new_mode, new_bytes)?;
        match path {
            Ok(path) => states.push((path, old, new)),
            Err(_) => is_complete = false,
        }
    }
    Ok(Some(states)
        .filter(|_| is_complete)
        .and_then(|states| Change::new(states).ok()))
}

fn read_state(input: &mut impl BufRead, mode: &str, bytes: usize) -> Result<Option<FileState>, Failure> {
    let mut content = vec![0; bytes];
    input.read_exact(&mut content)?;
    let mode = match mode {
        "000000" => return Ok(None),
        "100755" => FileMode::Executable,
        "120000" => FileMode::Symlink,
        _ => FileMode::Regular,
    };
    Ok(Some(FileState {
        mode,
        content: content.into(),
    }))
}

/// Rules of the candidates, and the presets.
struct Policies {
    candidates: PolicySet,
    presets: Vec<(&'static str, PolicySet)>,
    tool: ToolFacts,
}

impl Policies {
    fn load() -> Result<Self, Failure> {
        let mut text = "version = 1\npreset = \"none\"\n".to_owned();
        for (at, (_, action, conditions)) in CANDIDATES.iter().enumerate() {
            write!(
                text,
                "[[rule]]\nid = \"c{at}\"\neffect = \"ask\"\nwhy = \"candidate\"\naction = [\"{action}\"]\n{conditions}\n"
            )?;
        }
        let load = |text: String| {
            PolicySet::load(&[PolicySource {
                layer: Layer::User,
                name: "candidates.toml".to_owned(),
                text,
            }])
        };
        let preset = |name| Ok::<_, Failure>((name, load(format!("version = 1\npreset = \"{name}\"\n"))?));
        Ok(Self {
            candidates: load(text)?,
            presets: vec![preset("default")?, preset("solo")?, preset("team")?],
            tool: ToolFacts {
                provider: "patch".to_owned(),
                model: None,
                execution_mode: ExecutionMode::Local,
                enforcement: Enforcement::Kernel,
                attempt: 1,
                at: Timestamp::from_unix_seconds(0),
                context_bytes: 0,
                target_ref: Some("refs/heads/topic".to_owned()),
                checked: false,
            },
        })
    }

    /// Returns the candidates that ask about a change, and `preset NAME` for each preset whose rules of losses ask.
    fn decide(&self, change: &Change) -> Result<Vec<String>, Failure> {
        let facts = ResultFacts::read_with(change, |_| Ok::<_, Failure>(Vec::new()))?;
        let decision = self.candidates.decide(change, &facts, &self.tool);
        let asks = decision.reasons().iter().filter_map(|reason| {
            let at: usize = reason.rule.strip_prefix('c')?.parse().ok()?;
            Some(CANDIDATES.get(at)?.0.to_owned())
        });
        let mut matched: Vec<String> = asks.collect();
        for (name, set) in &self.presets {
            let decision = set.decide(change, &facts, &self.tool);
            let losses = ["lost-files", "lost-lines", "most-of-a-file"].map(|rule| format!("{name}.{rule}"));
            if decision
                .reasons()
                .iter()
                .any(|reason| losses.contains(&reason.rule))
            {
                matched.push(format!("preset {name}"));
            }
        }
        matched.sort();
        matched.dedup();
        Ok(matched)
    }
}

/// Numbers of commits.
#[derive(Default)]
struct Tally {
    commits: usize,
    left_out: usize,
    by_name: BTreeMap<String, usize>,
    combined: [usize; COMBINED.len()],
}

impl Tally {
    fn add(&mut self, matched: &[String]) {
        self.commits += 1;
        for name in matched {
            *self.by_name.entry(name.clone()).or_default() += 1;
        }
        for (count, names) in self.combined.iter_mut().zip(COMBINED) {
            *count += usize::from(matched.iter().any(|name| names.contains(&name.as_str())));
        }
    }

    fn join(&mut self, other: Self) {
        self.commits += other.commits;
        self.left_out += other.left_out;
        for (name, count) in other.by_name {
            *self.by_name.entry(name).or_default() += count;
        }
        for (count, more) in self.combined.iter_mut().zip(other.combined) {
            *count += more;
        }
    }

    fn share(&self, count: usize) -> String {
        let share = 100.0 * count as f64 / self.commits.max(1) as f64;
        format!("{count:>5} {share:>5.1}%")
    }

    fn chosen_row(&self) -> String {
        let chosen = self.combined.first().copied().unwrap_or_default();
        format!("{:>7} {}", self.commits, self.share(chosen))
    }

    fn format_candidates(&self) -> String {
        let mut out = String::new();
        let names = CANDIDATES.iter().map(|(name, _, _)| (*name).to_owned());
        let presets = ["default", "solo", "team"].map(|name| format!("preset {name}"));
        for name in names.chain(presets) {
            let count = self.by_name.get(&name).copied().unwrap_or_default();
            out.push_str(&format!("{name:<42} {}\n", self.share(count)));
        }
        for (count, names) in self.combined.iter().zip(COMBINED) {
            out.push_str(&format!("{:<42} {}\n", names.join(" or "), self.share(*count)));
        }
        out
    }
}
