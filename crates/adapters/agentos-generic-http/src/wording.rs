//! Messages for users: what happened, and what to do about it.
//!
//! Owns: one message and one hint for every reason. Never: decides a state.

use std::time::Duration;

use agentos_api::NextStep;
use agentos_tool::KeyObstacle;

use crate::retry::LONGEST;
use crate::{Fault, Reason, ServerSettings, StatedFact};

/// Advice about a model that the server could not load.
const SEE_LOG: &str = "look at the server's log for the reason, such as a damaged file or too little memory";

/// Hints of one provider for what its users have to do most often.
#[derive(Debug, Clone, Copy)]
pub struct ServerHints {
    /// How to start the server; `{port}` is replaced by the port of its address.
    pub start: &'static str,
    /// How to load a model.
    pub load: &'static str,
    /// Example of a base URL.
    pub address: &'static str,
    /// How to get a longer context; `{tokens}` is replaced by its length.
    pub longer: &'static str,
}

/// Server that the messages are about.
pub(crate) struct ServerWording<'a> {
    pub(crate) settings: &'a ServerSettings,
    pub(crate) hints: &'a ServerHints,
    /// `host:port`, or the provider's name if there is no address.
    pub(crate) at: &'a str,
}

impl ServerWording<'_> {
    /// Words how to start the server at the address that the call names.
    fn word_start(&self) -> String {
        // Only an address without a port is a name alone, and then the port is the wire's usual one.
        let own = self.at.rsplit_once(':').map(|(_, port)| port);
        let usual = self.hints.address.rsplit_once(':').map(|(_, port)| port);
        let is_number = |port: &&str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
        let port = own.filter(is_number).or(usual).unwrap_or_default();
        self.hints.start.replace("{port}", port)
    }

    /// Words what happened. `said`, the server's own message, is added; errors of the transport are complete messages
    /// already.
    pub(crate) fn describe_reason(&self, reason: Reason, said: Option<&str>) -> String {
        let at = self.at;
        // A key may exist and be withheld, and then "none is set" would send the user to the wrong place.
        if let Some(obstacle) = self.key_obstacle(reason) {
            return format!("`{at}` requires a key; {obstacle}");
        }
        let seen = match reason {
            Reason::MissingUrl => "no base URL is set".to_owned(),
            Reason::MissingModel => "no model is set, and the server does not list exactly one".to_owned(),
            Reason::MissingKey => format!("`{}` needs a key, and none is set", self.settings.provider),
            Reason::BadUrl
            | Reason::BadKey
            | Reason::Setup
            | Reason::Dns
            | Reason::Refused
            | Reason::ConnectTimeout
            | Reason::Tls
            | Reason::TlsCertificate
            | Reason::ReadTimeout
            | Reason::Closed
            | Reason::NotHttp
            | Reason::Encoded
            // The transport's own message names the address and the cause.
            | Reason::TooLarge => {
                return said.map_or_else(|| format!("no answer from `{at}`"), str::to_owned);
            }
            Reason::Redirect => format!("`{at}` redirects to another address; redirects are not followed"),
            Reason::Html => format!("`{at}` answered with a web page instead of JSON"),
            Reason::KeyRequired => format!("`{at}` requires a key, and none is set"),
            Reason::Unauthorized => format!("`{at}` rejected the key"),
            Reason::Forbidden => format!("`{at}` accepts the key, but refuses this request"),
            Reason::ProxyAuth => format!("a proxy in front of `{at}` requires credentials"),
            Reason::UnknownModel => format!("{} is not among the models of `{at}`", self.model_words()),
            Reason::NotLoaded => format!("{} is not loaded; the first request loads it", self.model_words()),
            Reason::LoadingOff => format!("no model is loaded at `{at}`"),
            Reason::NoLoading => format!("`{at}` offers no requests to load or unload models"),
            Reason::LoadFailed => format!("`{at}` failed to load {}", self.model_words()),
            Reason::NoModels => format!("`{at}` has no model"),
            Reason::WrongPath => format!("`{at}` does not know the path of the request"),
            Reason::Quota => format!("`{at}` accepts the key, but its credit or budget is used up"),
            Reason::RateLimited => format!("`{at}` accepts the key, but limits the rate of requests"),
            Reason::Timeout => format!("`{at}` reports a timeout while waiting for its model"),
            Reason::Loading => format!("`{at}` is still loading its model"),
            Reason::Conflict => format!("`{at}` reports a conflict with another request"),
            Reason::Overloaded => format!("`{at}` is overloaded"),
            Reason::ServerError => format!("`{at}` reports an internal error"),
            Reason::NotJson => format!("the answer of `{at}` is not JSON"),
            Reason::ErrorIn200 => format!("`{at}` reports an error in an answer with status 200"),
            Reason::Fields => format!("the answer of `{at}` lacks the expected fields"),
            Reason::ContextLength => format!(
                "the task does not fit the context window of {}",
                self.model_words()
            ),
            Reason::Rejected => format!("`{at}` rejected the request"),
            Reason::BrokenStream => format!("the answer of `{at}` broke off before its end"),
            Reason::BrokenAnswer => format!("the answer of `{at}` is incomplete"),
            Reason::EmptyAnswer => format!("the answer of `{at}` is empty"),
            Reason::EndlessAnswer => format!("the answer of `{at}` repeats itself without end, so the call was ended"),
            Reason::KeyInAnswer => {
                format!("the answer of `{at}` contains the key that was sent, so it was discarded")
            }
        };
        match said {
            Some(said) => format!("{seen}: {said}"),
            None => seen,
        }
    }

    /// Words what to do about a fault. `None` if the steps of [`ServerWording::next_steps`] are enough.
    pub(crate) fn suggest_cure(&self, fault: &Fault) -> Option<String> {
        let provider = &self.settings.provider;
        let wait = fault.retry_after.filter(|wait| *wait > LONGEST);
        Some(match (fault.reason, wait) {
            (Reason::RateLimited | Reason::Overloaded | Reason::Loading | Reason::Conflict, Some(wait)) => {
                format!("try again in {}", word_time(wait))
            }
            (Reason::Quota, Some(wait)) => {
                format!("try again in {}, or use another provider", word_time(wait))
            }
            _ => match &fault.stated {
                Some(StatedFact::Window(tokens)) => format!(
                    "give fewer or smaller files, or load the model with more than its {tokens} tokens of context; the profile of \
                     `{provider}` can state the window"
                ),
                Some(StatedFact::Field(path)) => {
                    let field = path.split('.').next().unwrap_or(path);
                    format!(
                        "leave `{field}` out of the requests: name it in `omit` in the profile of `{provider}`"
                    )
                }
                None => return self.suggest_fix(fault.reason),
            },
        })
    }

    /// Words what to do about a reason. `None` if the steps of [`ServerWording::next_steps`] are enough.
    pub(crate) fn suggest_fix(&self, reason: Reason) -> Option<String> {
        let provider = &self.settings.provider;
        let hints = self.hints;
        Some(match reason {
            Reason::MissingUrl
            | Reason::BadUrl
            | Reason::MissingKey
            | Reason::KeyRequired
            | Reason::Unauthorized
            | Reason::BadKey
            | Reason::NotLoaded => return None,
            Reason::Forbidden => {
                "do what the server's words name; another key helps only if its account may do more"
                    .to_owned()
            }
            Reason::MissingModel
            | Reason::UnknownModel
            | Reason::LoadingOff
            | Reason::NoModels
            | Reason::NoLoading => hints.load.to_owned(),
            // The server tried: what it needs is in its own output.
            Reason::LoadFailed => SEE_LOG.to_owned(),
            Reason::Setup => "install the system's certificate authorities".to_owned(),
            Reason::Dns => "check the host name in the base URL and the network".to_owned(),
            Reason::Refused | Reason::ConnectTimeout => self.word_start(),
            Reason::Tls => "check if the base URL should begin with `http://` or `https://`".to_owned(),
            Reason::TlsCertificate => {
                "use a certificate that this machine trusts, or add its authority to the system".to_owned()
            }
            // A health check has a limit of its own, which no setting makes longer.
            Reason::ReadTimeout => {
                "see if the server is busy or hangs; start it again if it hangs".to_owned()
            }
            Reason::Timeout => "try again, or raise the server's own time limit".to_owned(),
            Reason::Closed | Reason::ServerError | Reason::BrokenStream | Reason::BrokenAnswer => {
                "look at the server's log, then try again".to_owned()
            }
            Reason::NotHttp
            | Reason::Redirect
            | Reason::Html
            | Reason::WrongPath
            | Reason::NotJson
            | Reason::ErrorIn200
            | Reason::Fields
            | Reason::TooLarge => format!(
                "check that `{provider}` listens there and that the base URL looks like `{}`",
                hints.address
            ),
            Reason::ProxyAuth => "reach the server without a proxy".to_owned(),
            Reason::Quota => "add credit, or use another provider".to_owned(),
            Reason::RateLimited | Reason::Overloaded | Reason::Conflict | Reason::Loading => {
                "try again in a few seconds".to_owned()
            }
            Reason::Encoded => {
                "turn compression off in the server, or in the proxy in front of it".to_owned()
            }
            Reason::EmptyAnswer => {
                "ask again, or ask another model; a limit on the answer may leave nothing after the thinking"
                    .to_owned()
            }
            Reason::EndlessAnswer => {
                "use another model, or give a smaller task; a longer answer does not help".to_owned()
            }
            Reason::KeyInAnswer => {
                "find out why the server repeats the key, then create a new key".to_owned()
            }
            Reason::ContextLength => {
                "give fewer or smaller files, or load the model with a longer context".to_owned()
            }
            Reason::Rejected => "check the model and the parameters in the profile".to_owned(),
        })
    }

    /// Returns what to do about it as steps, the best first.
    pub(crate) fn next_steps(&self, reason: Reason) -> Vec<NextStep> {
        if let Some(obstacle) = self.key_obstacle(reason) {
            let steps = obstacle.next.iter().cloned();
            return steps.chain([NextStep::ListKeys]).collect();
        }
        match reason {
            Reason::MissingUrl | Reason::BadUrl => vec![NextStep::NameBaseUrl {
                example: Some(self.hints.address.to_owned()),
            }],
            Reason::Refused | Reason::ConnectTimeout => vec![NextStep::NameBaseUrl { example: None }],
            Reason::MissingModel | Reason::UnknownModel => vec![NextStep::NameModel],
            Reason::MissingKey | Reason::KeyRequired | Reason::Unauthorized | Reason::BadKey => {
                vec![NextStep::SetKey {
                    provider: Some(self.settings.provider.clone()),
                    in_file: false,
                }]
            }
            _ => Vec::new(),
        }
    }

    /// Returns the reason why no key is sent. `None` if the error is about something else, or there is no reason.
    fn key_obstacle(&self, reason: Reason) -> Option<&KeyObstacle> {
        let is_matter = matches!(reason, Reason::MissingKey | Reason::KeyRequired);
        self.settings.key_obstacle.as_ref().filter(|_| is_matter)
    }

    fn model_words(&self) -> String {
        self.settings
            .named_model()
            .map_or_else(|| "the model".to_owned(), |name| format!("model `{name}`"))
    }
}

/// Words a time as a person says it: the two largest units, rounded up.
fn word_time(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil();
    let word = |number: f64, unit: &str| format!("{number} {unit}{}", if number == 1.0 { "" } else { "s" });
    match seconds {
        seconds if seconds < 120.0 => word(seconds, "second"),
        seconds if seconds < 7_200.0 => word((seconds / 60.0).ceil(), "minute"),
        seconds if seconds < 172_800.0 => word((seconds / 3_600.0).ceil(), "hour"),
        seconds => word((seconds / 86_400.0).ceil(), "day"),
    }
}

#[cfg(test)]
mod tests {
    use agentos_tool::ExecutionMode;

    use super::*;

    #[test]
    fn every_state_comes_with_what_was_seen_and_what_to_do() {
        let settings = ServerSettings::new("lmstudio", ExecutionMode::Local);
        let hints = ServerHints {
            start: "start it",
            load: "load a model",
            address: "http://localhost:1234/v1",
            longer: "load it with {tokens}",
        };
        let place = ServerWording {
            settings: &settings,
            hints: &hints,
            at: "localhost:1234",
        };
        let said = |reason, said| {
            let steps: Vec<String> = place
                .next_steps(reason)
                .iter()
                .map(|step| format!("{step:?}"))
                .collect();
            let fix = place.suggest_fix(reason).into_iter().chain(steps);
            (
                place.describe_reason(reason, said),
                fix.collect::<Vec<_>>().join(", "),
            )
        };
        let cases = [
            (
                Reason::MissingUrl,
                None,
                "no base URL is set",
                "NameBaseUrl { example: Some(\"http://localhost:1234/v1\") }",
            ),
            (
                Reason::MissingKey,
                None,
                "`lmstudio` needs a key",
                "SetKey { provider: Some(\"lmstudio\"), in_file: false }",
            ),
            (Reason::Refused, Some("nobody there"), "nobody there", "start it"),
            (
                Reason::NoModels,
                None,
                "`localhost:1234` has no model",
                "load a model",
            ),
            (
                Reason::Html,
                None,
                "answered with a web page",
                "check that `lmstudio` listens there",
            ),
            (
                Reason::Rejected,
                Some("bad field"),
                "rejected the request: bad field",
                "parameters",
            ),
            (Reason::NotLoaded, None, "the first request loads it", ""),
        ];
        for (reason, server_said, seen, todo) in cases {
            let (details, fix) = said(reason, server_said);
            assert!(details.contains(seen) && fix.contains(todo), "{details} / {fix}");
            assert!(
                !details.ends_with('.') && !fix.ends_with('.'),
                "{details} / {fix}"
            );
        }
    }
}
