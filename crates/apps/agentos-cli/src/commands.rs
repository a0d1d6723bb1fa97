//! Verbs, with one file each; this one only dispatches to them.
//!
//! Owns: the dispatch. Never: prints results itself.

pub mod apply;
pub mod approve;
pub mod auth;
pub mod completions;
pub mod demo;
pub mod diff;
pub mod doctor;
pub mod evidence;
pub mod evidence_export;
pub mod evidence_key;
pub mod evidence_replay;
pub mod health;
pub mod init;
pub mod man;
pub mod models;
pub mod policy;
pub mod profile;
pub mod profile_init;
pub mod recover;
pub mod run;
pub mod schema;
pub mod status;
pub mod tool_conform;
pub mod tool_list;
pub mod tool_run;
pub mod undo;

use crate::app::App;
use crate::args::Verb;
use crate::args::evidence::{EvidenceVerb, KeyVerb};
use crate::args::land::DiffVerb;
use crate::args::policy::PolicyVerb;
use crate::args::tool::{AuthVerb, ModelsVerb, ProfileVerb, ToolVerb};
use crate::exit::Exit;

/// Runs a verb and shows its failure, if any.
pub fn run(app: &App, verb: Option<&Verb>) -> Exit {
    let run = agentos_host::new_run();
    let Some(verb) = verb else {
        return status::status(app).unwrap_or_else(|error| app.show_failure(None, &error));
    };
    // For a verb that lands, a failure is shown as an outcome with the run's id, because the run may have left records.
    let (lands, done) = match verb {
        Verb::Demo(args) => (false, demo::demo(app, args)),
        Verb::Init(args) => (false, init::init(app, args, &run)),
        Verb::Doctor(args) => (false, doctor::doctor(app, args)),
        Verb::Apply(args) => (true, apply::apply(app, args, &run)),
        Verb::Diff(DiffVerb::Normalize(args)) => (false, diff::normalize(app, args)),
        Verb::Run(args) => (true, run::run(app, args, &run)),
        Verb::Approve(args) => (
            args.run.is_some() && !args.show,
            approve::approve(app, args, &run),
        ),
        Verb::Deny(args) => (false, approve::deny(app, args)),
        Verb::Recover => (false, recover::recover(app)),
        Verb::Undo(args) => (true, undo::undo(app, args, &run)),
        Verb::Policy(PolicyVerb::Init(args)) => (!args.print, policy::init(app, args, &run)),
        Verb::Policy(PolicyVerb::Check(args)) => (false, policy::check(app, args)),
        Verb::Policy(PolicyVerb::Explain(args)) => (false, policy::explain(app, args)),
        Verb::Policy(PolicyVerb::Test(args)) => (false, policy::test(app, args)),
        Verb::Policy(PolicyVerb::Lint(args)) => (false, policy::lint(app, args)),
        Verb::Policy(PolicyVerb::Show(args)) => (false, policy::show(app, args)),
        Verb::Policy(PolicyVerb::Facts) => (false, policy::facts(app)),
        Verb::Tool(ToolVerb::List) => (false, tool_list::list(app)),
        Verb::Tool(ToolVerb::Health(args)) => (false, health::health(app, args)),
        Verb::Tool(ToolVerb::Run(args)) => (true, tool_run::run(app, args, &run)),
        Verb::Tool(ToolVerb::Conform(args)) => (false, tool_conform::conform(app, args)),
        Verb::Tool(ToolVerb::Auth(AuthVerb::Set(args))) => (false, auth::set(app, args)),
        Verb::Tool(ToolVerb::Auth(AuthVerb::Status)) => (false, auth::status(app)),
        Verb::Tool(ToolVerb::Auth(AuthVerb::Clear(args))) => (false, auth::clear(app, args)),
        Verb::Evidence(EvidenceVerb::List(args)) => (false, evidence::list(app, args)),
        Verb::Evidence(EvidenceVerb::Show(args)) => (false, evidence::show(app, args)),
        Verb::Evidence(EvidenceVerb::Verify(args)) => (false, evidence::verify(app, args)),
        Verb::Evidence(EvidenceVerb::Replay(args)) => (false, evidence_replay::replay(app, args)),
        Verb::Evidence(EvidenceVerb::Stats) => (false, evidence::stats(app)),
        Verb::Evidence(EvidenceVerb::Export(args)) => (false, evidence_export::export(app, args)),
        Verb::Evidence(EvidenceVerb::Key(KeyVerb::Show)) => (false, evidence_key::show(app)),
        Verb::Evidence(EvidenceVerb::Key(KeyVerb::Rotate(args))) => (false, evidence_key::rotate(app, args)),
        Verb::Evidence(EvidenceVerb::Key(KeyVerb::Trust(args))) => (false, evidence_key::trust(app, args)),
        Verb::Profile(ProfileVerb::List) => (false, tool_list::list(app)),
        Verb::Profile(ProfileVerb::Init(args)) => (false, profile_init::init(app, args)),
        Verb::Models(ModelsVerb::List(args)) => (false, models::list(app, args)),
        Verb::Models(ModelsVerb::Show(args)) => (false, models::show(app, args)),
        Verb::Profile(ProfileVerb::Show(args)) => (false, profile::show(app, args)),
        Verb::Profile(ProfileVerb::Validate(args)) => (false, profile::validate(app, args)),
        Verb::Schema(args) => (false, schema::schema(app, args)),
        Verb::Completions(args) => (false, completions::completions(app, args)),
        Verb::Man(args) => (false, man::man(app, args)),
    };
    done.unwrap_or_else(|error| app.show_failure(lands.then_some(&run), &error))
}
