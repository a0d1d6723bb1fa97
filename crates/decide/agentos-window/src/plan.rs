//! The plan of a request: send it as it is, summarize messages first, or give up.
//!
//! Owns: the decision, as a pure function of sizes. Never: looks at a text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::size::{MessageKind, MessageSize, WindowSize};

/// Smallest number of tokens that a summary gets. Shorter ones say nothing.
const SMALLEST_SUMMARY: u64 = 64;
/// Part of the room that a summary may fill: a tenth, so that a conversation of any length leaves room for its newest messages.
const SUMMARY_SHARE: u64 = 10;
/// Percentage of the room that a compression must gain, if the request fits without it. Each costs a call of a model.
const SMALLEST_GAIN: u8 = 5;

/// Sizes of a request, in tokens.
#[derive(Debug, Clone, Copy)]
pub struct WindowInput<'a> {
    /// Size of the window.
    pub window: WindowSize,
    /// Tokens that are reserved for the answer.
    pub reserve: u64,
    /// Tokens of the system prompt.
    pub system: u64,
    /// Tokens of the pinned texts.
    pub pins: u64,
    /// Tokens of the tool definitions.
    pub tools: u64,
    /// Tokens of the summary in use. 0 if there is none.
    pub summary: u64,
    /// Messages that are sent, the oldest first.
    pub messages: &'a [MessageSize],
    /// Tokens of messages and earlier summary that one call for a summary may read.
    pub summary_input: u64,
    /// Shares that decide when and what to compress.
    pub rules: WindowRules,
}

/// Shares that decide when and what to compress, in percent of the room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowRules {
    /// The request is compressed if it fills more than this.
    pub compress_above: u8,
    /// Newest messages that stay word for word.
    pub keep_newest: u8,
}

impl Default for WindowRules {
    fn default() -> Self {
        Self {
            compress_above: 70,
            keep_newest: 20,
        }
    }
}

/// Plan of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WindowPlan {
    /// The request is sent as it is.
    SendWhole,
    /// These messages become a summary first, together with the summary in use. Then the request is planned again.
    Compress {
        /// Positions of the messages, ascending. Empty if only the summary in use is shortened.
        messages: Vec<usize>,
        /// Largest number of tokens of the summary.
        summary_tokens: u64,
    },
    /// The request fits in no way.
    TooLarge(WindowExcess),
}

/// Numbers of a request that does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WindowExcess {
    /// Tokens that the window has for the request.
    pub room: u64,
    /// Tokens of the parts that cannot be left out.
    pub needed: u64,
    /// The largest of these parts.
    pub part: WindowPart,
    /// Tokens of that part.
    pub part_tokens: u64,
}

/// Part of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowPart {
    /// The system prompt.
    System,
    /// The pinned texts.
    Pins,
    /// The tool definitions.
    Tools,
    /// The last message of the user.
    Request,
    /// The tokens that are reserved for the answer.
    Reserve,
}

impl WindowInput<'_> {
    /// Returns the tokens that the window has for the request.
    #[must_use]
    pub fn room(&self) -> u64 {
        self.window.tokens.saturating_sub(self.reserve)
    }

    /// Returns the tokens of all messages.
    #[must_use]
    pub fn count_messages(&self) -> u64 {
        sum_tokens(self.messages)
    }

    /// Returns the tokens of the whole request.
    #[must_use]
    pub fn count_prompt(&self) -> u64 {
        self.count_fixed()
            .saturating_add(self.summary)
            .saturating_add(self.count_messages())
    }

    /// Returns the tokens of the parts that no plan changes.
    fn count_fixed(&self) -> u64 {
        self.system.saturating_add(self.pins).saturating_add(self.tools)
    }

    fn take_share(&self, percent: u8) -> u64 {
        // Divided last, so that small windows do not lose the share to rounding.
        self.room().saturating_mul(u64::from(percent)) / 100
    }
}

/// Plans a request. The same sizes always get the same plan.
#[must_use]
pub fn plan_window(input: &WindowInput<'_>) -> WindowPlan {
    let (room, used) = (input.room(), input.count_prompt());
    if used <= input.take_share(input.rules.compress_above) {
        return WindowPlan::SendWhole;
    }
    let fits = used <= room;
    let Some(cut) = choose_cut(input, fits) else {
        return if fits {
            WindowPlan::SendWhole
        } else {
            WindowPlan::TooLarge(measure_excess(input))
        };
    };
    let request = find_request(input.messages);
    let kept = count_kept(input.messages, cut, request);
    let left = room.saturating_sub(input.count_fixed()).saturating_sub(kept);
    WindowPlan::Compress {
        messages: limit_batch(input, cut, request),
        summary_tokens: left.min((room / SUMMARY_SHARE).max(SMALLEST_SUMMARY)),
    }
}

/// Chooses the position before which messages are summarized. `None` if there is none, or the gain would be too small.
fn choose_cut(input: &WindowInput<'_>, fits: bool) -> Option<usize> {
    let request = find_request(input.messages);
    let goal = input.take_share(input.rules.keep_newest);
    let limit = input
        .room()
        .checked_sub(input.count_fixed())?
        .checked_sub(SMALLEST_SUMMARY)?;
    // The newest text is measured without an earlier request. Otherwise a long request would be all that is kept, and the model would
    // never see the results that it has just called for.
    let newest = |at: usize| input.messages.get(at..).map_or(0, sum_tokens);
    // It shrinks from cut to cut, so the last cut that keeps enough is the one that summarizes most.
    let cuts = || (0..=input.messages.len()).filter(|at| !splits_pair(input.messages, *at));
    let kept = |at: usize| count_kept(input.messages, at, request);
    let first = cuts().take_while(|at| newest(*at) >= goal).last().unwrap_or(0);
    let cut = cuts().find(|at| *at >= first && kept(*at) <= limit)?;
    // Measured in tokens and not in messages: one long message is worth a call, ten short ones are not.
    let gain = sum_tokens(input.messages).saturating_sub(kept(cut));
    // If it does not fit although nothing is cut off, then the summary in use was made for a larger window and is shortened.
    (!fits || gain > input.take_share(SMALLEST_GAIN)).then_some(cut)
}

/// Returns the positions before the cut that one call for a summary can read, at least the first message with its results.
fn limit_batch(input: &WindowInput<'_>, cut: usize, request: Option<usize>) -> Vec<usize> {
    let mut batch = Vec::new();
    let mut tokens = input.summary;
    for (at, message) in input.messages.iter().enumerate().take(cut) {
        if Some(at) == request {
            continue;
        }
        tokens = tokens.saturating_add(message.tokens);
        let is_bound = splits_pair(input.messages, at);
        // A message that alone is too long is read in part; without it, the plans would never end.
        if tokens > input.summary_input && !batch.is_empty() && !is_bound {
            break;
        }
        batch.push(at);
    }
    batch
}

fn find_request(messages: &[MessageSize]) -> Option<usize> {
    messages
        .iter()
        .rposition(|message| message.kind == MessageKind::Request)
}

/// Counts the tokens that stay word for word: everything from the position on, and the last request.
fn count_kept(messages: &[MessageSize], at: usize, request: Option<usize>) -> u64 {
    let newest = messages.get(at..).map_or(0, sum_tokens);
    let earlier = request
        .filter(|request| *request < at)
        .and_then(|at| messages.get(at));
    newest.saturating_add(earlier.map_or(0, |message| message.tokens))
}

/// Returns true if calls would be before the position and their results behind it. Vendors refuse one without the other.
fn splits_pair(messages: &[MessageSize], at: usize) -> bool {
    let kind = |at: usize| messages.get(at).map(|message| message.kind);
    let before = at.checked_sub(1).and_then(kind);
    before == Some(MessageKind::Calls) && kind(at) == Some(MessageKind::Results)
}

fn sum_tokens(messages: &[MessageSize]) -> u64 {
    messages
        .iter()
        .fold(0, |sum, message| sum.saturating_add(message.tokens))
}

/// Measures what does not fit.
fn measure_excess(input: &WindowInput<'_>) -> WindowExcess {
    let request = find_request(input.messages).and_then(|at| input.messages.get(at));
    let request = request.map_or(0, |message| message.tokens);
    let mut parts = vec![
        (WindowPart::System, input.system),
        (WindowPart::Pins, input.pins),
        (WindowPart::Tools, input.tools),
        (WindowPart::Request, request),
    ];
    // The reserve is not a part of the request, and to blame only if it leaves next to nothing.
    if input.room() < SMALLEST_SUMMARY {
        parts.push((WindowPart::Reserve, input.reserve));
    }
    let largest = parts.into_iter().max_by_key(|(_, tokens)| *tokens);
    let (part, part_tokens) = largest.unwrap_or((WindowPart::Request, request));
    WindowExcess {
        room: input.room(),
        needed: input
            .count_fixed()
            .saturating_add(request)
            .saturating_add(SMALLEST_SUMMARY),
        part,
        part_tokens,
    }
}

#[cfg(test)]
mod tests;
