//! One configured server, the common part of every HTTP adapter.
//!
//! Owns: the checks before anything is sent, requests with the key, and the conversion of findings to health and errors.
//! Never: knows a provider's paths.

use std::sync::OnceLock;
use std::time::Duration;

use agentos_api::{NextStep, RunLimit};
use agentos_net::{Auth, Deadline, HttpClient, HttpUrl, Request, TimeLimits};
use agentos_tool::{
    Endpoint, HealthStatus, SecretForms, Timestamp, ToolAdvice, ToolError, ToolFailure, ToolHealth,
};
use serde_json::Value;

use crate::guard::{KeyGuard, prepare_forms};
use crate::omitting::RefusedFields;
use crate::wording::ServerWording;
use crate::{Fault, Reason, ServerHints, ServerSettings, Service, StatedFact, judge_response};

/// Windows that a refusal can state, in tokens. Other numbers are mistakes.
const WINDOWS: std::ops::RangeInclusive<u64> = 256..=100_000_000;

/// Findings of a probe of a server that can be used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProbeFindings {
    /// Model that a task would use. `None` if the server does not say.
    pub model: Option<String>,
    /// Models that the server lists.
    pub models: Vec<String>,
    /// Tokens of the loaded context. `None` if the server does not say.
    pub context_window: Option<u64>,
    /// Remark about a server that can be used, such as [`Reason::NotLoaded`].
    pub remark: Option<Reason>,
}

/// Server with its HTTP client, its settings and the provider's hints.
#[derive(Debug, Clone)]
pub struct Server {
    pub(crate) http: HttpClient,
    settings: ServerSettings,
    hints: ServerHints,
    key_header: Option<&'static str>,
    headers: Vec<(&'static str, String)>,
    /// Encodings of the key, prepared for the first answer, because a client that sends nothing does not need them.
    forms: OnceLock<Option<SecretForms>>,
    pub(crate) refused: RefusedFields,
}

/// Words the other models of a server, as in `; it also has `b` and `c``. Empty without other models, or with too many for one line.
fn word_others(model: &str, all: &[String]) -> String {
    const MOST: usize = 5;
    let others: Vec<String> = all
        .iter()
        .filter(|other| *other != model)
        .map(|other| format!("`{other}`"))
        .collect();
    match others.as_slice() {
        [] => String::new(),
        [only] => format!("; it also has {only}"),
        [first @ .., last] if others.len() <= MOST => {
            format!("; it also has {} and {last}", first.join(", "))
        }
        // As of a vendor: `models` of the JSON report has them all.
        [_, ..] => String::new(),
    }
}

/// Returns true for a text between two quotation marks, as files of variables have it and shells remove it.
fn is_in_quotes(text: &str) -> bool {
    ['"', '\'', '`']
        .iter()
        .any(|mark| text.len() > 2 && text.starts_with(*mark) && text.ends_with(*mark))
}

impl Server {
    /// Makes a server of its parts. Nothing is checked or sent yet.
    pub(crate) fn new(settings: ServerSettings, service: &impl Service, http: HttpClient) -> Self {
        Self {
            http,
            settings,
            hints: service.server_hints(),
            key_header: service.key_header(),
            headers: service.request_headers(),
            forms: OnceLock::new(),
            refused: RefusedFields::default(),
        }
    }

    /// Returns the settings.
    #[must_use]
    pub fn settings(&self) -> &ServerSettings {
        &self.settings
    }

    /// Returns the base URL after checking that everything required is set.
    ///
    /// # Errors
    /// [`Reason::MissingUrl`], [`Reason::BadUrl`], [`Reason::MissingKey`] or [`Reason::BadKey`]; then nothing may be sent.
    pub fn checked_base(&self) -> Result<HttpUrl, Fault> {
        let text = self
            .settings
            .base_url
            .as_deref()
            .filter(|url| !url.trim().is_empty());
        let url = HttpUrl::parse(text.ok_or(Reason::MissingUrl)?)?;
        // Checked before anything is sent: the answer would be a certain 401.
        if self.settings.requires_key && !self.settings.has_key() {
            return Err(Reason::MissingKey.into());
        }
        if self
            .settings
            .key
            .as_ref()
            .is_some_and(|key| is_in_quotes(key.expose()))
        {
            return Err(Fault::from(Reason::BadKey)
                .with_message("the key begins and ends with a quotation mark; give the key without them"));
        }
        Ok(url)
    }

    /// Starts the deadline of one health check.
    #[must_use]
    pub fn probe_deadline(&self) -> Deadline {
        Deadline::after(self.settings.probe_timeout)
    }

    /// Reads JSON from `url` with the key.
    ///
    /// # Errors
    /// With the first reason of the health table that fits.
    pub async fn get(&self, url: HttpUrl, deadline: &Deadline) -> Result<Value, Fault> {
        self.send_request(
            self.with_headers(Request::get(url, self.request_auth())),
            deadline,
        )
        .await
    }

    /// Sends JSON to `url` with the key and reads JSON back.
    ///
    /// # Errors
    /// With the first reason of the health table that fits.
    pub async fn post(&self, url: HttpUrl, body: Value, deadline: &Deadline) -> Result<Value, Fault> {
        self.send_request(self.task_request(url, body), deadline).await
    }

    async fn send_request(&self, request: Request, deadline: &Deadline) -> Result<Value, Fault> {
        let response = self.http.send(&request, deadline).await?;
        judge_response(&response, self.settings.has_key())
    }

    /// Makes a request that sends `body` to `url`, with key and headers.
    pub(crate) fn task_request(&self, url: HttpUrl, body: Value) -> Request {
        self.with_headers(Request::post(url, self.request_auth(), body))
    }

    fn with_headers(&self, mut request: Request) -> Request {
        // The key is not among them: `Auth` carries it, so that it is marked as sensitive in one place.
        request.headers.clone_from(&self.headers);
        request
    }

    fn request_auth(&self) -> Auth {
        match (self.key_header, Auth::from(self.settings.key.as_ref())) {
            (Some(name), Auth::Bearer(key)) => Auth::Header(name, key),
            (_, auth) => auth,
        }
    }

    /// Converts the findings of a probe to a health report.
    #[must_use]
    pub fn report_health(
        &self,
        found: Result<ProbeFindings, Fault>,
        deadline: &Deadline,
        now: Timestamp,
    ) -> ToolHealth {
        let endpoint = self.parse_endpoint();
        let mut health = match found {
            Ok(found) => self.report_usable(self.key_guard().clean_findings(found), endpoint.as_ref(), now),
            Err(fault) => self.report_unusable(&fault, endpoint.as_ref(), now),
        };
        health.endpoint = endpoint;
        health.latency_ms = deadline.elapsed_ms();
        health
    }

    fn report_usable(&self, found: ProbeFindings, endpoint: Option<&Endpoint>, now: Timestamp) -> ToolHealth {
        let at = self.display_address(endpoint);
        let provider = &self.settings.provider;
        let details = match (&found.model, found.remark) {
            (Some(model), None) => {
                let others = word_others(model, &found.models);
                format!("`{at}` is ready with model `{model}`{others}")
            }
            (Some(model), Some(Reason::NotLoaded)) => {
                format!("`{at}` is ready; model `{model}` is not loaded, the first request loads it")
            }
            (_, Some(remark)) => self.message_wording(&at).describe_reason(remark, None),
            (None, None) => format!("`{at}` is ready"),
        };
        let mut health = ToolHealth::new(provider, HealthStatus::Connected, details, now);
        health.detail = found.remark.map(|remark| remark.as_str().to_owned());
        health.fix = found
            .remark
            .and_then(|remark| self.message_wording(&at).suggest_fix(remark));
        let steps = found
            .remark
            .map(|remark| self.message_wording(&at).next_steps(remark));
        health.next = steps.unwrap_or_default();
        if let (Some(loaded), Some(expected)) = (found.context_window, self.settings.context_window)
            && loaded < expected
        {
            // Still connected: tasks that fit work. The user should know before one does not.
            health.detail = Some("short-context".to_owned());
            health.details = format!(
                "{}, but its context has {loaded} tokens and the profile expects {expected}",
                health.details
            );
            health.next = Vec::new();
            health.fix = Some(self.hints.longer.replace("{tokens}", &expected.to_string()));
        }
        health.model = found.model;
        health.models = found.models;
        health.context_window = found.context_window;
        health
    }

    fn report_unusable(&self, fault: &Fault, endpoint: Option<&Endpoint>, now: Timestamp) -> ToolHealth {
        let at = self.display_address(endpoint);
        let wording = self.message_wording(&at);
        let said = self.clean_message(fault);
        let details = wording.describe_reason(fault.reason, said.as_deref()) + &self.name_models(fault);
        let mut health = ToolHealth::new(&self.settings.provider, fault.reason.status(), details, now)
            .with_detail(fault.reason.as_str())
            .with_category(fault.reason.category());
        health.fix = self.word_cure(&wording, fault);
        health.next = wording.next_steps(fault.reason);
        health.model = self.settings.named_model().map(str::to_owned);
        health.models = fault
            .models
            .iter()
            .map(|name| self.key_guard().clean_name(name.clone()))
            .collect();
        health
    }

    /// Converts a fault to the error of a run.
    #[must_use]
    pub fn run_error(&self, fault: &Fault, deadline: &Deadline) -> ToolError {
        let endpoint = self.parse_endpoint();
        let at = self.display_address(endpoint.as_ref());
        let wording = self.message_wording(&at);
        let reason = fault.reason;
        let out_of_time = matches!(
            reason,
            Reason::ReadTimeout | Reason::ConnectTimeout | Reason::Timeout
        );
        // These depend on the task, and a probe sends none. The health state must not claim more than a probe could see.
        let seen_by_probe = !matches!(
            reason,
            Reason::BrokenStream
                | Reason::BrokenAnswer
                | Reason::EmptyAnswer
                | Reason::EndlessAnswer
                | Reason::KeyInAnswer
                | Reason::Rejected
                | Reason::ContextLength
        );
        let mut advice = match fault.limit {
            // The message names the limit, so its remedy is the setting. The exception is an address at which no server answers.
            Some(limit) => ToolAdvice::new(
                self.word_cure(&wording, fault)
                    .filter(|_| limit == RunLimit::ConnectTime),
                vec![NextStep::RaiseLimit { limit }],
            ),
            None => ToolAdvice::new(self.word_cure(&wording, fault), wording.next_steps(reason)),
        };
        advice.stated_window = match fault.stated {
            Some(StatedFact::Window(tokens)) => Some(tokens).filter(|tokens| WINDOWS.contains(tokens)),
            Some(StatedFact::Field(_)) | None => None,
        };
        ToolError {
            failure: if out_of_time {
                ToolFailure::Timeout
            } else {
                ToolFailure::Failed
            },
            category: reason.category(),
            detail: reason.as_str().to_owned(),
            health: seen_by_probe.then(|| reason.status()),
            message: wording.describe_reason(reason, self.clean_message(fault).as_deref())
                + &self.name_models(fault),
            causes: self.clean_causes(fault),
            advice,
            endpoint,
            latency_ms: deadline.elapsed_ms(),
        }
    }

    /// Words a hint for a task that needs a context of so many tokens.
    pub(crate) fn longer_context(&self, tokens: u64) -> String {
        let how = self.hints.longer.replace("{tokens}", &tokens.to_string());
        format!("give fewer or smaller files, or {how}")
    }

    /// Starts the deadline of a run that takes at most so many seconds in all.
    #[must_use]
    pub fn run_deadline(&self, seconds: u64) -> Deadline {
        Deadline::with_limits(TimeLimits {
            first_byte: self.settings.first_byte_timeout,
            idle: self.settings.idle_timeout,
            total: Duration::from_secs(seconds),
        })
    }

    /// Starts the deadline of a conversation, with the limits of the settings.
    #[must_use]
    pub fn chat_deadline(&self) -> Deadline {
        self.run_deadline(self.settings.total_timeout.as_secs())
    }

    /// Returns the guard through which every text from the server must pass.
    pub(crate) fn key_guard(&self) -> KeyGuard<'_> {
        let key = self.settings.key.as_ref();
        let forms = self.forms.get_or_init(|| prepare_forms(key));
        KeyGuard::new(key, forms.as_ref())
    }

    /// Words the models that a person can name, as the end of a message. Empty unless one is to be named.
    fn name_models(&self, fault: &Fault) -> String {
        /// Maximum number of models in a message: gateways list hundreds.
        const MOST_NAMES: usize = 12;
        let asks_for_one = matches!(
            fault.reason,
            Reason::MissingModel | Reason::UnknownModel | Reason::LoadingOff
        );
        if !asks_for_one || fault.models.is_empty() {
            return String::new();
        }
        let names = fault.models.iter().take(MOST_NAMES);
        let names = names.map(|name| format!("`{}`", self.key_guard().clean_name(name.clone())));
        let mut words = format!("; its models: {}", names.collect::<Vec<_>>().join(", "));
        let others = fault.models.len().saturating_sub(MOST_NAMES);
        if others > 0 {
            words.push_str(&format!(" and {others} more"));
        }
        words
    }

    /// Words what to do about a fault. A field is a word of the server, and a server may put the key there.
    fn word_cure(&self, wording: &ServerWording<'_>, fault: &Fault) -> Option<String> {
        let cure = wording.suggest_cure(fault)?;
        if matches!(fault.stated, Some(StatedFact::Field(_))) {
            return self.key_guard().clean_message(&cure);
        }
        Some(cure)
    }

    fn clean_message(&self, fault: &Fault) -> Option<String> {
        self.key_guard().clean_message(fault.said.as_deref()?)
    }

    fn clean_causes(&self, fault: &Fault) -> Vec<String> {
        let causes = fault.causes.iter();
        causes
            .filter_map(|cause| self.key_guard().clean_message(cause))
            .collect()
    }

    fn parse_endpoint(&self) -> Option<Endpoint> {
        let url = HttpUrl::parse(self.settings.base_url.as_deref()?).ok()?;
        Some(url.endpoint())
    }

    fn display_address(&self, endpoint: Option<&Endpoint>) -> String {
        endpoint.map_or_else(|| self.settings.provider.clone(), ToString::to_string)
    }

    fn message_wording<'a>(&'a self, at: &'a str) -> ServerWording<'a> {
        ServerWording {
            settings: &self.settings,
            hints: &self.hints,
            at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_other_models_are_named() {
        let many: Vec<String> = ('a'..'k').map(String::from).collect();
        let told = [0, 1, 2, 3, 6, 7].map(|count| {
            let all: Vec<String> = many.iter().take(count).cloned().collect();
            format!("{count}{}", word_others("a", &all))
        });
        insta::assert_snapshot!(told.join("\n"), @"
        0
        1
        2; it also has `b`
        3; it also has `b` and `c`
        6; it also has `b`, `c`, `d`, `e` and `f`
        7
        ");
    }
}
