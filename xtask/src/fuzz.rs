//! `cargo xtask fuzz`: fuzzes every parser of untrusted input, with the stable compiler.
//!
//! Owns: running the targets in parallel, and choosing the inputs that are kept. Never: judges an input; the claims are in
//! `crates/dev/agentos-fuzz`. Findings stay in `outputs/fuzz/` until a person turns them into tests.

mod outcome;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::{Args, Subcommand};
use xshell::{Shell, cmd};

use crate::say;
use outcome::FuzzOutcome;

/// Workspace of the fuzz targets.
const WORKSPACE: &str = "scripts/fuzz";
/// Output of the runs: new inputs, logs, findings, and one line of JSON for each run. Not committed.
const OUTPUT: &str = "outputs/fuzz";
/// Folder of the committed corpora, next to the other recorded data of the tests.
const COMMITTED: &str = "crates/dev/agentos-testkit/fixtures/fuzz";
/// Largest input in bytes. Larger inputs make the fuzzer slow and have found nothing that smaller ones do not.
const MOST_BYTES: usize = 16 << 10;
/// Largest number of files in one committed corpus, and of their bytes together.
const MOST_FILES: usize = 200;
const MOST_TOTAL: usize = 300 << 10;

/// Arguments of `cargo xtask fuzz`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct FuzzOptions {
    #[command(subcommand)]
    keep: Option<KeepCommand>,
    /// Target to run, or `all`.
    #[arg(required_unless_present = "list")]
    target: Option<String>,
    /// Only lists the targets.
    #[arg(long, conflicts_with = "target")]
    list: bool,
    /// Duration of the run of each target.
    #[arg(long, default_value_t = 300)]
    seconds: u64,
    /// Number of targets that run at the same time.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    jobs: u64,
}

#[derive(Debug, Subcommand)]
enum KeepCommand {
    /// Replaces the committed corpus with the fewest inputs that cover as much as the last runs did.
    Keep {
        /// Target whose corpus is replaced, or `all`.
        target: String,
    },
}

/// Lists the targets, replaces corpora, or runs targets. Returns false if a target found something.
///
/// # Errors
/// When there is no target of that name, or a target cannot be built or run.
pub fn run(sh: &Shell, options: &FuzzOptions) -> Result<bool> {
    let known = list_targets(sh)?;
    if options.list {
        known.iter().for_each(say);
        return Ok(true);
    }
    if let Some(KeepCommand::Keep { target }) = &options.keep {
        let chosen = choose_targets(&known, target)?;
        build(sh, target)?;
        for target in chosen {
            keep_corpus(sh, &target)?;
        }
        return Ok(true);
    }
    let target = options.target.as_deref().unwrap_or("all");
    let chosen = choose_targets(&known, target)?;
    build(sh, target)?;
    let outcomes = run_all(sh, chosen, options)?;
    outcome::write(sh, &outcomes)?;
    say(outcome::format_table(&outcomes));
    Ok(outcomes.iter().all(|outcome| outcome.findings == 0))
}

/// Returns the names of the targets, which are the files of the workspace's folder `targets`.
fn list_targets(sh: &Shell) -> Result<Vec<String>> {
    let files = sh.read_dir(format!("{WORKSPACE}/targets"))?;
    let names = files
        .iter()
        .filter_map(|file| file.file_name()?.to_str()?.strip_suffix(".rs"));
    Ok(names.map(str::to_owned).collect())
}

/// Returns the named target, or all of them for `all`.
fn choose_targets(known: &[String], target: &str) -> Result<Vec<String>> {
    if target == "all" {
        return Ok(known.to_vec());
    }
    let all = known.join("`, `");
    ensure!(
        known.iter().any(|name| name == target),
        "`{target}` is not a target; the targets are `all`, `{all}`"
    );
    Ok(vec![target.to_owned()])
}

/// Builds the program of one target, or of all.
fn build(sh: &Shell, target: &str) -> Result<()> {
    let target = (target != "all").then_some(target);
    let build = cmd!(
        sh,
        "cargo fuzz build --fuzz-dir {WORKSPACE} --sanitizer none {target...}"
    );
    let why = "the fuzz targets do not build; `cargo install --locked cargo-fuzz` installs what builds them";
    build.quiet().run().context(why)
}

/// Returns the path of a target's built program.
fn find_program(sh: &Shell, target: &str) -> Result<PathBuf> {
    // cargo-fuzz always builds for a named platform, so there is one more folder than usual between `target` and `release`.
    let systems = sh.read_dir(format!("{WORKSPACE}/target"))?;
    let mut programs = systems.iter().map(|system| system.join("release").join(target));
    let found = programs.find(|program| program.is_file());
    found.with_context(|| format!("the program of `{target}` was not built"))
}

/// Runs the targets, `options.jobs` at the same time, and returns the outcomes in the order of the targets' names.
fn run_all(sh: &Shell, chosen: Vec<String>, options: &FuzzOptions) -> Result<Vec<FuzzOutcome>> {
    let waiting = Mutex::new(chosen.into_iter());
    let done = Mutex::new(Vec::new());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    std::thread::scope(|scope| {
        for _ in 0..options.jobs {
            let sh = sh.clone();
            let (next, done) = (&next, &done);
            scope.spawn(move || {
                while let Some(target) = next() {
                    let outcome = run_one(&sh, &target, options.seconds);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
                }
            });
        }
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut outcomes = done.into_iter().collect::<Result<Vec<_>>>()?;
    outcomes.sort_by(|a, b| a.target.cmp(&b.target));
    Ok(outcomes)
}

/// Runs one target, writes its log and prints its line.
fn run_one(sh: &Shell, target: &str, seconds: u64) -> Result<FuzzOutcome> {
    let learned = sh.create_dir(format!("{OUTPUT}/corpus/{target}"))?;
    let findings = sh.create_dir(format!("{OUTPUT}/findings/{target}"))?;
    let (program, committed) = (find_program(sh, target)?, format!("{COMMITTED}/{target}"));
    let seeds = match target {
        "land" => Some(make_seeds(sh)?),
        _ => None,
    };
    let limits = [
        format!("-max_total_time={seconds}"),
        format!("-max_len={MOST_BYTES}"),
        format!("-artifact_prefix={}/", findings.display()),
        // A parser that takes 10 s for 16 KiB is a finding by itself: an answer of a server could stop the
        // product with it.
        "-timeout=10".to_owned(),
        "-rss_limit_mb=2048".to_owned(),
        "-print_final_stats=1".to_owned(),
    ];
    let run = cmd!(sh, "{program} {learned} {committed} {seeds...} {limits...}");
    let began = Instant::now();
    let ended = run.quiet().ignore_stdout().ignore_status().output()?;
    let took = began.elapsed().as_secs();
    sh.write_file(format!("{OUTPUT}/{target}.log"), &ended.stderr)?;
    let log = String::from_utf8_lossy(&ended.stderr);
    let outcome = FuzzOutcome::read(target, took, &log, ended.status.success());
    say(outcome.format_line());
    Ok(outcome)
}

/// Creates inputs from the landing corpus, from which the fuzzer starts.
fn make_seeds(sh: &Shell) -> Result<PathBuf> {
    let seeds = sh.create_dir(format!("{OUTPUT}/seeds"))?;
    let most = MOST_BYTES.to_string();
    cmd!(
        sh,
        "cargo run --quiet --package agentos-fuzz --example seeds -- {seeds} {most}"
    )
    .quiet()
    .run()?;
    Ok(seeds)
}

/// Replaces the generated inputs of a corpus with the fewest inputs that cover as much as all inputs of past runs.
fn keep_corpus(sh: &Shell, target: &str) -> Result<()> {
    let committed = sh.create_dir(format!("{COMMITTED}/{target}"))?;
    let learned = sh.create_dir(format!("{OUTPUT}/corpus/{target}"))?;
    sh.remove_path(format!("{OUTPUT}/merged/{target}"))?;
    let merged = sh.create_dir(format!("{OUTPUT}/merged/{target}"))?;
    let program = find_program(sh, target)?;
    // libFuzzer's own merge (see "Corpus" in its manual), because `cargo fuzz cmin`, which calls it too, replaces the file
    // names that people chose.
    let limit = format!("-max_len={MOST_BYTES}");
    cmd!(sh, "{program} -merge=1 {limit} {merged} {committed} {learned}")
        .quiet()
        .output()?;
    let mut named = sh.read_dir(&committed)?;
    // Inputs that people added and named are kept, whatever they cover.
    named.retain(|path| !is_found(path));
    let by_hand = named.len();
    let mut merged = sh.read_dir(&merged)?;
    // The smallest first, so that the limit on bytes leaves room for as many inputs as possible.
    merged.sort_by_key(|path| path.metadata().map_or(0, |found| found.len()));
    let mut kept: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    let mut total = 0;
    for path in named.iter().chain(&merged) {
        let bytes = sh.read_binary_file(path)?;
        let is_there = kept.iter().any(|(_, known)| *known == bytes);
        let has_room = kept.len() < MOST_FILES && total + bytes.len() <= MOST_TOTAL;
        if let Some(name) = path.file_name().filter(|_| has_room && !is_there) {
            total += bytes.len();
            kept.push((committed.join(name), bytes));
        }
    }
    sh.remove_path(&committed)?;
    for (path, bytes) in &kept {
        sh.write_file(path, bytes)?;
    }
    say(format_args!(
        "{target:<14} {} inputs kept, {by_hand} of them named by hand",
        kept.len()
    ));
    Ok(())
}

/// Returns true if the fuzzer gave the file its name, which is the SHA-1 of the content.
fn is_found(path: &Path) -> bool {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    name.len() == 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn top() -> Shell {
        let sh = Shell::new().unwrap();
        sh.change_dir(crate::repository_root());
        sh
    }

    #[test]
    fn a_target_is_a_file_of_the_workspace() {
        let known = list_targets(&top()).expect("targets");
        assert!(known.contains(&"land".to_owned()), "{known:?}");
        assert_eq!(choose_targets(&known, "all").unwrap(), known);
        let problem = choose_targets(&known, "speed")
            .expect_err("a problem")
            .to_string();
        assert!(
            problem.contains("`speed` is not a target; the targets are `all`, `acp`"),
            "{problem}"
        );
    }

    #[test]
    fn the_committed_corpora_are_small() {
        let sh = top();
        for target in list_targets(&sh).expect("targets") {
            let files = sh.read_dir(format!("{COMMITTED}/{target}")).expect("a corpus");
            let total: usize = files
                .iter()
                .map(|path| std::fs::read(path).expect("a file").len())
                .sum();
            assert!(files.len() <= MOST_FILES, "{target}: {} files", files.len());
            assert!(total <= MOST_TOTAL, "{target}: {total} bytes");
        }
    }

    #[test]
    fn a_name_tells_who_found_an_input() {
        assert!(is_found(Path::new("x/da39a3ee5e6b4b0d3255bfef95601890afd80709")));
        assert!(!is_found(Path::new("x/final-twice.jsonl")));
    }
}
