//! The adapter for a server of which only a wire is known.
//!
//! Owns: its health: `/health` first where there is one, then a request for one token, since nothing else is known
//! of such a server. Never: takes a `/health` of 200 for proof that the wire fits.

use std::sync::Arc;

use agentos_net::HttpClient;
use agentos_tool::{BoxFuture, Constrain, ToolTask};

use crate::offer::tiny_task;
use crate::{Ask, Call, Fault, Found, Hints, HttpAdapter, Job, Reason, ServerSettings, Service, Wire};

/// A server behind any [`Wire`].
#[derive(Clone)]
pub struct PlainServer {
    path: String,
    wire: Arc<dyn Wire>,
}

impl PlainServer {
    /// An adapter from settings, the path below the base URL to which a task goes, and the wire.
    #[must_use]
    pub fn adapter(
        settings: ServerSettings,
        path: &str,
        wire: Arc<dyn Wire>,
        http: HttpClient,
    ) -> HttpAdapter<Self> {
        let path = path.to_owned();
        HttpAdapter::new(settings, Self { path, wire }, http)
    }

    async fn find(&self, call: Call<'_>) -> Result<Found, Fault> {
        match call.get(call.base.join("health")).await {
            Ok(_) => {}
            Err(fault) if is_no_health_path(fault.reason) => {}
            Err(fault) => return Err(fault),
        }
        let task = tiny_task("Say ok.", 5, 1);
        let job = Job {
            task: &task,
            model: call.wanted(),
            max_tokens: Some(1),
            temperature: None,
            top_p: None,
            seed: None,
            stop: &[],
            constrain: Constrain::Off,
        };
        let mut body = self.wire.request(&job);
        if let Some(stream) = body.get_mut("stream") {
            *stream = false.into();
        }
        let answer = call.post(call.base.join(&self.path), body).await?;
        let piece = self.wire.response(&answer)?;
        Ok(Found {
            model: piece.model.or(call.wanted().map(str::to_owned)),
            ..Found::default()
        })
    }
}

impl Service for PlainServer {
    fn hints(&self) -> Hints {
        Hints {
            start: "start the server",
            load: "load a model",
            address: "http://localhost:8080",
            longer: "use a model with {tokens} tokens of context",
        }
    }

    fn probe<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Found, Fault>> {
        Box::pin(self.find(call))
    }

    fn prepare<'a>(&'a self, call: Call<'a>, _: &'a ToolTask) -> BoxFuture<'a, Result<Ask, Fault>> {
        Box::pin(async move {
            let model = call.wanted().map(str::to_owned);
            Ok(Ask::new(
                call.base.join(&self.path),
                Arc::clone(&self.wire),
                model,
            ))
        })
    }
}

/// Answers that only say that there is no health path; the probe request decides then.
fn is_no_health_path(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::WrongPath | Reason::ErrorIn200 | Reason::NotJson | Reason::Html | Reason::Fields
    )
}

#[cfg(test)]
mod tests;
