//! Orders of the user to the service itself, over the Unix socket.
//!
//! Owns: their form, and the links that answer them. Never: answers a request of the network.

use std::sync::Arc;

use agentos_host::{EffectError, JOIN_PATH, JoinAnswer, JoinOrder};
use axum::body::{Body, to_bytes};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use serde_json::json;

use super::ServiceDoor;
use crate::fault::RequestFault;
use crate::rest;

/// Largest body of an order to the service.
const LARGEST_ORDER: usize = 64 << 10;

impl ServiceDoor {
    /// Answers an order of the user to the service itself.
    pub(super) async fn take_order(
        self: &Arc<Self>,
        parts: &Parts,
        body: Body,
    ) -> Result<Response, RequestFault> {
        if parts.uri.path() != JOIN_PATH {
            return Ok(rest::find_nothing().await.into_response());
        }
        let bad = |what: &str| RequestFault::new(StatusCode::BAD_REQUEST, "usage", what);
        let body = to_bytes(body, LARGEST_ORDER)
            .await
            .map_err(|_| bad("the order is too long"))?;
        let order: JoinOrder = serde_json::from_slice(&body).map_err(|error| bad(&error.to_string()))?;
        let door = Arc::clone(self);
        let joined = tokio::task::spawn_blocking(move || {
            if order.all {
                let link = door.list.make_link()?;
                let repository = "all repositories".to_owned();
                return Ok(JoinAnswer { link, repository });
            }
            let open = door.join(&order)?;
            let link = open.make_link()?;
            let repository = open.desk.known.name.clone();
            Ok::<_, EffectError>(JoinAnswer { link, repository })
        });
        let lost = RequestFault::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "run-lost",
            "the order ended without a result",
        );
        Ok(rest::json(&json!(joined.await.map_err(|_| lost)??)))
    }
}
