//! A tool that plays back a recorded answer.
//!
//! Owns: the `replay` provider. Never: reads a file; the recording comes in as text.

use agentos_api::NextStep;
use agentos_tool::{
    Adapter, BoxFuture, DiffQuality, ErrorCategory, ExecutionMode, FinishReason, HealthStatus, Progress,
    ProgressSink, Timestamp, ToolAdvice, ToolCapabilities, ToolError, ToolFailure, ToolHealth, ToolOutput,
    ToolTask,
};

/// Plays back one recorded answer, whatever the task.
#[derive(Debug, Clone)]
pub struct ReplayAdapter {
    recording: Option<String>,
}

impl ReplayAdapter {
    /// Makes a tool that answers with `recording`. `None` is reported as not configured.
    #[must_use]
    pub fn new(recording: Option<String>) -> Self {
        Self { recording }
    }
}

impl Adapter for ReplayAdapter {
    fn provider(&self) -> &str {
        "replay"
    }

    fn health_check(&self, now: Timestamp) -> BoxFuture<'_, ToolHealth> {
        let health = match &self.recording {
            Some(text) => ToolHealth::new(
                "replay",
                HealthStatus::Connected,
                format!("a recorded answer of {} bytes is ready", text.len()),
                now,
            ),
            None => ToolHealth::new(
                "replay",
                HealthStatus::NotConfigured,
                "no recorded answer is named",
                now,
            )
            .with_detail("missing-recording")
            .suggest_steps([NextStep::NameRecording]),
        };
        Box::pin(std::future::ready(health))
    }

    fn run<'a>(
        &'a self,
        _task: &'a ToolTask,
        progress: &'a dyn ProgressSink,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let result = match &self.recording {
            Some(text) => {
                // As a streaming tool does, so that front ends show a recording like any other answer.
                progress.progress(Progress::Text(text.clone()));
                Ok(ToolOutput {
                    text: text.clone(),
                    finish: FinishReason::Stop,
                    model_id: Some("recorded".to_owned()),
                    endpoint: None,
                    usage: None,
                    latency_ms: 0,
                    warnings: Vec::new(),
                })
            }
            None => Err(ToolError {
                failure: ToolFailure::Failed,
                category: ErrorCategory::Config,
                detail: "missing-recording".to_owned(),
                health: Some(HealthStatus::NotConfigured),
                message: "no recorded answer is named".to_owned(),
                causes: Vec::new(),
                advice: ToolAdvice::new(None, vec![NextStep::NameRecording]),
                endpoint: None,
                latency_ms: 0,
            }),
        };
        Box::pin(std::future::ready(result))
    }

    fn supports(&self) -> ToolCapabilities {
        // Local: nothing leaves the machine, whichever model was recorded.
        ToolCapabilities::diff_only(ExecutionMode::Local, DiffQuality::Medium)
    }
}
