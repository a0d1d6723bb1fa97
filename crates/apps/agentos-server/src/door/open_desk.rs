//! A repository that is served: its desk, the name of its page, and its paths.
//!
//! Owns: making both from the same names. Never: decides who may ask.

use std::path::PathBuf;
use std::sync::Arc;

use agentos_host::{EffectError, Host, KnownRepository};
use axum::Router;

use super::SOCKET_NAME;
use crate::access::SessionKind;
use crate::desk::{DevicePlaces, ServiceDesk, SharedDesk};
use crate::metrics::ServiceMetrics;
use crate::routes::make_routes;
use crate::served::ServedDesks;

/// A repository that is served.
pub struct OpenDesk {
    /// Value of Host of its page.
    pub(super) page: String,
    pub(super) desk: SharedDesk,
    pub(super) routes: Router,
}

impl OpenDesk {
    pub(super) fn new(
        host: Host,
        place: (KnownRepository, ServedDesks),
        metrics: Arc<ServiceMetrics>,
        (page, fixed, devices): (String, &[String], DevicePlaces),
        policies: Vec<PathBuf>,
    ) -> Self {
        let link = format!("http://{page}/signin#");
        let desk = Arc::new(ServiceDesk::new(host, metrics, (link, devices), place, policies));
        let mut names = fixed.to_vec();
        names.push(SOCKET_NAME.to_owned());
        Self {
            routes: make_routes(Arc::clone(&desk), &names),
            page,
            desk,
        }
    }

    /// Makes a link that signs one browser in, once.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn make_link(&self) -> Result<String, EffectError> {
        let code = self.desk.access.make_code(SessionKind::Usual)?;
        Ok(format!("{}{}", self.desk.sign_in_link, code.expose()))
    }
}
