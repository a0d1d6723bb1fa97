//! Verbs, with one file each; this one only dispatches to them.
//!
//! Owns: the dispatch. Never: prints results itself.

pub mod apply;
pub mod approve;
pub mod auth;
pub mod budget;
pub mod chat;
#[cfg(unix)]
pub mod chat_complete;
mod chat_display;
pub mod chat_input;
pub mod chat_sessions;
pub mod chat_talk;
pub mod chat_turn;
pub mod chat_withheld;
pub mod chat_words;
pub mod check;
pub mod completions;
pub mod config;
pub mod cost;
pub mod demo;
pub mod diff;
pub mod doctor;
pub mod evidence;
pub mod evidence_export;
pub mod evidence_key;
pub mod evidence_publish;
pub mod evidence_replay;
pub mod health;
pub mod init;
pub mod land;
pub mod log;
pub mod man;
mod mcp;
pub mod models;
pub mod policy;
pub mod pool;
pub mod profile;
pub mod profile_init;
pub mod question;
pub mod recover;
pub mod retry;
pub mod run;
pub mod schema;
pub mod serve;
pub mod service_token;
pub mod show;
pub mod sign_in;
pub mod status;
pub mod tool_conform;
pub mod tool_list;
pub mod tool_run;
pub mod tool_trust;
pub mod trust;
pub mod undo;

use agentos_host::ModelAction;

use crate::app::{App, usage_error};
use crate::args::Verb;
use crate::args::cost::StoreVerb;
use crate::args::evidence::{EvidenceVerb, KeyVerb};
use crate::args::land::DiffVerb;
use crate::args::models::ModelsVerb;
use crate::args::policy::PolicyVerb;
use crate::args::service_token::{ServeVerb, TokenVerb};
use crate::args::tool::{AuthVerb, ProfileVerb, ToolVerb};
use crate::exit::Exit;

/// Returns true if the verb's one short write is finished before a signal ends the program. Runs handle signals themselves,
/// and other verbs write nothing that could remain half done.
fn must_finish(verb: &Verb) -> bool {
    matches!(
        verb,
        Verb::Deny(_)
            | Verb::Recover
            | Verb::Tool(ToolVerb::Auth(AuthVerb::Clear(_)))
            | Verb::Evidence(EvidenceVerb::Key(KeyVerb::Rotate(_) | KeyVerb::Trust(_)))
    )
}

/// Returns a description of the output of a verb that has no JSON form. `None` if it has one.
///
/// A caller that requests JSON would otherwise try to parse text.
fn prints_text_only(verb: &Verb) -> Option<&'static str> {
    match verb {
        Verb::Demo(_) => Some("the demonstration"),
        Verb::Chat(args) if args.verb.is_none() => Some("a conversation"),
        Verb::Completions(_) => Some("a script for a shell"),
        Verb::Man(args) if args.reference || !args.verb.is_empty() => Some("a manual page"),
        Verb::Serve(args) => match &args.verb {
            None => Some("the link of a service"),
            Some(ServeVerb::Token(TokenVerb::Add(_))) => Some("a new token"),
            Some(ServeVerb::Token(TokenVerb::List | TokenVerb::Revoke(_))) => None,
        },
        Verb::Open(_) => Some("a link"),
        Verb::Mcp(args) if args.verb.is_none() => Some("the protocol"),
        Verb::Mcp(_) => Some("the text for a settings file"),
        Verb::Policy(PolicyVerb::Facts) => Some("the list of facts"),
        Verb::Policy(PolicyVerb::Init(args)) if args.print => Some("a policy file"),
        _ => None,
    }
}

/// Runs a verb and shows its failure, if any.
pub fn run_verb(app: &App, verb: Option<&Verb>) -> Exit {
    // The id exists before the verb starts, so that a failure before the first record can name the same id as the
    // records after it.
    let run = agentos_host::new_run();
    let Some(verb) = verb else {
        return status::show_status(app).unwrap_or_else(|error| app.show_failure(None, &error));
    };
    if let Some(what) = prints_text_only(verb).filter(|_| app.printer.json) {
        let error = usage_error(format!("{what} is text, and there is no JSON form of it"));
        return app.show_failure(None, &error.hint("leave `--json` out"));
    }
    let _guard = must_finish(verb).then(|| app.signals.guard_orderly());
    // For a verb that lands, a failure is shown as an outcome with the run's id, because the run may have left records.
    let (lands, done) = match verb {
        Verb::Demo(args) => (false, demo::run_demo(app, args)),
        Verb::Init(args) => (false, init::init_repository(app, args, &run)),
        Verb::Use(args) => (false, config::use_provider(app, args)),
        Verb::Config(args) => (false, config::edit_settings(app, args)),
        Verb::Doctor(args) => (false, doctor::run_checks(app, args)),
        Verb::Apply(args) => (true, apply::land_answer(app, args, &run)),
        Verb::Diff(DiffVerb::Normalize(args)) => (false, diff::normalize_diff(app, args)),
        Verb::Run(args) => (true, run::run_task(app, args, &run)),
        Verb::Chat(args) => (false, chat::run_chat(app, args, &run)),
        Verb::Retry(args) => (true, retry::retry_run(app, args, &run)),
        Verb::Land(args) => (true, land::land_recorded(app, args, &run)),
        Verb::Approve(args) => (
            args.run.is_some() && !args.show,
            approve::answer_request(app, args, &run),
        ),
        Verb::Deny(args) => (false, approve::deny_request(app, args)),
        Verb::Status(args) => (false, status::show_machine(app, args)),
        Verb::Log(args) => (false, log::show_log(app, args)),
        Verb::Cost(args) => (false, cost::show_costs(app, args)),
        Verb::Serve(args) => (false, serve::start_service(app, args)),
        Verb::Open(args) => (false, serve::open_page(app, args)),
        Verb::Mcp(args) => (false, mcp::run_mcp(app, args)),
        Verb::Budget(verb) => (false, budget::run_budget(app, verb)),
        Verb::Store(StoreVerb::Rebuild) => (false, cost::rebuild_store(app)),
        Verb::Show(args) => (false, show::show_run(app, args)),
        Verb::Recover => (false, recover::recover_landing(app)),
        Verb::Undo(args) => (true, undo::undo_run(app, args, &run)),
        Verb::Policy(PolicyVerb::Init(args)) => (!args.print, policy::init_policy(app, args, &run)),
        Verb::Policy(PolicyVerb::Check(args)) => (false, policy::check_change(app, args)),
        Verb::Policy(PolicyVerb::Explain(args)) => (false, policy::explain_decision(app, args)),
        Verb::Policy(PolicyVerb::Test(args)) => (false, policy::test_rules(app, args)),
        Verb::Policy(PolicyVerb::Lint(args)) => (false, policy::lint_rules(app, args)),
        Verb::Policy(PolicyVerb::Show(args)) => (false, policy::show_active_rules(app, args)),
        Verb::Policy(PolicyVerb::Facts) => (false, policy::print_facts(app)),
        Verb::Trust(args) => (false, trust::trust_policy(app, args)),
        Verb::Tool(ToolVerb::List) => (false, tool_list::list_providers(app)),
        Verb::Tool(ToolVerb::Health(args)) => (false, health::check_health(app, args)),
        Verb::Tool(ToolVerb::Run(args)) => (true, tool_run::run_tool(app, args, &run)),
        Verb::Tool(ToolVerb::Trust(args)) => (false, tool_trust::trust_toolbox(app, args)),
        Verb::Tool(ToolVerb::Conform(args)) => (false, tool_conform::check_conformance(app, args)),
        Verb::Tool(ToolVerb::Auth(AuthVerb::Set(args))) => (false, auth::set_key(app, args)),
        Verb::Tool(ToolVerb::Auth(AuthVerb::SignIn(args))) => (false, sign_in::sign_in(app, args)),
        Verb::Tool(ToolVerb::Auth(AuthVerb::Status)) => (false, auth::show_keys(app)),
        Verb::Tool(ToolVerb::Auth(AuthVerb::Clear(args))) => (false, auth::clear_key(app, args)),
        Verb::Evidence(EvidenceVerb::List(args)) => (false, evidence::list_runs(app, args)),
        Verb::Evidence(EvidenceVerb::Show(args)) => (false, evidence::show_run(app, args)),
        Verb::Evidence(EvidenceVerb::Verify(args)) => (false, evidence::verify_evidence(app, args)),
        Verb::Evidence(EvidenceVerb::Replay(args)) => (false, evidence_replay::replay_runs(app, args)),
        Verb::Evidence(EvidenceVerb::Stats) => (false, evidence::show_stats(app)),
        Verb::Evidence(EvidenceVerb::Export(args)) => (false, evidence_export::export_evidence(app, args)),
        Verb::Evidence(EvidenceVerb::Publish(args)) => (false, evidence_publish::publish_evidence(app, args)),
        Verb::Evidence(EvidenceVerb::Key(KeyVerb::Show)) => (false, evidence_key::show_keys(app)),
        Verb::Evidence(EvidenceVerb::Key(KeyVerb::Rotate(args))) => {
            (false, evidence_key::rotate_key(app, args))
        }
        Verb::Evidence(EvidenceVerb::Key(KeyVerb::Trust(args))) => {
            (false, evidence_key::trust_keys(app, args))
        }
        Verb::Profile(ProfileVerb::List) => (false, tool_list::list_providers(app)),
        Verb::Profile(ProfileVerb::Init(args)) => (false, profile_init::create_profile(app, args)),
        Verb::Pool(verb) => (false, pool::run_pool_verb(app, verb)),
        Verb::Models(ModelsVerb::List(args)) => (false, models::print_models(app, args)),
        Verb::Models(ModelsVerb::Show(args)) => (false, models::show_model(app, args)),
        Verb::Models(ModelsVerb::Add(args)) => (false, models::add_model(app, args)),
        Verb::Models(ModelsVerb::Remove(args)) => (false, models::remove_model(app, args)),
        Verb::Models(ModelsVerb::Import(args)) => (false, models::import_models(app, args)),
        Verb::Models(ModelsVerb::Load(args)) => (false, models::change_memory(app, args, ModelAction::Load)),
        Verb::Models(ModelsVerb::Unload(args)) => {
            (false, models::change_memory(app, args, ModelAction::Unload))
        }
        Verb::Models(ModelsVerb::Warmup(args)) => {
            (false, models::change_memory(app, args, ModelAction::Warmup))
        }
        Verb::Models(ModelsVerb::Default(args)) => {
            (false, config::choose_default(app, args.id.as_deref(), None))
        }
        Verb::Profile(ProfileVerb::Show(args)) => (false, profile::show_profile(app, args)),
        Verb::Profile(ProfileVerb::Validate(args)) => (false, profile::validate_profile(app, args)),
        Verb::Schema(args) => (false, schema::print_schema(app, args)),
        Verb::Completions(args) => (false, completions::print_script(app, args)),
        Verb::Man(args) => (false, man::print_manual(app, args)),
    };
    done.unwrap_or_else(|error| app.show_failure(lands.then_some(&run), &error))
}
