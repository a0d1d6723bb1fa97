//! `agentos policy`: judge without landing, and look at the rules.
//!
//! Owns: what is judged and by which rules. Never: lands a change; `init` goes through the same door as all.

use std::path::Path;

use agentos_engine::Cause;
use agentos_engine::ports::{EffectError, Repository as _, TargetInfo};
use agentos_engine::settle::{self, Proposal};
use agentos_executor::{ExecError, TargetSpec};
use agentos_landing::{Base, BaseError, EntryKind, LandError, LandOptions, Landed, ResultFacts, land};
use agentos_policy::{
    Advice, Decision, Effect, Explanation, Layer, PolicySet, PolicySource, Preset, RuleRef, Standing,
    ToolFacts,
};
use agentos_tool::{ExecutionMode, RunId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::{App, Done, output_failed, usage};
use crate::args::policy::{JudgeArgs, PolicyInitArgs, PresetArg, RulesArgs, ShowArgs};
use crate::commands::apply::patch_facts;
use crate::env::Env;
use crate::exit::Exit;
use crate::render;
use crate::wire::consent::Asker;
use crate::wire::repository::{self, RepositoryPort};
use crate::wire::session::{Session, Wanted};
use crate::{input, wire};

/// What `policy check --json` prints.
#[derive(Serialize, JsonSchema)]
pub struct PolicyCheck {
    /// Version of this shape: 1.
    pub version: u32,
    /// SHA-256 of the policy set.
    pub policy_sha256: String,
    /// How many rules are in force.
    pub rules: usize,
    /// The answer; none when nothing was to be judged.
    pub decision: Option<Decision>,
}

/// What `policy explain --json` prints.
#[derive(Serialize, JsonSchema)]
pub struct PolicyExplain {
    /// Version of this shape: 1.
    pub version: u32,
    /// The decision and the way to it.
    pub explanation: Explanation,
}

/// What `policy show --json` prints.
#[derive(Serialize, JsonSchema)]
pub struct PolicyShow {
    /// Version of this shape: 1.
    pub version: u32,
    /// SHA-256 of the policy set.
    pub policy_sha256: String,
    /// The layers that must themselves allow what is to go ahead.
    pub stands: Vec<Standing>,
    /// Every rule.
    pub rules: Vec<ShownRule>,
}

/// A rule, and whether it has a say.
#[derive(Serialize, JsonSchema)]
pub struct ShownRule {
    /// Which rule.
    pub rule: RuleRef,
    /// False for an allow in a layer that names no preset.
    pub counts: bool,
}

/// What `policy test --json` prints.
#[derive(Serialize, JsonSchema)]
pub struct PolicyTest {
    /// Version of this shape: 1.
    pub version: u32,
    /// Each file with rules.
    pub files: Vec<TestedFile>,
}

/// A file whose examples came out right.
#[derive(Serialize, JsonSchema)]
pub struct TestedFile {
    /// The file.
    pub source: String,
    /// Examples that matched, as they must.
    pub matched: usize,
    /// Examples that did not, as they must not.
    pub not_matched: usize,
}

/// What `policy lint --json` prints.
#[derive(Serialize, JsonSchema)]
pub struct PolicyLint {
    /// Version of this shape: 1.
    pub version: u32,
    /// What to look at.
    pub advice: Vec<Advice>,
}

/// Answers, and ends with the answer's code.
pub fn check(app: &App, args: &JudgeArgs) -> Done {
    let judged = judge(app, args)?;
    if app.printer.json {
        let check = PolicyCheck {
            version: 1,
            policy_sha256: judged.set.sha256().to_owned(),
            rules: judged.set.rules().len(),
            decision: judged
                .explanation
                .as_ref()
                .map(|explained| explained.decision.clone()),
        };
        app.printer.json(&check).map_err(|error| output_failed(&error))?;
    } else {
        let text = match &judged.explanation {
            Some(explained) => render::policy::decision(&explained.decision),
            None => render::policy::usable(&judged.set),
        };
        app.page(&text).map_err(|error| output_failed(&error))?;
    }
    Ok(judged.exit())
}

/// Answers as a tree.
pub fn explain(app: &App, args: &JudgeArgs) -> Done {
    let judged = judge(app, args)?;
    let exit = judged.exit();
    let Some(explanation) = judged.explanation else {
        return Err(usage("nothing is named that could be explained")
            .hint("name a diff, `-`, `--commit REV` or `--read PATH`"));
    };
    if app.printer.json {
        let explained = PolicyExplain {
            version: 1,
            explanation,
        };
        app.printer
            .json(&explained)
            .map_err(|error| output_failed(&error))?;
    } else {
        app.page(&render::policy::tree(&explanation))
            .map_err(|error| output_failed(&error))?;
    }
    Ok(exit)
}

/// The examples were asked when the rules were loaded; this says how many there are.
pub fn test(app: &App, args: &RulesArgs) -> Done {
    let set = rules(app, args)?;
    let files: Vec<TestedFile> = set
        .examples()
        .into_iter()
        .map(|(source, (matched, not_matched))| TestedFile {
            source: source.to_owned(),
            matched,
            not_matched,
        })
        .collect();
    if app.printer.json {
        app.printer
            .json(&PolicyTest { version: 1, files })
            .map_err(|error| output_failed(&error))?;
    } else {
        app.printer
            .data(&render::policy::tested(&files))
            .map_err(|error| output_failed(&error))?;
    }
    Ok(Exit::Done)
}

/// Advice is no failure: it ends with 0, whatever is found.
pub fn lint(app: &App, args: &RulesArgs) -> Done {
    let advice = rules(app, args)?.lint();
    if app.printer.json {
        app.printer
            .json(&PolicyLint { version: 1, advice })
            .map_err(|error| output_failed(&error))?;
    } else if advice.is_empty() {
        app.printer.note("nothing to say about the rules");
    } else {
        app.page(&render::policy::advice(&advice))
            .map_err(|error| output_failed(&error))?;
    }
    Ok(Exit::Done)
}

/// Every rule in force.
pub fn show(app: &App, args: &ShowArgs) -> Done {
    let set = rules(app, &args.rules)?;
    if app.printer.json {
        let shown = set.rules().iter().map(|rule| ShownRule {
            rule: rule.told(),
            counts: rule.counts(),
        });
        let show = PolicyShow {
            version: 1,
            policy_sha256: set.sha256().to_owned(),
            stands: set.standings().to_vec(),
            rules: shown.collect(),
        };
        app.printer.json(&show).map_err(|error| output_failed(&error))?;
    } else {
        app.page(&render::policy::rules(&set, args.origin))
            .map_err(|error| output_failed(&error))?;
    }
    Ok(Exit::Done)
}

/// The documented examples, as a file that loads.
pub fn facts(app: &App) -> Done {
    app.page(agentos_policy::FACTS)
        .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

/// Lands a preset's file in index and work tree, to be looked at and committed by a person.
pub fn init(app: &App, args: &PolicyInitArgs, run: &RunId) -> Done {
    let preset = match args.preset {
        PresetArg::Default => Preset::Default,
        PresetArg::Solo => Preset::Solo,
        PresetArg::Team => Preset::Team,
        PresetArg::Strict => Preset::Strict,
    };
    let text = preset.text().unwrap_or_default();
    if args.print {
        app.printer.data(text).map_err(|error| output_failed(&error))?;
        return Ok(Exit::Done);
    }
    let wanted = Wanted {
        no_commit: true,
        ..Wanted::default()
    };
    let mut session = Session::open(app, &wanted, run)?;
    let path = format!(".agentos/policy/{}.toml", preset.as_str());
    // A whole new file, as a diff: it goes the way of every change.
    let lines: String = text.lines().map(|line| format!("+{line}\n")).collect();
    let answer = format!(
        "--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{} @@\n{lines}",
        text.lines().count()
    );
    // Who asks for a policy has agreed to having one.
    session.consent_by(Asker::Yes {
        who: app.env.user(),
        how: "policy init".to_owned(),
    });
    let proposal = Proposal {
        run,
        answer: answer.as_bytes(),
        seen: Vec::new(),
        tool: patch_facts(),
        reported_model: None,
        message: format!("Begin with the policy preset {}", preset.as_str()),
        trailers: Vec::new(),
        attempt: 1,
        partial: false,
        answers: None,
        proved: None,
    };
    let instruction = format!("Begin with the policy preset {}", preset.as_str());
    let outcome = settle::apply(&mut session.deps(), "policy init", &instruction, &proposal);
    session.seal(app);
    let done = app.finish(&outcome)?;
    if outcome.is_done() {
        app.printer.note(&format!(
            "  next: read {path}, change what does not fit, and commit it; a policy is in force once it is committed"
        ));
    }
    Ok(done)
}

struct Judged {
    set: PolicySet,
    explanation: Option<Explanation>,
}

impl Judged {
    fn exit(&self) -> Exit {
        match self
            .explanation
            .as_ref()
            .map(|explained| explained.decision.effect())
        {
            None | Some(Effect::Allow) => Exit::Done,
            Some(Effect::Ask) => Exit::ConsentNeeded,
            Some(Effect::Deny) => Exit::Denied,
        }
    }
}

fn judge(app: &App, args: &JudgeArgs) -> Result<Judged, EffectError> {
    let repo = repository::open(app)?;
    let committed = match &args.commit {
        Some(revision) => Some(repo.committed(revision).map_err(|error| match &error {
            ExecError::Repo(error) => repository::unusable(error),
            other => repository::failed(other),
        })?),
        None => None,
    };
    let port = port(app, &args.rules)?;
    let target = match &committed {
        Some((target, _)) => repository::info(target),
        None => port.target()?,
    };
    let tool = as_if(args, &target);
    let set = in_force(app, &args.rules, &port, &target)?;
    let base = port.base(&target)?;
    let explanation = match (&committed, &args.read, &args.file) {
        (Some((_, change)), _, _) => {
            let facts = ResultFacts::read(change, base.as_ref()).map_err(|error| unreadable_base(&error))?;
            Some(set.explain(change, &facts, &tool))
        }
        (None, Some(path), _) => Some(explain_read(&set, path, base.as_ref(), &tool)),
        (None, None, Some(file)) => {
            let landed = landed(&input::answer(&app.env, file)?, base.as_ref())?;
            Some(set.explain(&landed.change, &landed.facts, &tool))
        }
        (None, None, None) => None,
    };
    drop(base);
    Ok(Judged { set, explanation })
}

/// The tool and the branch that the arguments name.
fn as_if(args: &JudgeArgs, target: &TargetInfo) -> ToolFacts {
    let branch = args.branch.as_ref().map(|name| format!("refs/heads/{name}"));
    ToolFacts {
        provider: args.provider.clone(),
        model: args.model.clone(),
        execution_mode: if args.cloud {
            ExecutionMode::Cloud
        } else {
            ExecutionMode::Local
        },
        target_ref: Some(branch.unwrap_or_else(|| target.refname.clone())),
        checked: args.checked,
        ..patch_facts()
    }
}

/// Reads what is there; a file that is not there is judged by its name.
fn explain_read(set: &PolicySet, path: &str, base: &dyn Base, tool: &ToolFacts) -> Explanation {
    let content = match base.entry(path) {
        Ok(Some(entry)) if matches!(entry.kind, EntryKind::File(_)) => base.read(&entry.id).ok(),
        Ok(Some(_) | None) | Err(_) => None,
    };
    let content = content.as_deref().unwrap_or_default();
    let tool = ToolFacts {
        context_bytes: content.len() as u64,
        ..tool.clone()
    };
    set.explain_read(path, content, &tool)
}

fn landed(answer: &[u8], base: &dyn Base) -> Result<Landed, EffectError> {
    match land(answer, base, &LandOptions::default()) {
        Ok(found) => Ok(found),
        Err(LandError::Refused(report)) => {
            let refusal = report.refusal.unwrap_or_else(|| {
                agentos_landing::Refusal::new(
                    agentos_landing::RefusalCode::Malformed,
                    "the diff does not land",
                )
            });
            let effect = EffectError::new(Cause::Landing, refusal.code.as_str(), refusal.message);
            Err(match refusal.hint {
                Some(hint) => effect.hint(hint),
                None => effect,
            })
        }
        Err(LandError::Base(error)) => Err(unreadable_base(&error)),
    }
}

fn unreadable_base(error: &BaseError) -> EffectError {
    EffectError::new(Cause::Repository, "unreadable-base", error.to_string())
}

fn port(app: &App, args: &RulesArgs) -> Result<RepositoryPort, EffectError> {
    let layers = wire::policy::outer_layers(app, &args.policy)?;
    let repo = repository::open(app)?;
    Ok(RepositoryPort::new(app, repo, TargetSpec::AtHead, layers))
}

/// The rules in force for HEAD.
fn rules(app: &App, args: &RulesArgs) -> Result<PolicySet, EffectError> {
    let port = port(app, args)?;
    let target = port.target()?;
    in_force(app, args, &port, &target)
}

/// The rules in force, or those that would be if a folder's files were committed.
fn in_force(
    app: &App,
    args: &RulesArgs,
    port: &RepositoryPort,
    target: &agentos_engine::ports::TargetInfo,
) -> Result<PolicySet, EffectError> {
    let Some(folder) = &args.rules else {
        return Ok(port.policy(target)?.set.clone());
    };
    let mut sources = wire::policy::outer_layers(app, &args.policy)?;
    sources.extend(tried(&app.env, &app.env.cwd.join(folder))?);
    let set = PolicySet::load(&sources).map_err(|error| wire::policy::wrong(&error))?;
    Ok(set.with_hooks_path(port.repo().hooks_path().as_deref()))
}

/// A folder's files, as the repository's.
fn tried(env: &Env, folder: &Path) -> Result<Vec<PolicySource>, EffectError> {
    let missing = || {
        usage(format!("there is no folder `{}`", env.shown(folder)))
            .hint("name a folder with rule files, as `.agentos/policy`")
    };
    wire::policy::rule_files(env, folder)?
        .ok_or_else(missing)?
        .into_iter()
        .map(|file| wire::policy::source(env, Layer::Repository, &file))
        .collect()
}
