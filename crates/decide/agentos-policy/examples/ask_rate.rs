//! Measures how many commits of real repositories the presets would ask about because of a loss, with other limits beside
//! the chosen ones.
//!
//! Owns: the table. Never: decides by rules of its own; every number comes from `PolicySet::decide`:
//!
//! ```sh
//! cargo run --release -p agentos-policy --example ask_rate -- [--commits N] [--list] REPOSITORY...
//! ```
//!
//! Each repository is a git directory with a history; its last N (200) commits without merges are decided as if each were the
//! change of a tool. `--list` prints each commit that the chosen limits ask about.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

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
    let (mut commits, mut lists, mut repositories) = (200_usize, false, Vec::new());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--commits" => commits = words.next().ok_or("`--commits` needs a number")?.parse()?,
            "--list" => lists = true,
            _ => repositories.push(word),
        }
    }
    let policies = Policies::load()?;
    let mut out = std::io::stdout();
    let mut all = Tally::default();
    let mut rows = String::new();
    for repository in &repositories {
        let mut tally = Tally::default();
        let mut objects = Objects::open(repository)?;
        for commit in list_commits(repository, commits)? {
            let Some(change) = read_change(repository, &mut objects, &commit)? else {
                tally.left_out += 1;
                continue;
            };
            let matched = policies.decide(&change)?;
            if lists && matched.iter().any(|id| CHOSEN.contains(&id.as_str())) {
                writeln!(out, "{repository} {commit} {}", matched.join(", "))?;
            }
            tally.add(&matched);
        }
        writeln!(rows, "{:<34} {}", shorten(repository), tally.chosen_row())?;
        all.join(tally);
    }
    writeln!(out, "{:<34} {:>7} {:>12}", "repository", "commits", "asked")?;
    write!(out, "{rows}")?;
    writeln!(out, "{:<34} {}\n", "all", all.chosen_row())?;
    write!(out, "{}", all.format_candidates())?;
    writeln!(
        out,
        "left out (a submodule, a missing object, a link that becomes a file): {}",
        all.left_out
    )?;
    Ok(ExitCode::SUCCESS)
}

fn shorten(repository: &str) -> String {
    let parts: Vec<&str> = repository.trim_end_matches('/').rsplit('/').take(2).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join("/")
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
                layer: Layer::Repository,
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

#[expect(clippy::disallowed_methods, reason = "a measurement reads histories with git")]
fn git(repository: &str) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(Path::new(repository));
    git
}

fn list_commits(repository: &str, commits: usize) -> Result<Vec<String>, Failure> {
    let count = format!("--max-count={commits}");
    let listed = git(repository)
        .args(["rev-list", "--no-merges", &count, "HEAD"])
        .output()?;
    if !listed.status.success() {
        return Err(format!("git cannot list the commits of {repository}").into());
    }
    Ok(String::from_utf8(listed.stdout)?
        .lines()
        .map(str::to_owned)
        .collect())
}

/// Reads the change of a commit. `None` if it has a submodule, or a path that a change cannot express.
fn read_change(repository: &str, objects: &mut Objects, commit: &str) -> Result<Option<Change>, Failure> {
    let listed = git(repository)
        .args([
            "diff-tree",
            "-r",
            "--root",
            "--no-commit-id",
            "--no-renames",
            "-z",
            commit,
        ])
        .output()?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let mut words = listed.split('\0');
    let mut states = Vec::new();
    // `:100644 100644 OLD NEW M`, then the path.
    while let (Some(about), Some(path)) = (words.next(), words.next()) {
        let fields: Vec<&str> = about.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, old, new, _] = fields[..] else {
            return Ok(None);
        };
        let (Ok(path), Some(old), Some(new)) = (
            RepoPath::new(path),
            objects.read_state(old_mode, old)?,
            objects.read_state(new_mode, new)?,
        ) else {
            return Ok(None);
        };
        states.push((path, old, new));
    }
    Ok(Change::new(states).ok())
}

/// Objects of a repository, read by one `git cat-file`.
struct Objects {
    program: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Objects {
    fn open(repository: &str) -> Result<Self, Failure> {
        let mut program = git(repository)
            .args(["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let orders = program.stdin.take().ok_or("no standard input")?;
        let answers = BufReader::new(program.stdout.take().ok_or("no standard output")?);
        Ok(Self {
            program,
            orders,
            answers,
        })
    }

    /// Reads one side of a path. The inner `None` is a side on which the path does not exist; the outer one is a submodule, or an object
    /// that this copy of the repository lacks.
    fn read_state(&mut self, mode: &str, id: &str) -> Result<Option<Option<FileState>>, Failure> {
        let mode = match mode {
            "000000" => return Ok(Some(None)),
            "100644" => FileMode::Regular,
            "100755" => FileMode::Executable,
            "120000" => FileMode::Symlink,
            _ => return Ok(None),
        };
        writeln!(self.orders, "{id}")?;
        let mut header = String::new();
        self.answers.read_line(&mut header)?;
        // A copy without its largest files says `ID missing`.
        let Some(bytes) = header.split(' ').nth(2) else {
            return Ok(None);
        };
        let bytes: usize = bytes.trim().parse()?;
        let mut content = vec![0; bytes + 1];
        self.answers.read_exact(&mut content)?;
        // A line feed follows the content.
        content.pop();
        Ok(Some(Some(FileState {
            mode,
            content: content.into(),
        })))
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        // The program ends with its standard input.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}
