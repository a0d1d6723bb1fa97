//! `agentos chat drop` and `agentos chat share`: texts that a session read and that policy withholds from the next model.
//!
//! Owns: the question to the person. Never: decides what is withheld.

use agentos_host::{
    CallNames, Conversation, EffectError, ProviderChoice, SessionChange, SessionChangeKind, WithheldReads,
};

use crate::app::{App, Done, usage_error};
use crate::args::chat::{ChatReaderArgs, ChatShareArgs, complete_choice};
use crate::commands::chat_sessions::report_change;
use crate::commands::chat_turn::parse_session;
use crate::commands::question::ask_yes;
use crate::escape;
use crate::exit::Exit;
use crate::render::count_noun;

/// Largest number of paths that the question lists.
const MOST_PATHS: usize = 20;

/// Drops the turn that read something withheld, and all later ones.
pub fn drop_reads(app: &App, args: &ChatReaderArgs) -> Done {
    let (mut conversation, choice) = open(app, args)?;
    let turn = conversation.drop_withheld(&choice)?;
    let change = SessionChangeKind::Dropped { turn };
    report_change(app, &SessionChange::new(conversation.key(), change))
}

/// Lets a provider see what the session read.
pub fn share_reads(app: &App, args: &ChatShareArgs) -> Done {
    let (mut conversation, choice) = open(app, &args.reader)?;
    let Some(withheld) = conversation.list_withheld(&choice)? else {
        let name = escape::line(choice.provider.name());
        let message = format!("policy withholds nothing that the session read from `{name}`");
        return Err(usage_error(message));
    };
    if withheld.texts.is_empty() {
        let message =
            "an earlier version did not record what the session read, so it cannot be named to be shared";
        return Err(usage_error(message)
            .hint("`agentos chat drop` drops it, and the conversation goes on without it"));
    }
    if !args.yes && !is_allowed(app, &withheld)? {
        app.printer.show_note("nothing is changed");
        return Ok(Exit::Done);
    }
    conversation.share_withheld(&withheld)?;
    let change = SessionChangeKind::Shared {
        provider: withheld.reader.provider,
        texts: withheld.texts.into_iter().map(|text| text.path).collect(),
    };
    report_change(app, &SessionChange::new(conversation.key(), change))
}

fn open(app: &App, args: &ChatReaderArgs) -> Result<(Conversation, ProviderChoice), EffectError> {
    let key = parse_session(app, args.session.as_deref())?;
    let conversation = app.host.talk().open_existing_conversation(&key)?;
    let named = CallNames {
        provider: Some(&args.provider),
        remembered: None,
    };
    let choice = complete_choice(app, named, &args.over, None)?;
    Ok((conversation, choice))
}

/// Shows the reader and the paths, and asks the person. Returns true only for a clear yes.
fn is_allowed(app: &App, withheld: &WithheldReads) -> Result<bool, EffectError> {
    if !app.streams.can_ask {
        let message = "there is no terminal to ask at, so `agentos chat share` needs `--yes`";
        return Err(usage_error(message));
    }
    let reader = &withheld.reader;
    let place = reader.address.as_deref().unwrap_or("an unknown address");
    let shown = format!(
        "{} ({}, {place})",
        reader.provider,
        reader.execution_mode.as_str()
    );
    let paths: Vec<&str> = withheld
        .texts
        .iter()
        .map(|text| text.path.as_str())
        .take(MOST_PATHS)
        .collect();
    for path in &paths {
        app.printer.show_note(&escape::line(path));
    }
    let more = withheld.texts.len().saturating_sub(paths.len());
    if more > 0 {
        app.printer
            .show_note(&format!("and {}", count_noun(more as u64, "other text")));
    }
    let question = format!("let {} see what this session read of them?", escape::line(&shown));
    ask_yes(app, &question)
}
