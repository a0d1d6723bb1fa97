//! `agentos tool health --probe-tools`: offers each connected model one tool, to find out whether it calls it.
//!
//! Owns: the verdict, and its comparison with the declared ability. Never: contacts a provider that is not connected, or acts
//! on a call.

use agentos_engine::ports::EffectError;
use agentos_generic_http::{OfferOutcome, OfferSeen};
use agentos_net::Names;
use agentos_profile::{Profile, known_model};
use agentos_tool::{Ability, ExactCost, Usage};
use schemars::JsonSchema;
use serde::Serialize;

use crate::prices::prove_prices;
use crate::servers::Hosting;
use crate::tools::Tool;

const MOST_SECONDS: u64 = 60;

/// The result of a probe of tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Tool calls work.
    Pass,
    /// Tool calls do not work.
    Fail,
    /// No tool was offered, because the provider's wire has no way to.
    Skip,
}

impl Verdict {
    /// Returns the word on the screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Skip => "SKIP",
        }
    }
}

/// The result of offering a tool to a provider's model.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ToolCallProbe {
    /// The provider.
    pub provider: String,
    /// The result of the probe.
    pub verdict: Verdict,
    /// The ability that the profile declares, else the one that the vendor states for a known model.
    pub declared: Ability,
    /// The observation in one sentence.
    pub details: String,
    /// Tokens. `None` if the server did not report them.
    pub usage: Option<Usage>,
    /// Cost of the tokens by the profile's price, in millionths of a US dollar. `None` if it is unknown.
    pub cost_micro_usd: Option<u64>,
    /// Milliseconds from the request to the last byte.
    pub latency_ms: u64,
}

impl ToolCallProbe {
    /// Returns true if tool calls fail, or could not be probed although they are declared.
    pub fn is_bad(&self) -> bool {
        match self.verdict {
            Verdict::Pass => false,
            Verdict::Fail => true,
            Verdict::Skip => self.declared == Ability::Yes,
        }
    }
}

/// Offers the tool's model one tool.
pub async fn probe_tool_calls(tool: &Tool) -> ToolCallProbe {
    let declared = tool
        .hosting
        .as_ref()
        .map(|hosting| declared_ability(&hosting.profile));
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
        found.details = "it is not a server, so no tool was offered".to_owned();
        return found;
    };
    let (verdict, details) = match offer_tool(hosting, tool.timeout_seconds.min(MOST_SECONDS)).await {
        Ok(None) => (
            Verdict::Skip,
            "its wire has no tools, so none was offered".to_owned(),
        ),
        Ok(Some(seen)) => {
            found.usage = seen.usage;
            let price = prove_prices(tool.price.clone(), &hosting.profile).await.prices;
            let cost = seen.usage.and_then(|usage| price.cost(&usage));
            found.cost_micro_usd = cost.map(ExactCost::micro_dollars);
            found.latency_ms = seen.latency_ms;
            let (verdict, details) = judge_outcome(seen.outcome);
            (verdict, details.to_owned())
        }
        Err((latency_ms, message)) => {
            found.latency_ms = latency_ms;
            (Verdict::Fail, message)
        }
    };
    found.verdict = verdict;
    found.details = details + compare_declared(declared, verdict);
    found
}

/// Offers the tool. The error has the time that the call took, and a message.
async fn offer_tool(hosting: &Hosting, seconds: u64) -> Result<Option<OfferSeen>, (u64, String)> {
    let made = hosting.make_adapter(Names::System);
    let adapter = made.map_err(|error: EffectError| (0, error.message))?;
    let seen = adapter.offer_tool(seconds).await;
    seen.map_err(|error| (error.latency_ms, error.message))
}

fn declared_ability(profile: &Profile) -> Ability {
    match profile.capabilities.tools {
        said @ (Ability::Yes | Ability::No) => said,
        Ability::Unknown => {
            // The vendor's own statement counts for the vendor's server only: another one may serve the model without tools.
            let known = profile.model.as_deref().and_then(known_model);
            let its_own = known.filter(|model| model.provider == profile.provider);
            its_own.map(|model| model.tools).unwrap_or_default()
        }
    }
}

fn judge_outcome(outcome: OfferOutcome) -> (Verdict, &'static str) {
    match outcome {
        OfferOutcome::Called => (Verdict::Pass, "it called the offered tool with valid arguments"),
        OfferOutcome::NotCalled => (Verdict::Fail, "it answered without a call of the offered tool"),
        OfferOutcome::CutOff => (
            Verdict::Fail,
            "its answer was cut before a call of the offered tool",
        ),
        OfferOutcome::OtherTool => (Verdict::Fail, "it called a tool that was not offered"),
        OfferOutcome::TooOften => (Verdict::Fail, "it called the tool more often than instructed"),
        OfferOutcome::WrongArguments => (
            Verdict::Fail,
            "it called the offered tool with arguments that are not valid",
        ),
    }
}

/// Returns a remark if the verdict differs from the declared ability, else nothing.
fn compare_declared(declared: Ability, verdict: Verdict) -> &'static str {
    match (declared, verdict) {
        (Ability::Yes, Verdict::Fail | Verdict::Skip) => "; `capabilities.tools` is declared as true",
        (Ability::No, Verdict::Pass) => "; `capabilities.tools` is declared as false",
        (Ability::Yes, Verdict::Pass)
        | (Ability::No, Verdict::Fail | Verdict::Skip)
        | (Ability::Unknown, Verdict::Pass | Verdict::Fail | Verdict::Skip) => "",
    }
}
