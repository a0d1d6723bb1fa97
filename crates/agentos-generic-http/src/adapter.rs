//! The adapter for a local model server of which only a wire is known.
//!
//! Owns: its health: `/health` first where there is one, then a request for one token, since nothing else is known
//! of such a server. Never: takes a `/health` of 200 for proof that the wire fits.

use agentos_net::HttpClient;
use agentos_tool::{
    Adapter, BoxFuture, ProgressSink, RunId, TaskLimits, Timestamp, ToolCapabilities, ToolError, ToolHealth,
    ToolOutput, ToolTask,
};

use crate::{Fault, Found, Hints, Job, Reason, Server, ServerSettings, Wire};

const HINTS: Hints = Hints {
    start: "start the server",
    load: "load a model",
    address: "http://localhost:8080",
};

/// A local server behind a [`Wire`].
pub struct GenericHttp {
    server: Server,
    wire: Box<dyn Wire>,
}

impl GenericHttp {
    /// An adapter from settings and the three hooks.
    #[must_use]
    pub fn new(settings: ServerSettings, wire: Box<dyn Wire>, http: HttpClient) -> Self {
        Self {
            server: Server::new(settings, HINTS, http),
            wire,
        }
    }

    async fn probe(&self, deadline: &agentos_net::Deadline) -> Result<Found, Fault> {
        let base = self.server.base()?;
        match self.server.get(base.join("health"), deadline).await {
            Ok(_) => {}
            Err(fault) if is_no_health_path(fault.reason) => {}
            Err(fault) => return Err(fault),
        }
        let task = smallest_task();
        let job = Job {
            task: &task,
            model: self.server.settings().named_model(),
            max_tokens: Some(1),
            temperature: None,
            top_p: None,
            seed: None,
            stop: &[],
        };
        let mut body = self.wire.request(&job);
        if let Some(stream) = body.get_mut("stream") {
            *stream = false.into();
        }
        let answer = self
            .server
            .post(base.join(self.wire.endpoint()), body, deadline)
            .await?;
        let piece = self.wire.response(&answer)?;
        let model = self.server.settings().named_model().map(str::to_owned);
        Ok(Found {
            model: piece.model.or(model),
            ..Found::default()
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

fn smallest_task() -> ToolTask {
    ToolTask {
        task_id: RunId::new(&Timestamp::from_unix_seconds(0), 0),
        instruction: "Say ok.".to_owned(),
        context: Vec::new(),
        edit_format: agentos_tool::EditFormat::UnifiedDiff,
        allowed_paths: Vec::new(),
        forbidden_paths: Vec::new(),
        limits: TaskLimits {
            timeout_seconds: 5,
            max_output_tokens: Some(1),
        },
        attempt: 1,
        feedback: None,
    }
}

impl Adapter for GenericHttp {
    fn provider(&self) -> &str {
        &self.server.settings().provider
    }

    fn health_check(&self, now: Timestamp) -> BoxFuture<'_, ToolHealth> {
        Box::pin(async move {
            let deadline = self.server.probe_deadline();
            let found = self.probe(&deadline).await;
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
            let base = self
                .server
                .base()
                .map_err(|fault| self.server.error(&fault, &deadline))?;
            let model = self.server.settings().named_model();
            self.server
                .ask(self.wire.as_ref(), &base, (task, model), &deadline, progress)
                .await
        })
    }

    fn supports(&self) -> ToolCapabilities {
        self.server.settings().capabilities()
    }
}

#[cfg(test)]
mod tests;
