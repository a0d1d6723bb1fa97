//! The user's program that chooses for a pool: a toolbox whose tool is called `select_model`.
//!
//! Owns: asking it once for a choice, and the answer as the record has it. Never: starts a program that the user does not trust as it is
//! now, or one with a network; or reads more of an answer than an alias.
//!
//! The program is confined as every toolbox is: it gets no repository, no home folder and no key. It is shown what the record of the
//! choice has, so that nothing of a turn but its shape reaches it.

use agentos_api::{NextStep, Notice};
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_select::{
    ProgramAnswer, SELECTOR_TOOL, SelectionError, SelectionInput, SelectorRequest, list_fitting,
};
use serde_json::Value;

use super::LoadedPool;
use agentos_ground::Ground;
use agentos_ground::runtime::block_on_other_thread;
use agentos_providers::Providers;
use agentos_providers::toolboxes::pins::{ToolboxPin, list_changes, read_pins};
use agentos_providers::toolboxes::{ToolboxProfile, describe_tools, start_toolbox};

/// Reason why a program gave no answer.
struct ProgramFault {
    message: String,
    /// True if the user is to be asked whether the program is trusted.
    asks_trust: bool,
}

impl ProgramFault {
    fn untrusted(message: &str) -> Self {
        Self {
            message: message.to_owned(),
            asks_trust: true,
        }
    }
}

impl From<String> for ProgramFault {
    fn from(message: String) -> Self {
        Self {
            message,
            asks_trust: false,
        }
    }
}

impl From<EffectError> for ProgramFault {
    fn from(error: EffectError) -> Self {
        error.message.into()
    }
}

/// Asks the program of a pool which member it chooses. `None` if the pool names none, or fewer than two members fit.
///
/// # Errors
/// If the program does not choose, and the pool states no selector for this case.
pub(super) fn ask_program(
    ground: &Ground,
    pool: &LoadedPool,
    input: &SelectionInput,
) -> Result<Option<ProgramAnswer>, EffectError> {
    let Some(toolbox) = &pool.file.selector_program else {
        return Ok(None);
    };
    let Some(request) = SelectorRequest::of(&pool.name, input) else {
        return Ok(None);
    };
    let mut answer = ProgramAnswer {
        toolbox: toolbox.clone(),
        program_hash: None,
        alias: None,
        failure: None,
        falls_back: pool.file.selector.is_some(),
    };
    let asked = prepare_program(ground, toolbox).and_then(|(profile, pin)| {
        answer.program_hash = Some(pin.hash()?);
        call_program(ground, &profile, &pin, &request)
    });
    let mut asks_trust = false;
    match asked {
        Ok(text) => answer = answer.with_text(&text),
        Err(fault) => {
            asks_trust = fault.asks_trust;
            answer.failure = Some(fault.message);
        }
    }
    let Some(fault) = answer.find_fault(&list_fitting(input)) else {
        return Ok(Some(answer));
    };
    let steps = asks_trust.then(|| NextStep::TrustToolbox {
        toolbox: toolbox.clone(),
    });
    if !answer.falls_back {
        let toolbox = toolbox.clone();
        let error = program_failed(&SelectionError::ProgramFailed { toolbox, fault });
        return Err(error.suggest_steps(steps));
    }
    let message = format!(
        "the program `{toolbox}` of the pool `{}` did not choose, and the pool's selector does: {fault}",
        pool.name
    );
    ground.notify(Notice {
        next: steps.into_iter().collect(),
        ..Notice::new("selector-failed", message)
    });
    Ok(Some(answer))
}

/// Makes the error of a program that did not choose.
pub(super) fn program_failed(error: &SelectionError) -> EffectError {
    EffectError::from_error(Cause::Tool, "selector-failed", error)
}

/// Reads the program's profile, and checks that the user trusts it as it is now. It is not started.
fn prepare_program(ground: &Ground, toolbox: &str) -> Result<(ToolboxProfile, ToolboxPin), ProgramFault> {
    let profile = Providers::of(ground).read_toolbox(toolbox)?;
    let pin = read_pins(ground)?.toolboxes.remove(toolbox);
    let pin = pin.ok_or_else(|| ProgramFault::untrusted("you were never asked whether you trust it"))?;
    if pin.launch != profile.launch {
        return Err(ProgramFault::untrusted(
            "its program or its profile changed since you were asked whether you trust it",
        ));
    }
    // Checked when the pool was loaded; here the profile is the one that starts the program.
    if !profile.launch.hosts.is_empty() {
        return Err("it has a network".to_owned().into());
    }
    if !pin.tools.iter().any(|tool| tool.name == SELECTOR_TOOL) {
        return Err(format!("it has no tool `{SELECTOR_TOOL}`").into());
    }
    Ok((profile, pin))
}

/// Starts the program, calls its tool, and ends it. Returns the text of the answer. Untrusted.
fn call_program(
    ground: &Ground,
    profile: &ToolboxProfile,
    pin: &ToolboxPin,
    request: &SelectorRequest,
) -> Result<String, ProgramFault> {
    let toolbox = start_toolbox(ground, profile)?;
    let arguments: Value = serde_json::to_value(request).map_err(|error| error.to_string())?;
    let ask = async {
        let now = ToolboxPin::new(profile.launch.clone(), describe_tools(&toolbox, profile).await?);
        if !list_changes(pin, &now).is_empty() {
            return Err(ProgramFault::untrusted(
                "its tools changed since you were asked whether you trust it",
            ));
        }
        let result = toolbox.call(SELECTOR_TOOL, &arguments).await;
        let result = result.map_err(|error| error.to_string())?;
        match result.is_error {
            true => Err(format!("it reports an error: {}", first_line(&result.text)).into()),
            false => Ok(result.text),
        }
    };
    let limited = async {
        let seconds = profile.limit.as_secs();
        let answered = tokio::time::timeout(profile.limit, ask).await;
        answered.unwrap_or_else(|_| Err(format!("it took more than {seconds} s").into()))
    };
    block_on_other_thread(|| limited)?
}

/// Returns the first line of a text, at most 200 characters of it.
fn first_line(text: &str) -> String {
    text.lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(200)
        .collect()
}
