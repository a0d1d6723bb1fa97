//! Killed at a random moment, every verb that writes leaves a sound repository.
//!
//! Owns: SIGKILL after a random time. `AGENTOS_KILL_RANDOM` is the number of kills, 12 in the normal run, and
//! `AGENTOS_KILL_SEED` the number that all choices follow from; it is on screen, so that a run can be repeated.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use agentos_testkit::cli::{Cli, CliOutput};
use agentos_testkit::repo::{TestRepo, move_path, write_file};

use crate::kill::leftovers;
use crate::support::{agentos, sandbox_holds};

/// Rounds in one repository: checking takes longer, the longer its record is.
const ROUNDS: u64 = 25;

/// Numbers that follow from a seed (xorshift64*).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % limit.max(1)
    }
}

/// A number from the environment of the test.
pub fn number(name: &str, otherwise: u64) -> u64 {
    let set = std::env::vars_os().find(|(found, _)| found == name);
    set.map_or(otherwise, |(_, text)| text.to_str().unwrap().parse().unwrap())
}

/// The seed of this run, said on screen.
pub fn seed() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let seed = number("AGENTOS_KILL_SEED", u64::from(since.subsec_nanos()));
    eprintln!("AGENTOS_KILL_SEED={seed}");
    seed
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verb {
    Apply,
    ApplyBranch,
    ApplyNewBranch,
    ApplyNoCommit,
    Undo,
    Approve,
    Recover,
    RunReplay,
    RunCommand,
    KeyRotate,
    Export,
    PolicyInit,
    ProfileInit,
    AuthSet,
}

const VERBS: [Verb; 14] = [
    Verb::Apply,
    Verb::ApplyBranch,
    Verb::ApplyNewBranch,
    Verb::ApplyNoCommit,
    Verb::Undo,
    Verb::Approve,
    Verb::Recover,
    Verb::RunReplay,
    Verb::RunCommand,
    Verb::KeyRotate,
    Verb::Export,
    Verb::PolicyInit,
    Verb::ProfileInit,
    Verb::AuthSet,
];

impl Verb {
    /// May it leave staged changes?
    fn stages(self) -> bool {
        matches!(self, Self::ApplyNoCommit | Self::Undo | Self::PolicyInit)
    }
}

/// What became of the rounds.
#[derive(Debug, Default)]
struct Tally {
    killed: u64,
    ended: u64,
    commits: u64,
    lost: u64,
    verbs: BTreeMap<Verb, u64>,
}

/// A repository with work of the user's own, and a home.
struct World {
    repo: TestRepo,
    cli: Cli,
    random: Random,
    number: u64,
    /// Microseconds that a verb took when it was not killed.
    takes: BTreeMap<Verb, u64>,
    acknowledged: Vec<String>,
    verbs: Vec<Verb>,
}

impl World {
    fn new(seed: u64, verbs: &[Verb]) -> Self {
        let repo = TestRepo::new();
        repo.write("a.txt", "line 0\n");
        repo.write("notes.txt", "notes\n");
        repo.commit_all("first");
        repo.git(&["branch", "side"]);
        repo.write("notes.txt", "notes\nnot committed\n");
        repo.write("mine/own.txt", "mine\n");
        let cli = agentos().in_dir(repo.path());
        Self {
            repo,
            cli,
            random: Random::new(seed),
            number: 0,
            takes: BTreeMap::new(),
            acknowledged: Vec::new(),
            verbs: verbs.to_vec(),
        }
    }

    fn outside(&self, name: &str) -> String {
        self.repo.outside().join(name).to_str().unwrap().to_owned()
    }

    /// A change of a file that is there, and a new file; `branch` says what is there.
    fn diff(&self, branch: &str) -> String {
        let (n, old) = (self.number, self.repo.git(&["show", &format!("{branch}:a.txt")]));
        format!(
            "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-{old}\n+line {n}\ndiff --git a/f/{n}.txt b/f/{n}.txt\nnew file mode 100644\n--- /dev/null\n+++ b/f/{n}.txt\n@@ -0,0 +1 @@\n+{n}\n"
        )
    }

    /// The call of a verb, and its input.
    fn call(&mut self, verb: Verb) -> (Vec<String>, String) {
        self.number += 1;
        let n = self.number;
        let (words, input) = match verb {
            Verb::Apply => ("apply - --json".to_owned(), self.diff("HEAD")),
            Verb::ApplyBranch => ("apply - --json --branch side".to_owned(), self.diff("side")),
            Verb::ApplyNewBranch => (format!("apply - --json --branch made/{n}"), self.diff("HEAD")),
            Verb::ApplyNoCommit => ("apply - --json --no-commit".to_owned(), self.diff("HEAD")),
            Verb::Undo => ("undo --json".to_owned(), String::new()),
            Verb::Approve => {
                let ask = format!(
                    "diff --git a/.github/workflows/{n}.yml b/.github/workflows/{n}.yml\nnew file mode 100644\n--- /dev/null\n+++ b/.github/workflows/{n}.yml\n@@ -0,0 +1 @@\n+on: [push]\n"
                );
                let asked = self
                    .cli
                    .run_with_input(&["apply", "-", "--json"], ask.as_bytes())
                    .unwrap();
                let run = asked.json().unwrap()["run"].as_str().unwrap().to_owned();
                (format!("approve {run} --yes --json"), String::new())
            }
            Verb::Recover => ("recover --json".to_owned(), String::new()),
            Verb::RunReplay => {
                let answer = self.outside("answer.txt");
                write_file(Path::new(&answer), self.diff("HEAD"));
                (
                    format!("run -p replay task --json --replay {answer}"),
                    String::new(),
                )
            }
            Verb::RunCommand => {
                let line = format!("echo line {n} > a.txt; mkdir -p f; echo {n} > f/{n}.txt");
                let mut words: Vec<String> = "run -p command task --json -- sh -c"
                    .split(' ')
                    .map(str::to_owned)
                    .collect();
                words.push(line);
                return (words, String::new());
            }
            Verb::KeyRotate => (
                "evidence key rotate --store file --json".to_owned(),
                String::new(),
            ),
            Verb::Export => (
                format!(
                    "evidence export --json --out {}",
                    self.outside(&format!("copy{n}"))
                ),
                String::new(),
            ),
            Verb::PolicyInit => ("policy init --preset solo --json".to_owned(), String::new()),
            Verb::ProfileInit => (
                format!("profile init own{n} --base-url http://127.0.0.1:9/v1 --model m --json"),
                String::new(),
            ),
            Verb::AuthSet => (
                "tool auth set --provider openai --store file".to_owned(),
                format!("sk-test-{n:040}\n"),
            ),
        };
        (words.split(' ').map(str::to_owned).collect(), input)
    }

    /// Runs a call, killed after so many microseconds.
    fn run_killed(&self, args: &[String], input: &str, after: Option<u64>) -> CliOutput {
        let file = self.outside("input");
        write_file(Path::new(&file), input);
        let file = std::fs::File::open(file).unwrap();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut child = self
            .cli
            .command(&args)
            .stdin(file)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        if let Some(after) = after {
            // The one wait of these tests: the random moment.
            std::thread::sleep(Duration::from_micros(after));
            child.kill().unwrap();
        }
        CliOutput::from(child.wait_with_output().unwrap())
    }

    fn round(&mut self, tally: &mut Tally) {
        let verb = self.verbs[usize::try_from(self.random.below(self.verbs.len() as u64)).unwrap()];
        let (args, input) = self.call(verb);
        let begun = SystemTime::now();
        let longest = self.takes.get(&verb).copied();
        let after = longest.map(|longest| self.random.below(longest + longest / 4));
        let output = self.run_killed(&args, &input, after);
        if after.is_none() {
            let took = u64::try_from(begun.elapsed().unwrap().as_micros()).unwrap();
            self.takes.insert(verb, took);
        } else if output.code.is_none() {
            tally.killed += 1;
            *tally.verbs.entry(verb).or_default() += 1;
        } else {
            tally.ended += 1;
        }
        if output.code == Some(0)
            && let Ok(json) = output.json()
            && let Some(commit) = json["commit"].as_str()
        {
            self.acknowledged.push(commit.to_owned());
            tally.commits += 1;
        }
        self.check(
            verb,
            &format!("round {} {verb:?} after {after:?} us: {output}", self.number),
        );
    }

    fn check(&self, verb: Verb, what: &str) {
        let recovered = self.cli.run(&["recover", "--json"]).unwrap();
        assert_eq!(recovered.code, Some(0), "{what}: {recovered}");
        self.repo.git(&["fsck", "--strict", "--full", "--no-dangling"]);
        let status = self.repo.git(&["status", "--porcelain", "--untracked-files=all"]);
        let own = [" M notes.txt", "M notes.txt", "?? mine/own.txt"];
        let others: Vec<&str> = status.lines().filter(|line| !own.contains(line)).collect();
        // Staged, and the work tree holds the same.
        let is_staged = |line: &&str| line.chars().nth(1) == Some(' ') && !line.starts_with(' ');
        assert!(others.iter().all(is_staged), "{what}: {status}");
        assert!(verb.stages() || others.is_empty(), "{what}: {status}");
        if verb == Verb::ApplyNoCommit {
            let n = self.number;
            let wholly = ["M  a.txt".to_owned(), format!("A  f/{n}.txt")];
            assert!(others.is_empty() || others == wholly, "{what}: {status}");
        }
        assert_eq!(self.repo.read("notes.txt"), b"notes\nnot committed\n", "{what}");
        assert_eq!(self.repo.read("mine/own.txt"), b"mine\n", "{what}");
        if self.repo.has(".agentos") {
            // A policy is for the user to commit; here it would ask about everything else.
            self.repo
                .git(&["rm", "--quiet", "-r", "--cached", "--ignore-unmatch", ".agentos"]);
            move_path(
                &self.repo.path().join(".agentos"),
                &self.repo.outside().join(format!("agentos{}", self.number)),
            );
        } else if !others.is_empty() {
            self.repo.git(&["commit", "--quiet", "-m", "staged"]);
        }
        let mut left = Vec::new();
        leftovers(self.repo.path(), &mut left);
        // Those of a run that was killed are removed by the next run.
        left.retain(|path| !path.components().any(|part| part.as_os_str() == "copies"));
        // The lock of the repository's id stays, as a file that is locked and not as one that is there.
        left.retain(|path| !path.ends_with("repository.json.lock"));
        assert_eq!(left, Vec::<std::path::PathBuf>::new(), "{what}");
        let verified = self.cli.run(&["evidence", "verify"]).unwrap();
        assert_eq!(verified.code, Some(0), "{what}: {verified}");
        let profiles = self.cli.run(&["profile", "list", "--json"]).unwrap();
        assert_eq!(profiles.code, Some(0), "{what}: {profiles}");
        if let Ok(stored) = std::fs::read(self.cli.home().join(".agentos/credentials.json")) {
            serde_json::from_slice::<serde_json::Value>(&stored).expect(what);
        }
    }

    /// Counts acknowledged commits that no branch leads to.
    fn count_lost(&self) -> u64 {
        let all = self.repo.git(&["rev-list", "--branches"]);
        let is_lost = |commit: &&String| !all.lines().any(|found| found == commit.as_str());
        self.acknowledged.iter().filter(is_lost).count() as u64
    }
}

#[test]
fn killed_at_a_random_moment_every_verb_leaves_a_sound_repository() {
    let (wanted, seed) = (number("AGENTOS_KILL_RANDOM", 12), seed());
    let holds = sandbox_holds();
    let verbs: Vec<Verb> = VERBS
        .into_iter()
        .filter(|verb| holds || *verb != Verb::RunCommand)
        .collect();
    let next = std::sync::atomic::AtomicU64::new(0);
    let tally = std::sync::Mutex::new(Tally::default());
    let work = || {
        while tally.lock().unwrap().killed < wanted {
            let at = next.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let mut world = World::new(seed.wrapping_add(at), &verbs);
            // Each verb once to its end, so that it is known how long it takes.
            let mut own = Tally::default();
            for _ in 0..ROUNDS.min(wanted) + verbs.len() as u64 {
                world.round(&mut own);
            }
            own.lost = world.count_lost();
            eprintln!("repository {at}: {own:?}");
            let mut all = tally.lock().unwrap();
            all.killed += own.killed;
            all.ended += own.ended;
            all.commits += own.commits;
            all.lost += own.lost;
            for (verb, count) in own.verbs {
                *all.verbs.entry(verb).or_default() += count;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..if wanted > 100 { 3 } else { 1 } {
            scope.spawn(work);
        }
    });
    let tally = tally.into_inner().unwrap();
    eprintln!("{tally:?}");
    assert_eq!(tally.lost, 0);
    assert!(tally.killed >= wanted / 2, "{tally:?}");
}
