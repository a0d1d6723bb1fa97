//! `agentos tool health --probe-tools`: one tool offered to each connected model, to see if it calls it.
//!
//! Owns: the verdict, and how it stands to what is declared. Never: asks a tool that is not connected, or acts on a call.

use agentos_engine::ports::EffectError;
use agentos_generic_http::{OfferOutcome, OfferSeen};
use agentos_net::Names;
use agentos_profile::{Profile, known_model};
use agentos_tool::{Ability, Usage};
use schemars::JsonSchema;
use serde::Serialize;

use crate::servers::Hosting;
use crate::tools::Tool;

const MOST_SECONDS: u64 = 60;

/// Do tool calls work?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// They do.
    Pass,
    /// They do not.
    Fail,
    /// Nothing was offered: there is no way to.
    Skip,
}

impl Verdict {
    /// The word on the screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Skip => "SKIP",
        }
    }
}

/// What a provider's model made of a tool that it was offered.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ToolCallProbe {
    /// The provider.
    pub provider: String,
    /// Do tool calls work?
    pub verdict: Verdict,
    /// What the profile says of them, else what the vendor says of a known model.
    pub declared: Ability,
    /// What was seen, in one sentence.
    pub details: String,
    /// Tokens, as far as reported.
    pub usage: Option<Usage>,
    /// What they cost by the profile's price, in millionths of a US dollar.
    pub cost_micro_usd: Option<u64>,
    /// From request to the last byte, in milliseconds.
    pub latency_ms: u64,
}

impl ToolCallProbe {
    /// What was asked for did not happen: calls fail, or could not be tried although they are declared.
    pub fn is_bad(&self) -> bool {
        match self.verdict {
            Verdict::Pass => false,
            Verdict::Fail => true,
            Verdict::Skip => self.declared == Ability::Yes,
        }
    }
}

/// Offers the tool's model one tool.
pub async fn probe(tool: &Tool) -> ToolCallProbe {
    let declared = tool.hosting.as_ref().map(|hosting| declared(&hosting.profile));
    let declared = declared.unwrap_or_default();
    let mut found = ToolCallProbe {
        provider: tool.adapter.provider().to_owned(),
        verdict: Verdict::Skip,
        declared,
        details: String::new(),
        usage: None,
        cost_micro_usd: None,
        latency_ms: 0,
    };
    let Some(hosting) = &tool.hosting else {
        found.details = "it is no server, so no tool was offered".to_owned();
        return found;
    };
    let (verdict, details) = match offered(hosting, tool.timeout_seconds.min(MOST_SECONDS)).await {
        Ok(None) => (
            Verdict::Skip,
            "its wire has no tools, so none was offered".to_owned(),
        ),
        Ok(Some(seen)) => {
            found.usage = seen.usage;
            found.cost_micro_usd = seen.usage.and_then(|usage| tool.price.cost(&usage));
            found.latency_ms = seen.latency_ms;
            let (verdict, details) = judged(seen.outcome);
            (verdict, details.to_owned())
        }
        Err((latency_ms, message)) => {
            found.latency_ms = latency_ms;
            (Verdict::Fail, message)
        }
    };
    found.verdict = verdict;
    found.details = details + beside(declared, verdict);
    found
}

/// The offer as it went; an error with the time that it took.
async fn offered(hosting: &Hosting, seconds: u64) -> Result<Option<OfferSeen>, (u64, String)> {
    let made = hosting.adapter(Names::System);
    let adapter = made.map_err(|error: EffectError| (0, error.message))?;
    let seen = adapter.offer_tool(seconds).await;
    seen.map_err(|error| (error.latency_ms, error.message))
}

fn declared(profile: &Profile) -> Ability {
    match profile.capabilities.tools {
        said @ (Ability::Yes | Ability::No) => said,
        Ability::Unknown => {
            let known = profile.model.as_deref().and_then(known_model);
            let its_own = known.filter(|model| model.provider == profile.provider);
            its_own.map(|model| model.tools).unwrap_or_default()
        }
    }
}

fn judged(outcome: OfferOutcome) -> (Verdict, &'static str) {
    match outcome {
        OfferOutcome::Called => (Verdict::Pass, "it called the offered tool with valid arguments"),
        OfferOutcome::NotCalled => (Verdict::Fail, "it answered without a call of the offered tool"),
        OfferOutcome::CutOff => (
            Verdict::Fail,
            "its answer was cut before a call of the offered tool",
        ),
        OfferOutcome::OtherTool => (Verdict::Fail, "it called a tool that was not offered"),
        OfferOutcome::TooOften => (Verdict::Fail, "it called more often than it was told to"),
        OfferOutcome::WrongArguments => (
            Verdict::Fail,
            "it called the offered tool with arguments that are not valid",
        ),
    }
}

/// How the verdict stands to what is declared, where the two differ.
fn beside(declared: Ability, verdict: Verdict) -> &'static str {
    match (declared, verdict) {
        (Ability::Yes, Verdict::Fail | Verdict::Skip) => "; `capabilities.tools` is declared as true",
        (Ability::No, Verdict::Pass) => "; `capabilities.tools` is declared as false",
        (Ability::Yes, Verdict::Pass)
        | (Ability::No, Verdict::Fail | Verdict::Skip)
        | (Ability::Unknown, Verdict::Pass | Verdict::Fail | Verdict::Skip) => "",
    }
}
