//! `cargo xtask fuzz`: everything that reads what others wrote, under a fuzzer, on the stable compiler.
//!
//! Owns: the targets, building them, running them side by side, and the table of what came of it. Never: judges an
//! input; the claims are in `crates/dev/agentos-fuzz`. Findings stay in `outputs/fuzz/` until a person makes a test of them.

mod corpus;
mod outcome;
mod seeds;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::say;
use outcome::Outcome;

/// The workspace of the fuzz targets.
const WORKSPACE: &str = "scripts/fuzz";
/// What runs leave: new inputs, logs, findings and a line of JSON each. Not committed.
const OUTPUT: &str = "outputs/fuzz";
/// Larger inputs make the fuzzer slow and find nothing that smaller ones do not.
const MOST_BYTES: usize = 16 << 10;

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Options {
    /// The names of the targets.
    List,
    /// Run targets.
    Run {
        /// The target, or `all`.
        target: String,
        /// How long each of them runs.
        seconds: u64,
        /// How many run at a time.
        jobs: usize,
    },
    /// Merge what the last runs learned into the committed corpus.
    Keep {
        /// The target, or `all`.
        target: String,
    },
}

impl Options {
    /// Reads the arguments after `fuzz`.
    ///
    /// # Errors
    /// What is not understood.
    pub fn parse(args: &[&str]) -> Result<Self, String> {
        let (first, rest) = args
            .split_first()
            .ok_or("`fuzz` needs a target; `--list` names them")?;
        match (*first, rest) {
            ("--list", []) => Ok(Self::List),
            ("keep", [target]) => Ok(Self::Keep {
                target: (*target).to_owned(),
            }),
            ("keep", _) => Err("`fuzz keep` needs one target, or `all`".to_owned()),
            (target, mut rest) => {
                let (mut seconds, mut jobs) = (300, 1);
                while let [name, value, after @ ..] = rest {
                    let number = || {
                        value
                            .parse::<u64>()
                            .map_err(|_| format!("`{name}` needs a whole number"))
                    };
                    match *name {
                        "--seconds" => seconds = number()?,
                        "--jobs" => jobs = usize::try_from(number()?.max(1)).unwrap_or(1),
                        _ => return Err(format!("`{name}` is not understood here")),
                    }
                    rest = after;
                }
                match rest {
                    [] => Ok(Self::Run {
                        target: target.to_owned(),
                        seconds,
                        jobs,
                    }),
                    [other, ..] => Err(format!("`{other}` is not understood here")),
                }
            }
        }
    }
}

/// Does what was asked. False when a target found something.
///
/// # Errors
/// When there is no such target, or the fuzzer cannot be built or run.
pub fn run(root: &Path, options: &Options) -> Result<bool, String> {
    let known = targets(root)?;
    match options {
        Options::List => {
            known.iter().for_each(|target| say(target));
            Ok(true)
        }
        Options::Keep { target } => {
            let chosen = choose(&known, target)?;
            build(root, target)?;
            for target in chosen {
                say(&corpus::keep(root, &program(root, &target)?, &target)?);
            }
            Ok(true)
        }
        Options::Run {
            target,
            seconds,
            jobs,
        } => {
            let chosen = choose(&known, target)?;
            build(root, target)?;
            let outcomes = run_all(root, chosen, *seconds, *jobs)?;
            outcome::write(&root.join(OUTPUT), &outcomes)?;
            say(&outcome::table(&outcomes));
            Ok(outcomes.iter().all(|outcome| outcome.findings == 0))
        }
    }
}

/// The programs of the workspace, by their files.
fn targets(root: &Path) -> Result<Vec<String>, String> {
    let folder = root.join(WORKSPACE).join("targets");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("`{}`: {error}", folder.display()))?;
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut names: Vec<String> = names
        .filter_map(|name| Some(name.to_str()?.strip_suffix(".rs")?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}

fn choose(known: &[String], target: &str) -> Result<Vec<String>, String> {
    match target {
        "all" => Ok(known.to_vec()),
        one if known.iter().any(|name| name == one) => Ok(vec![one.to_owned()]),
        other => Err(format!(
            "`{other}` is no target; the targets are `all`, `{}`",
            known.join("`, `")
        )),
    }
}

/// Builds one program or all.
fn build(root: &Path, target: &str) -> Result<(), String> {
    let mut build = Command::new("cargo");
    build.args(["fuzz", "build", "--fuzz-dir", WORKSPACE, "--sanitizer", "none"]);
    if target != "all" {
        build.arg(target);
    }
    let status = build
        .current_dir(root)
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("`cargo` cannot be run: {error}"))?;
    match status.code() {
        Some(0) => Ok(()),
        // Cargo's own: no such command.
        Some(101) => {
            Err("`cargo fuzz` did not build; install it with `cargo install --locked cargo-fuzz`".to_owned())
        }
        _ => Err("the fuzz targets do not build".to_owned()),
    }
}

/// Where the built program of a target is: cargo-fuzz builds for a named system.
fn program(root: &Path, target: &str) -> Result<PathBuf, String> {
    let built = root.join(WORKSPACE).join("target");
    let systems = std::fs::read_dir(&built).map_err(|error| format!("`{}`: {error}", built.display()))?;
    let programs = systems
        .flatten()
        .map(|system| system.path().join("release").join(target));
    let mut programs = programs.filter(|program| program.is_file());
    programs
        .next()
        .ok_or_else(|| format!("the program of `{target}` was not built"))
}

/// Runs the targets, so many at a time; gives what came of them in the order of their names.
fn run_all(root: &Path, chosen: Vec<String>, seconds: u64, jobs: usize) -> Result<Vec<Outcome>, String> {
    let waiting = Mutex::new(VecDeque::from(chosen));
    let done = Mutex::new(Vec::new());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some(target) = next() {
                    let outcome = run_one(root, &target, seconds);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
                }
            });
        }
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut outcomes = done.into_iter().collect::<Result<Vec<_>, _>>()?;
    outcomes.sort_by(|a, b| a.target.cmp(&b.target));
    Ok(outcomes)
}

fn run_one(root: &Path, target: &str, seconds: u64) -> Result<Outcome, String> {
    let output = root.join(OUTPUT);
    let learned = output.join("corpus").join(target);
    let findings = output.join("findings").join(target);
    for folder in [&learned, &findings] {
        std::fs::create_dir_all(folder).map_err(|error| format!("`{}`: {error}", folder.display()))?;
    }
    let log_path = output.join(format!("{target}.log"));
    let mut run = Command::new(program(root, target)?);
    run.arg(&learned).arg(corpus::committed(root, target));
    if target == "land" {
        run.arg(seeds::write(root, &output.join("seeds"), MOST_BYTES)?);
    }
    run.args([
        format!("-max_total_time={seconds}"),
        format!("-max_len={MOST_BYTES}"),
        format!("-artifact_prefix={}/", findings.display()),
        "-timeout=10".to_owned(),
        "-rss_limit_mb=2048".to_owned(),
        "-print_final_stats=1".to_owned(),
    ]);
    let began = Instant::now();
    let ended = run
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()
        .map_err(|error| format!("`{target}` cannot be run: {error}"))?;
    let took = began.elapsed().as_secs();
    std::fs::write(&log_path, &ended.stderr).map_err(|error| format!("`{}`: {error}", log_path.display()))?;
    let log = String::from_utf8_lossy(&ended.stderr);
    let outcome = Outcome::read(target, took, &log, ended.status.success());
    say(&outcome.line());
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read() {
        let run = |target: &str, seconds, jobs| {
            Ok(Options::Run {
                target: target.to_owned(),
                seconds,
                jobs,
            })
        };
        let keep = Options::Keep {
            target: "all".to_owned(),
        };
        let cases: [(&[&str], Result<Options, &str>); 10] = [
            (&["--list"], Ok(Options::List)),
            (&["land"], run("land", 300, 1)),
            (&["land", "--seconds", "60"], run("land", 60, 1)),
            (&["all", "--jobs", "2", "--seconds", "600"], run("all", 600, 2)),
            (&["keep", "all"], Ok(keep)),
            (&["keep"], Err("needs one target")),
            (&[], Err("needs a target")),
            (&["land", "--seconds", "soon"], Err("needs a whole number")),
            (&["land", "--fast", "1"], Err("`--fast` is not understood")),
            (&["land", "--fast"], Err("`--fast` is not understood")),
        ];
        for (args, expected) in cases {
            match (Options::parse(args), expected) {
                (Ok(found), Ok(wanted)) => assert_eq!(found, wanted, "{args:?}"),
                (Err(problem), Err(wanted)) => assert!(problem.contains(wanted), "{args:?}: {problem}"),
                (found, _) => panic!("{args:?}: {found:?}"),
            }
        }
    }

    #[test]
    fn a_target_is_a_file_of_the_workspace() {
        let known = targets(&crate::root()).expect("targets");
        assert!(known.contains(&"land".to_owned()), "{known:?}");
        assert_eq!(choose(&known, "all"), Ok(known.clone()));
        let problem = choose(&known, "speed").expect_err("a problem");
        assert!(
            problem.contains("`speed` is no target; the targets are `all`, `acp`"),
            "{problem}"
        );
    }
}
