//! Measures what it costs to compare a change with withheld lines, and to decide reads again, in processor time.
//!
//! Owns: the table. Never: judges a time; the numbers are for people: `cargo run --profile quick -p agentos-policy --example withheld_cost`.

use std::error::Error;
use std::io::Write as _;

use agentos_landing::{Change, FileState, RepoPath};
use agentos_policy::{Layer, PolicySet, PolicySource, TakenSearch, ToolFacts};
use agentos_tool::{Enforcement, ExecutionMode, Timestamp};

/// Rounds of which the fastest counts: other programs disturb the rest.
const ROUNDS: usize = 15;
/// Lines of the withheld files.
const WITHHELD_LINES: usize = 100_000;
/// Reads of a session.
const READS: usize = 1_000;
const RULES: &str = "version = 1\n[[rule]]\nid = \"ours.private\"\neffect = \"deny\"\nwhy = \"stays here\"\naction = [\"read\"]\n\
                     paths = [\"private/**\"]\nexecution_mode = \"cloud\"\n";

/// Returns the processor time of this thread in milliseconds.
fn processor_time() -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: u64 = text.split_whitespace().next().unwrap_or_default().parse()?;
    Ok(nanoseconds as f64 / 1e6)
}

/// Returns the shortest of several rounds.
fn measure(mut work: impl FnMut() -> usize) -> Result<(f64, usize), Box<dyn Error>> {
    let mut best = (f64::INFINITY, 0);
    for _ in 0..ROUNDS {
        let began = processor_time()?;
        let found = work();
        let took = processor_time()? - began;
        if took < best.0 {
            best = (took, found);
        }
    }
    Ok(best)
}

fn line(number: usize) -> String {
    format!(
        "    let value_{number} = compute_value({number}, other_{});\n",
        number % 977
    )
}

fn tool(execution_mode: ExecutionMode) -> ToolFacts {
    ToolFacts {
        provider: "far".to_owned(),
        model: None,
        execution_mode,
        enforcement: Enforcement::Observed,
        attempt: 1,
        at: Timestamp::from_unix_seconds(0),
        context_bytes: 0,
        target_ref: Some("refs/heads/main".to_owned()),
        checked: false,
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout();
    // 200 files of 500 lines, as a folder of sources has.
    let lines: Vec<String> = (0..WITHHELD_LINES).map(line).collect();
    let files: Vec<String> = lines.chunks(500).map(<[String]>::concat).collect();
    for added in [30, 300, 3_000] {
        // Half of the added lines are lines of the withheld files.
        let text: String = (0..added)
            .map(|at| line(at * 2 * WITHHELD_LINES / added))
            .collect();
        let path = RepoPath::new("src/new.rs").map_err(|refusal| refusal.message)?;
        let change = Change::new(vec![(path, None, Some(FileState::regular(text.as_bytes())))])?;
        let (took, found) = measure(|| {
            let mut search = TakenSearch::new(&change, |_| false);
            for (number, file) in files.iter().enumerate() {
                search.add_withheld(&format!("private/old{number}.rs"), file.as_bytes());
            }
            search.into_findings().len()
        })?;
        writeln!(
            out,
            "{added} added lines, {WITHHELD_LINES} withheld lines: {took:.2} ms, text of {found} files found"
        )?;
    }
    let set = PolicySet::load(&[PolicySource {
        layer: Layer::Repository,
        name: "ours.toml".to_owned(),
        text: RULES.to_owned(),
    }])?;
    let content = files
        .first()
        .map(|file| file.as_bytes().get(..2_000).unwrap_or_default().to_vec())
        .unwrap_or_default();
    for (what, mode) in [
        ("local model", ExecutionMode::Local),
        ("model of a cloud", ExecutionMode::Cloud),
    ] {
        let tool = tool(mode);
        let (took, denied) = measure(|| {
            let reading = set.read_policy(&tool);
            let path = |at: usize| match at % 100 {
                7 => format!("private/part{at}.md"),
                _ => format!("src/module{}/file{at}.rs", at % 20),
            };
            let effects = (0..READS).map(|at| reading.read_effect(&path(at), || content.clone()));
            effects
                .filter(|effect| *effect != agentos_policy::Effect::Allow)
                .count()
        })?;
        writeln!(out, "{READS} reads for a {what}: {took:.2} ms, {denied} denied")?;
    }
    Ok(())
}
