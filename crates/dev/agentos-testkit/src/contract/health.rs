//! The checks of the contract that are about health.
//!
//! Owns: what a probe shows of servers that hang, are other services, or answer as a row of the health table says. Never:
//! runs a task.

use std::sync::Arc;

use agentos_tool::{ErrorCategory, HealthStatus};
use serde_json::json;

use super::{KEY, Subject, equal, now};
use crate::server::{FakeServer, Reply};

impl Subject {
    pub(super) async fn hanging_probe(&self) -> Result<(), String> {
        let server = FakeServer::start(|_| Reply::Hang(Vec::new())).map_err(|error| error.to_string())?;
        let health = (self.make)(Some(&server.url()), Some(KEY))
            .health_check(now())
            .await;
        equal("status", health.status, HealthStatus::Unreachable)?;
        equal("detail", health.detail.as_deref(), Some("read-timeout"))
    }

    pub(super) async fn no_address(&self) -> Result<(), String> {
        for (url, detail) in [(None, "missing-url"), (Some("ftp://example.com"), "bad-url")] {
            let health = (self.make)(url, Some(KEY)).health_check(now()).await;
            equal("status", health.status, HealthStatus::NotConfigured)?;
            equal("detail", health.detail.as_deref(), Some(detail))?;
        }
        Ok(())
    }

    pub(super) async fn other_service(&self) -> Result<(), String> {
        let page = "<!doctype html><title>My dev server</title>";
        let replies: [Arc<dyn Fn() -> Reply + Send + Sync>; 4] = [
            Arc::new(move || Reply::http(200, &[("content-type", "text/html")], page.as_bytes())),
            Arc::new(|| Reply::http(200, &[], b"")),
            Arc::new(|| Reply::json(200, &json!({"status": "UP"}))),
            Arc::new(|| Reply::json(404, &json!({"error": "no such route"}))),
        ];
        for (index, reply) in replies.into_iter().enumerate() {
            let server = FakeServer::start(move |_| reply()).map_err(|error| error.to_string())?;
            let health = (self.make)(Some(&server.url()), Some(KEY))
                .health_check(now())
                .await;
            equal(
                &format!("status of service {index}"),
                health.status,
                HealthStatus::SchemaMismatch,
            )?;
            equal("category", health.error_category, Some(ErrorCategory::Schema))?;
        }
        Ok(())
    }

    /// Checks each row of the health table, with one HTTP answer on every path. Rows about models need a list of models, which
    /// differs for each adapter, so they are left to the adapter's own tests.
    pub(super) async fn health_table(&self) -> Result<(), String> {
        for (row, reply, status, detail) in super::table::rows() {
            let server = FakeServer::start(move |_| reply.clone()).map_err(|error| error.to_string())?;
            let health = (self.make)(Some(&server.url()), Some(KEY))
                .health_check(now())
                .await;
            let what = format!("row {row} ({detail})");
            equal(
                &what,
                (health.status, health.detail.as_deref()),
                (status, Some(detail)),
            )?;
            let is_connected = status == HealthStatus::Connected;
            equal(
                &format!("{what}: category"),
                health.error_category.is_none(),
                is_connected,
            )?;
            equal(
                &format!("{what}: what was seen"),
                health.details.is_empty(),
                false,
            )?;
            equal(&format!("{what}: what to do"), health.says_next(), true)?;
        }
        let server = FakeServer::start(|_| super::table::refused(401)).map_err(|error| error.to_string())?;
        let health = (self.make)(Some(&server.url()), None).health_check(now()).await;
        equal("row 12", health.status, HealthStatus::NotConfigured)?;
        let is_told = matches!(health.detail.as_deref(), Some("key-required" | "missing-key"));
        equal("row 12: detail", is_told, true)?;
        let plain = FakeServer::start_raw(Reply::json(200, &json!({}))).map_err(|error| error.to_string())?;
        let url = plain.url().replace("http://", "https://");
        let health = (self.make)(Some(&url), Some(KEY)).health_check(now()).await;
        equal(
            "row 6",
            (health.status, health.detail.as_deref()),
            (HealthStatus::Unreachable, Some("tls")),
        )
    }
}
