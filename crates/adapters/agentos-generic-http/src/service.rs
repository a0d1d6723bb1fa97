//! What differs between one model server and another, and the adapter that is made of it.
//!
//! Owns: the three verbs of every HTTP adapter, written once. Never: knows a provider; each gives a [`Service`].

use std::sync::Arc;

use agentos_net::{Deadline, HttpClient, HttpUrl};
use agentos_tool::{
    Adapter, BoxFuture, ProgressSink, Timestamp, ToolCapabilities, ToolError, ToolHealth, ToolOutput,
    ToolTask,
};
use serde_json::Value;

use crate::{Fault, Found, Hints, Server, ServerSettings, Wire};

/// A server with the address and the time limit of one call.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The server.
    pub server: &'a Server,
    /// Its base URL, checked.
    pub base: &'a HttpUrl,
    /// How long the whole call may take.
    pub deadline: &'a Deadline,
}

impl<'a> Call<'a> {
    /// The model that is asked for by name.
    #[must_use]
    pub fn wanted(&self) -> Option<&'a str> {
        self.server.settings().named_model()
    }

    /// Reads JSON from `url` with the key.
    ///
    /// # Errors
    /// With the first reason of the health table that fits.
    pub async fn get(&self, url: HttpUrl) -> Result<Value, Fault> {
        self.server.get(url, self.deadline).await
    }

    /// Sends JSON to `url` with the key and reads JSON back.
    ///
    /// # Errors
    /// With the first reason of the health table that fits.
    pub async fn post(&self, url: HttpUrl, body: Value) -> Result<Value, Fault> {
        self.server.post(url, body, self.deadline).await
    }
}

/// Where a task goes and in which words.
pub struct Ask {
    /// The address of the request.
    pub url: HttpUrl,
    /// Where an answer is asked for that comes in one document; none where that is the same address.
    pub whole_url: Option<HttpUrl>,
    /// The words.
    pub wire: Arc<dyn Wire>,
    /// The model to ask for, where one has to be named.
    pub model: Option<String>,
    /// What a person should know of this answer, whatever it is.
    pub notes: Vec<String>,
    /// Tokens of the context that is loaded, where the server says so.
    pub context_window: Option<u64>,
    /// Tokens of the prompt, where the server has counted them.
    pub prompt_tokens: Option<u64>,
}

impl Ask {
    /// A task's way to a server of which nothing more is known.
    #[must_use]
    pub fn new(url: HttpUrl, wire: Arc<dyn Wire>, model: Option<String>) -> Self {
        Self {
            url,
            whole_url: None,
            wire,
            model,
            notes: Vec::new(),
            context_window: None,
            prompt_tokens: None,
        }
    }
}

/// One kind of server.
pub trait Service: Send + Sync {
    /// Its words for the two things a person has to do most often.
    fn hints(&self) -> Hints;

    /// The header of its own in which the key travels; none for `Authorization: Bearer`.
    fn key_header(&self) -> Option<&'static str> {
        None
    }

    /// Headers of every request; never a key.
    fn headers(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Asks for the documents that prove address, key and model, and generates nothing.
    fn probe<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Found, Fault>>;

    /// Finds out where a task goes and in which words.
    fn prepare<'a>(&'a self, call: Call<'a>, task: &'a ToolTask) -> BoxFuture<'a, Result<Ask, Fault>>;

    /// What such a server can do, from what the settings say.
    fn supports(&self, can: ToolCapabilities) -> ToolCapabilities {
        can
    }
}

/// A server of one kind, as a tool.
#[derive(Debug, Clone)]
pub struct HttpAdapter<S> {
    server: Server,
    service: S,
}

impl<S: Service> HttpAdapter<S> {
    /// An adapter from its parts; nothing is checked or sent yet.
    #[must_use]
    pub fn new(settings: ServerSettings, service: S, http: HttpClient) -> Self {
        Self {
            server: Server::new(settings, &service, http),
            service,
        }
    }

    async fn found(&self, deadline: &Deadline) -> Result<Found, Fault> {
        let base = self.server.base()?;
        self.service.probe(self.call(&base, deadline)).await
    }

    async fn answer(
        &self,
        task: &ToolTask,
        progress: &dyn ProgressSink,
        deadline: &Deadline,
    ) -> Result<ToolOutput, ToolError> {
        let ask = self.prepared(task, deadline).await?;
        self.server.ask(&ask, task, deadline, progress).await
    }

    /// Where a task goes and in which words.
    pub(crate) async fn prepared(&self, task: &ToolTask, deadline: &Deadline) -> Result<Ask, ToolError> {
        let fail = |fault: Fault| self.server.error(&fault, deadline);
        let base = self.server.base().map_err(fail)?;
        let call = self.call(&base, deadline);
        self.service.prepare(call, task).await.map_err(fail)
    }

    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    fn call<'a>(&'a self, base: &'a HttpUrl, deadline: &'a Deadline) -> Call<'a> {
        Call {
            server: &self.server,
            base,
            deadline,
        }
    }
}

impl<S: Service> Adapter for HttpAdapter<S> {
    fn provider(&self) -> &str {
        &self.server.settings().provider
    }

    fn health_check(&self, now: Timestamp) -> BoxFuture<'_, ToolHealth> {
        Box::pin(async move {
            let deadline = self.server.probe_deadline();
            let found = self.found(&deadline).await;
            self.server.health(found, &deadline, now)
        })
    }

    fn run<'a>(
        &'a self,
        task: &'a ToolTask,
        progress: &'a dyn ProgressSink,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let deadline = Server::run_deadline(task.limits.timeout_seconds);
            self.answer(task, progress, &deadline).await
        })
    }

    fn supports(&self) -> ToolCapabilities {
        self.service.supports(self.server.settings().capabilities())
    }
}
