//! `agentos policy`: judges changes without landing them, and shows the rules.
//!
//! Owns: the display and the exit status. Never: judges by itself.

use agentos_host::{
    Effect, FACTS, JudgeSpec, JudgeSubject, Judgement, PolicyExplain, PolicyLint, Preset, RulesSpec, RunSpec,
    count_examples, preset_file, preset_run, show_rules,
};
use agentos_tool::RunId;

use crate::app::{App, Done, output_failed, usage};
use crate::args::policy::{JudgeArgs, PolicyInitArgs, RulesArgs, ShowArgs};
use crate::exit::Exit;
use crate::terminal::follow::follow;
use crate::{input, render};

/// Shows the decision. The exit status follows from it.
pub fn check(app: &App, args: &JudgeArgs) -> Done {
    let judged = judge(app, args)?;
    if app.printer.json {
        app.printer
            .json(&judged.to_check())
            .map_err(|error| output_failed(&error))?;
    } else {
        let text = match &judged.explanation {
            Some(explained) => render::policy::decision(&explained.decision),
            None => render::policy::usable(&judged.set),
        };
        app.page(&text).map_err(|error| output_failed(&error))?;
    }
    Ok(exit(&judged))
}

/// Shows the decision as a tree.
pub fn explain(app: &App, args: &JudgeArgs) -> Done {
    let judged = judge(app, args)?;
    let exit = exit(&judged);
    let Some(explanation) = judged.explanation else {
        return Err(usage("`policy explain` needs something to explain")
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

/// Shows the number of examples in each file. Loading the rules already tested them.
pub fn test(app: &App, args: &RulesArgs) -> Done {
    let tested = count_examples(&app.host.rules(&args.into())?);
    if app.printer.json {
        app.printer.json(&tested).map_err(|error| output_failed(&error))?;
    } else {
        app.printer
            .data(&render::policy::tested(&tested.files))
            .map_err(|error| output_failed(&error))?;
    }
    Ok(Exit::Done)
}

/// Shows advice about the rules. Always exits with 0, because advice is not a failure.
pub fn lint(app: &App, args: &RulesArgs) -> Done {
    let advice = app.host.rules(&args.into())?.lint();
    if app.printer.json {
        app.printer
            .json(&PolicyLint { version: 1, advice })
            .map_err(|error| output_failed(&error))?;
    } else if advice.is_empty() {
        app.printer.note("no advice about the rules");
    } else {
        app.page(&render::policy::advice(&advice))
            .map_err(|error| output_failed(&error))?;
    }
    Ok(Exit::Done)
}

/// Shows every active rule.
pub fn show(app: &App, args: &ShowArgs) -> Done {
    let set = app.host.rules(&(&args.rules).into())?;
    if app.printer.json {
        app.printer
            .json(&show_rules(&set))
            .map_err(|error| output_failed(&error))?;
    } else {
        app.page(&render::policy::rules(&set, args.origin))
            .map_err(|error| output_failed(&error))?;
    }
    Ok(Exit::Done)
}

/// Prints an example policy file with a rule for every fact.
pub fn facts(app: &App) -> Done {
    app.page(FACTS).map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

/// Lands a preset's file in index and working tree, for a person to review and commit.
pub fn init(app: &App, args: &PolicyInitArgs, run: &RunId) -> Done {
    let preset = Preset::from(args.preset);
    let file = preset_file(preset);
    if args.print {
        app.printer
            .data(&file.content)
            .map_err(|error| output_failed(&error))?;
        return Ok(Exit::Done);
    }
    let spec = RunSpec {
        id: Some(run.clone()),
        ..preset_run(preset, app.host.environment().user())
    };
    let outcome = app.outcome_of(follow(app, spec)?)?;
    let done = app.show_outcome(&outcome)?;
    if outcome.is_done() {
        app.printer.note(&format!(
            "  next: review and adapt {}, and commit it; a policy becomes active when it is committed",
            file.path
        ));
    }
    Ok(done)
}

impl From<&RulesArgs> for RulesSpec {
    fn from(args: &RulesArgs) -> Self {
        Self {
            policies: args.policy.clone(),
            folder: args.rules.clone(),
        }
    }
}

fn judge(app: &App, args: &JudgeArgs) -> Result<Judgement, agentos_host::EffectError> {
    let subject = match (&args.commit, &args.read, &args.file) {
        (Some(revision), _, _) => Some(JudgeSubject::Commit(revision.clone())),
        (None, Some(path), _) => Some(JudgeSubject::Reading(path.clone())),
        (None, None, Some(file)) => Some(JudgeSubject::Answer(input::answer(app, file)?)),
        (None, None, None) => None,
    };
    app.host.judge(&JudgeSpec {
        rules: (&args.rules).into(),
        subject,
        provider: args.provider.clone(),
        model: args.model.clone(),
        is_cloud: args.cloud,
        branch: args.branch.clone(),
        is_checked: args.checked,
    })
}

fn exit(judged: &Judgement) -> Exit {
    let explained = judged.explanation.as_ref();
    match explained.map(|explained| explained.decision.effect()) {
        None | Some(Effect::Allow) => Exit::Done,
        Some(Effect::Ask) => Exit::ConsentNeeded,
        Some(Effect::Deny) => Exit::Denied,
    }
}
