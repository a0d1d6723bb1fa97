//! `agentos policy`: judges changes without landing them, and shows the rules.
//!
//! Owns: the display and the exit status. Never: judges by itself.

use agentos_host::{
    Effect, FACTS, JudgeSpec, JudgeSubject, Judgement, PolicyExplain, PolicyLint, Preset, RulesSpec, RunSpec,
    count_examples, preset_file, preset_run, show_rules,
};
use agentos_tool::RunId;

use crate::app::{App, Done, output_failed, usage_error};
use crate::args::policy::{JudgeArgs, PolicyInitArgs, RulesArgs, ShowArgs};
use crate::exit::Exit;
use crate::terminal::follow::follow_run;
use crate::{input, render};

/// Shows the decision. The exit status follows from it.
pub fn check_change(app: &App, args: &JudgeArgs) -> Done {
    let judged = judge_change(app, args)?;
    if app.printer.json {
        app.printer
            .write_json(&judged.to_check())
            .map_err(|error| output_failed(&error))?;
    } else {
        // Without a diff, commit or path there is nothing to judge. Loading the rules has then already checked them.
        let text = match &judged.explanation {
            Some(explained) => render::policy::format_decision(&explained.decision),
            None => render::policy::format_usable(&judged.set),
        };
        app.print_paged(&text).map_err(|error| output_failed(&error))?;
    }
    Ok(exit_status(&judged))
}

/// Shows the decision as a tree.
pub fn explain_decision(app: &App, args: &JudgeArgs) -> Done {
    let judged = judge_change(app, args)?;
    let exit = exit_status(&judged);
    let Some(explanation) = judged.explanation else {
        return Err(usage_error("`policy explain` needs something to explain")
            .hint("name a diff, `-`, `--commit REV` or `--read PATH`"));
    };
    if app.printer.json {
        let explained = PolicyExplain {
            version: 1,
            explanation,
        };
        app.printer
            .write_json(&explained)
            .map_err(|error| output_failed(&error))?;
    } else {
        let text = render::policy::format_tree(&explanation) + &render::policy::format_presets(&judged.set);
        app.print_paged(&text).map_err(|error| output_failed(&error))?;
    }
    Ok(exit)
}

/// Shows the number of examples in each file. Loading the rules already tested them.
pub fn test_rules(app: &App, args: &RulesArgs) -> Done {
    let tested = count_examples(&app.host.runs().active_rules(&args.into())?);
    if app.printer.json {
        app.printer
            .write_json(&tested)
            .map_err(|error| output_failed(&error))?;
    } else {
        app.printer
            .write_report(&render::policy::format_tests(&tested.files))
            .map_err(|error| output_failed(&error))?;
    }
    Ok(Exit::Done)
}

/// Shows advice about the rules. Always exits with 0, because advice is not a failure.
pub fn lint_rules(app: &App, args: &RulesArgs) -> Done {
    let advice = app.host.runs().active_rules(&args.into())?.lint();
    if app.printer.json {
        app.printer
            .write_json(&PolicyLint { version: 1, advice })
            .map_err(|error| output_failed(&error))?;
    } else if advice.is_empty() {
        app.printer.show_note("no advice about the rules");
    } else {
        app.print_paged(&render::policy::format_advice(&advice))
            .map_err(|error| output_failed(&error))?;
    }
    Ok(Exit::Done)
}

/// Shows every active rule.
pub fn show_active_rules(app: &App, args: &ShowArgs) -> Done {
    let set = app.host.runs().active_rules(&(&args.rules).into())?;
    if app.printer.json {
        app.printer
            .write_json(&show_rules(&set))
            .map_err(|error| output_failed(&error))?;
    } else {
        app.print_paged(&render::policy::format_rules(&set, args.origin))
            .map_err(|error| output_failed(&error))?;
    }
    Ok(Exit::Done)
}

/// Prints an example policy file with a rule for every fact.
pub fn print_facts(app: &App) -> Done {
    app.print_exact(FACTS).map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

/// Lands a preset's file in index and working tree, for a person to review and commit.
pub fn init_policy(app: &App, args: &PolicyInitArgs, run: &RunId) -> Done {
    let preset = Preset::from(args.preset);
    let file = preset_file(preset);
    if args.print {
        app.printer
            .write_data(&file.content)
            .map_err(|error| output_failed(&error))?;
        return Ok(Exit::Done);
    }
    let spec = RunSpec {
        id: Some(run.clone()),
        ..preset_run(preset, app.host.person_name())
    };
    let outcome = app.outcome_of(follow_run(app, spec)?.end)?;
    let done = app.show_outcome(&outcome)?;
    if outcome.is_done() {
        // The person chose this text with their own command.
        app.host.agree_to_new_file(&file)?;
        app.printer.show_note(&format!(
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

fn judge_change(app: &App, args: &JudgeArgs) -> Result<Judgement, agentos_host::EffectError> {
    let subject = match (&args.commit, &args.read, &args.file) {
        (Some(revision), _, _) => Some(JudgeSubject::Commit(revision.clone())),
        (None, Some(path), _) => Some(JudgeSubject::Reading(path.clone())),
        (None, None, Some(file)) => Some(JudgeSubject::Answer(input::read_answer(app, file)?)),
        (None, None, None) => None,
    };
    app.host.runs().judge_subject(&JudgeSpec {
        rules: (&args.rules).into(),
        subject,
        provider: args.provider.clone(),
        model: args.model.clone(),
        is_cloud: args.cloud,
        branch: args.branch.clone(),
        is_checked: args.checked,
        is_told_to_tool: false,
    })
}

fn exit_status(judged: &Judgement) -> Exit {
    let explained = judged.explanation.as_ref();
    match explained.map(|explained| explained.decision.effect()) {
        // The numbers are those of a landing, so a script may use `policy check` to predict what `apply` would do.
        None | Some(Effect::Allow) => Exit::Done,
        Some(Effect::Ask) => Exit::ConsentNeeded,
        Some(Effect::Deny) => Exit::Denied,
    }
}
