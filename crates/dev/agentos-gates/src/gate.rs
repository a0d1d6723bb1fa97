//! One connectivity gate from start to verdict.
//!
//! Owns: the order of the station calls and what is recorded of them. Never: decides a check; `checks` does.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use agentos_tool::{ExecutionMode, Timestamp};
use serde_json::{Value, json};

use crate::checks::{self, Facts, Health, Run};
use crate::error::GateError;
use crate::evidence::{self, Tape};
use crate::options::Options;
use crate::product::{Printed, Product};
use crate::results::{CheckStatus, GateResults, HealthSummary};
use crate::witness::{self, State};

/// What makes one gate different from the other.
#[derive(Debug, Clone, Copy)]
pub struct GateSpec {
    /// The gate's name, which is also its folder's.
    pub name: &'static str,
    /// The provider it is about.
    pub provider: &'static str,
    /// The provider's name for people.
    pub title: &'static str,
    /// What the ids of its checks begin with.
    pub prefix: &'static str,
    /// Where the provider works. One at a vendor's is never given a key that nobody set.
    pub place: ExecutionMode,
}

/// LM Studio: `LMS-A` to `LMS-E`.
pub const LMSTUDIO: GateSpec = GateSpec {
    name: "tl_r2_lmstudio",
    provider: "lmstudio",
    title: "LM Studio",
    prefix: "LMS",
    place: ExecutionMode::Local,
};

/// llama.cpp: `LLC-A` to `LLC-E`.
pub const LLAMACPP: GateSpec = GateSpec {
    name: "tl_r2_llamacpp",
    provider: "llamacpp",
    title: "llama.cpp",
    prefix: "LLC",
    place: ExecutionMode::Local,
};

const fn spec(
    name: &'static str,
    provider: &'static str,
    title: &'static str,
    prefix: &'static str,
    place: ExecutionMode,
) -> GateSpec {
    GateSpec {
        name,
        provider,
        title,
        prefix,
        place,
    }
}

/// The other providers, whose gates share one binary.
pub const OTHERS: &[GateSpec] = &[
    spec("tl_r2_ollama", "ollama", "Ollama", "OLL", ExecutionMode::Local),
    spec("tl_r2_vllm", "vllm", "vLLM", "VLL", ExecutionMode::Local),
    spec("tl_r2_litellm", "litellm", "LiteLLM", "LIT", ExecutionMode::Local),
    spec("tl_r2_openai", "openai", "OpenAI", "OAI", ExecutionMode::Cloud),
    spec(
        "tl_r2_anthropic",
        "anthropic",
        "Anthropic",
        "ANT",
        ExecutionMode::Cloud,
    ),
    spec("tl_r2_gemini", "gemini", "Gemini", "GEM", ExecutionMode::Cloud),
    spec(
        "tl_r2_openrouter",
        "openrouter",
        "OpenRouter",
        "ORT",
        ExecutionMode::Cloud,
    ),
];

/// The smallest task there is.
const SAY_OK: &str = "Say 'ok'.";
/// A task whose answer must be a diff of one line.
const FIX_ADD: &str = "The function `add` in src/lib.rs subtracts. Make it add. Answer with one unified diff of src/lib.rs and \
                       change nothing else.";
/// A key that opens nothing: where nobody set one, the program is given this, and it must show up nowhere.
const CANARY: &str = "agentos-gate-canary-5f2b8c41d09e";

/// Runs the gate and leaves its evidence.
pub(crate) fn run(spec: &GateSpec, options: &Options) -> Result<GateResults, GateError> {
    let began = now();
    let temporary = tempfile::TempDir::new().map_err(GateError::file("the temporary folder"))?;
    let scratch = options
        .scratch
        .clone()
        .unwrap_or_else(|| temporary.path().to_path_buf());
    let home = scratch.join("home");
    std::fs::create_dir_all(&home).map_err(GateError::file(&home))?;
    let options = Options {
        agentos: absolute(&options.agentos)?,
        ..options.clone()
    };
    let mut tape = Tape::begin(&options.out, &format!("{}-{}", spec.name, began.as_str()))?;
    tape.add(
        &began,
        "gate-started",
        json!({"gate": spec.name, "mode": options.mode}),
    )?;

    let product = Product::new(spec, &options, &scratch, CANARY)?;
    let mut printed = Vec::new();
    let health = health(spec, &product, &scratch, &mut tape, &mut printed)?;
    let runs = match &health {
        Health::Said(said, _) if said.is_connected() => runs(&product, &scratch, &mut tape, &mut printed)?,
        Health::Said(..) | Health::Unreadable(_) => Vec::new(),
    };
    let leaks = leaks(&product, &scratch, &printed)?;
    let facts = Facts {
        spec,
        health: &health,
        runs: &runs,
        leaks: &leaks,
    };
    let results = GateResults::new(spec.name, began, options.mode, checks::all(&facts));
    record(spec, &options.out, &mut tape, &health, &results)?;
    Ok(results)
}

fn now() -> Timestamp {
    Timestamp::from_system(SystemTime::now())
}

/// The program is run in other folders, so a relative path must be resolved here.
fn absolute(program: &Path) -> Result<PathBuf, GateError> {
    std::path::absolute(program).map_err(GateError::file(program))
}

fn health(
    spec: &GateSpec,
    product: &Product<'_>,
    scratch: &Path,
    tape: &mut Tape,
    said: &mut Vec<Printed>,
) -> Result<Health, GateError> {
    let (printed, health) = product.health(scratch)?;
    let code = printed.code;
    said.push(printed);
    let body = match &health {
        Ok(health) => json!({"health": health, "exit_code": code}),
        Err(reason) => json!({"provider": spec.provider, "unreadable": reason, "exit_code": code}),
    };
    tape.add(&now(), "tool-health", body)?;
    Ok(match health {
        Ok(health) => Health::Said(Box::new(health), code),
        Err(reason) => Health::Unreadable(reason),
    })
}

/// Both tasks, each in the same repository, measured before and after by the gate itself.
fn runs(
    product: &Product<'_>,
    scratch: &Path,
    tape: &mut Tape,
    said: &mut Vec<Printed>,
) -> Result<Vec<Run>, GateError> {
    let repository = witness::make_repository(scratch)?;
    let mut runs = Vec::new();
    for (task, file) in [(SAY_OK, None), (FIX_ADD, Some("src/lib.rs"))] {
        let before = State::measure(&repository)?;
        let (printed, result) = product.run(&repository, task, file)?;
        let code = printed.code;
        let written = before.differences(&State::measure(&repository)?);
        said.push(printed);
        let body = match &result {
            Ok(value) => json!({"task": task, "result": value, "exit_code": code, "measured": written}),
            Err(reason) => {
                json!({"task": task, "unreadable": reason, "exit_code": code, "measured": written})
            }
        };
        tape.add(&now(), "tool-result", body)?;
        let diff = result
            .as_ref()
            .ok()
            .and_then(|value| value.get("diff"))
            .and_then(Value::as_str);
        let second_opinion = match diff.map(|diff| witness::applies(&repository, diff)) {
            None | Some(Ok(())) => None,
            Some(Err(error)) => Some(error.to_string()),
        };
        runs.push(Run {
            result,
            code,
            written,
            second_opinion,
        });
    }
    Ok(runs)
}

/// Every place where the key was found: on either stream, or in what the program stored in its home or in the
/// repository. Inside: why it was not looked for.
fn leaks(
    product: &Product<'_>,
    scratch: &Path,
    said: &[Printed],
) -> Result<Result<Vec<String>, String>, GateError> {
    let key = match product.key() {
        Ok(key) => key,
        Err(reason) => return Ok(Err(reason)),
    };
    let mut found = Vec::new();
    if said.iter().any(|printed| printed.stdout.contains(key)) {
        found.push("standard output".to_owned());
    }
    if said.iter().any(|printed| printed.stderr.contains(key)) {
        found.push("standard error".to_owned());
    }
    let stored = witness::containing(scratch, key.as_bytes())?;
    found.extend(stored.iter().map(|path| path.display().to_string()));
    Ok(Ok(found))
}

fn record(
    spec: &GateSpec,
    out: &Path,
    tape: &mut Tape,
    health: &Health,
    results: &GateResults,
) -> Result<(), GateError> {
    for check in &results.checks {
        tape.add(&now(), "check", check)?;
    }
    let verdict = json!({"gate": spec.name, "status": results.status, "counts": results.counts});
    tape.add(&now(), "gate-finished", verdict)?;
    let passed = results.status == CheckStatus::Passed;
    let summary = match health {
        Health::Said(health, _) => HealthSummary::new(health, passed),
        Health::Unreadable(reason) => {
            HealthSummary::unreadable(spec.provider, results.started_at.clone(), reason.clone())
        }
    };
    evidence::report(out, "health_summary.json", &summary)?;
    evidence::report(out, "gate_results.json", results)
}
