//! A repository that is served: its desk, the name of its page, and its paths.
//!
//! Owns: making both from the same names. Never: decides who may ask.

use std::path::PathBuf;
use std::sync::Arc;

use agentos_host::{EffectError, Host, KnownRepository, make_secret};
use axum::Router;

use super::SOCKET_NAME;
use crate::access::SessionKind;
use crate::desk::{DevicePlaces, ServiceDesk, SharedDesk};
use crate::metrics::ServiceMetrics;
use crate::routes::{make_list_routes, make_routes};
use crate::served::ServedDesks;

/// Domain of the pages' names. Browsers know that names below `localhost` are this machine (RFC 6761, section 6.3).
const PAGE_DOMAIN: &str = "agentos.localhost";
/// Digits of a page's random name: 128 bits.
const NAME_DIGITS: usize = 32;

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

    /// Makes the page that lists all repositories.
    pub(super) fn make_list(
        host: Host,
        (page, served): (String, ServedDesks),
        metrics: Arc<ServiceMetrics>,
    ) -> Self {
        let link = (format!("http://{page}/signin#"), DevicePlaces::default());
        let place = (KnownRepository::default(), served.clone());
        let desk = Arc::new(ServiceDesk::new(host, metrics, link, place, Vec::new()));
        served.set_list_page(&desk);
        Self {
            routes: make_list_routes(Arc::clone(&desk)),
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

/// Makes the name of a page: no other program of the machine can know it.
pub(super) fn make_page_name(port: u16) -> Result<String, EffectError> {
    let digits: String = make_secret()?.expose().chars().take(NAME_DIGITS).collect();
    Ok(match port {
        // Browsers leave out the usual port of HTTP.
        80 => format!("{digits}.{PAGE_DOMAIN}"),
        port => format!("{digits}.{PAGE_DOMAIN}:{port}"),
    })
}
