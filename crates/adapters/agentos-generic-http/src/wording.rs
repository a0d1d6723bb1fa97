//! What a person is told: what was seen, and what to do about it.
//!
//! Owns: one sentence each for every reason. Never: decides a state.

use agentos_api::NextStep;
use agentos_tool::KeyObstacle;

use crate::{Reason, ServerSettings};

/// Words of one provider for the two things a person has to do most often.
#[derive(Debug, Clone, Copy)]
pub struct Hints {
    /// How its server is started.
    pub start: &'static str,
    /// How a model is loaded.
    pub load: &'static str,
    /// What a base URL looks like.
    pub address: &'static str,
    /// How a longer context is had; `{tokens}` stands for its length.
    pub longer: &'static str,
}

/// Whom the sentences are about.
pub(crate) struct Place<'a> {
    pub(crate) settings: &'a ServerSettings,
    pub(crate) hints: &'a Hints,
    /// `host:port`, or the provider's name where there is no address.
    pub(crate) at: &'a str,
}

impl Place<'_> {
    /// What was seen. `said` is added where it tells more, and is the sentence where the transport made it.
    pub(crate) fn details(&self, reason: Reason, said: Option<&str>) -> String {
        let at = self.at;
        if let Some(obstacle) = self.obstacle(reason) {
            return format!("`{at}` wants a key; {obstacle}");
        }
        let seen = match reason {
            Reason::MissingUrl => "no base URL is set".to_owned(),
            Reason::MissingModel => "no model is set, and the server does not list exactly one".to_owned(),
            Reason::MissingKey => format!("`{}` needs a key and none is set", self.settings.provider),
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
            | Reason::TooLarge => {
                return said.map_or_else(|| format!("no answer from `{at}`"), str::to_owned);
            }
            Reason::Redirect => format!("`{at}` redirects to another place, which is not followed"),
            Reason::Html => format!("`{at}` answers with a web page"),
            Reason::KeyRequired => format!("`{at}` wants a key and none is set"),
            Reason::Unauthorized => format!("`{at}` does not accept the key"),
            Reason::Forbidden => format!("`{at}` does not allow this with the key"),
            Reason::ProxyAuth => format!("a proxy before `{at}` wants credentials"),
            Reason::UnknownModel => format!("{} is not among the models of `{at}`", self.model()),
            Reason::NotLoaded => format!("{} is not loaded; the first request loads it", self.model()),
            Reason::LoadingOff => format!("no model is loaded at `{at}`"),
            Reason::LoadFailed => format!("`{at}` failed to load {}", self.model()),
            Reason::NoModels => format!("`{at}` has no model"),
            Reason::WrongPath => format!("`{at}` does not know the path that was asked for"),
            Reason::Quota => format!("`{at}` accepts the key, but its money or budget is used up"),
            Reason::RateLimited => format!("`{at}` accepts the key, but limits the rate of requests"),
            Reason::Timeout => format!("`{at}` gave up waiting for its model"),
            Reason::Loading => format!("`{at}` is still loading its model"),
            Reason::Conflict => format!("`{at}` says that another request stands in the way"),
            Reason::Overloaded => format!("`{at}` has too much to do"),
            Reason::ServerError => format!("`{at}` reports a failure of its own"),
            Reason::NotJson => format!("the answer of `{at}` is not JSON"),
            Reason::ErrorIn200 => format!("`{at}` says an error in an answer with status 200"),
            Reason::Fields => format!("the answer of `{at}` lacks the expected fields"),
            Reason::ContextLength => format!("the task is longer than {} takes", self.model()),
            Reason::Rejected => format!("`{at}` does not take the request"),
            Reason::BrokenStream => format!("the answer of `{at}` broke off before it was whole"),
            Reason::BrokenAnswer => format!("the answer of `{at}` is not whole"),
            Reason::KeyInAnswer => {
                format!("the answer of `{at}` holds the key that was sent; it is not kept")
            }
        };
        match said {
            Some(said) => format!("{seen}: {said}"),
            None => seen,
        }
    }

    /// Returns what to do about it in words. `None` if the steps of [`Place::next_steps`] say it all.
    pub(crate) fn fix(&self, reason: Reason) -> Option<String> {
        let provider = &self.settings.provider;
        let hints = self.hints;
        Some(match reason {
            Reason::MissingUrl
            | Reason::BadUrl
            | Reason::MissingKey
            | Reason::KeyRequired
            | Reason::Unauthorized
            | Reason::Forbidden
            | Reason::BadKey
            | Reason::NotLoaded => return None,
            Reason::MissingModel
            | Reason::UnknownModel
            | Reason::LoadingOff
            | Reason::NoModels
            | Reason::LoadFailed => hints.load.to_owned(),
            Reason::Setup => "install the system's certificate authorities".to_owned(),
            Reason::Dns => "check the host name in the base URL and the network".to_owned(),
            Reason::Refused | Reason::ConnectTimeout => hints.start.to_owned(),
            Reason::Tls => "check if the base URL should begin with `http://` or `https://`".to_owned(),
            Reason::TlsCertificate => {
                "use a certificate that this machine trusts, or add its authority to the system".to_owned()
            }
            Reason::ReadTimeout | Reason::Timeout => {
                "try again, or give it more time with a longer time-out in the profile".to_owned()
            }
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
                "try again soon".to_owned()
            }
            Reason::KeyInAnswer => "find out why the server repeats the key, then make a new key".to_owned(),
            Reason::ContextLength => {
                "give fewer or smaller files, or load the model with a longer context".to_owned()
            }
            Reason::Rejected => "check model and parameters in the profile".to_owned(),
        })
    }

    /// Returns what to do about it as steps, the best first.
    pub(crate) fn next_steps(&self, reason: Reason) -> Vec<NextStep> {
        if let Some(obstacle) = self.obstacle(reason) {
            let steps = obstacle.next.iter().cloned();
            return steps.chain([NextStep::ListKeys]).collect();
        }
        match reason {
            Reason::MissingUrl | Reason::BadUrl => vec![NextStep::NameBaseUrl {
                example: Some(self.hints.address.to_owned()),
            }],
            Reason::Refused | Reason::ConnectTimeout => vec![NextStep::NameBaseUrl { example: None }],
            Reason::MissingModel | Reason::UnknownModel => vec![NextStep::NameModel],
            Reason::MissingKey
            | Reason::KeyRequired
            | Reason::Unauthorized
            | Reason::Forbidden
            | Reason::BadKey => vec![NextStep::SetKey {
                provider: Some(self.settings.provider.clone()),
                in_file: false,
            }],
            _ => Vec::new(),
        }
    }

    /// Why there is no key, where that is the matter.
    fn obstacle(&self, reason: Reason) -> Option<&KeyObstacle> {
        let is_matter = matches!(reason, Reason::MissingKey | Reason::KeyRequired);
        self.settings.key_obstacle.as_ref().filter(|_| is_matter)
    }

    fn model(&self) -> String {
        self.settings
            .named_model()
            .map_or_else(|| "the model".to_owned(), |name| format!("model `{name}`"))
    }
}

#[cfg(test)]
mod tests {
    use agentos_tool::ExecutionMode;

    use super::*;

    #[test]
    fn every_state_comes_with_what_was_seen_and_what_to_do() {
        let settings = ServerSettings::new("lmstudio", ExecutionMode::Local);
        let hints = Hints {
            start: "start it",
            load: "load a model",
            address: "http://localhost:1234/v1",
            longer: "load it with {tokens}",
        };
        let place = Place {
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
            let fix = place.fix(reason).into_iter().chain(steps);
            (place.details(reason, said), fix.collect::<Vec<_>>().join(", "))
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
                "answers with a web page",
                "check that `lmstudio` listens there",
            ),
            (
                Reason::Rejected,
                Some("bad field"),
                "does not take the request: bad field",
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
