//! The desk: what every answer needs, and the work on threads that may block.
//!
//! Owns: the host, the access, and the bound on work at once. Never: outlives the service.

use std::path::PathBuf;
use std::sync::Arc;

use agentos_host::{
    ApprovalHashes, ApprovalMode, ConsentAnswer, ConsentMode, ConsentProof, EffectError, Host, Outcome,
    RunSpec, RunWork, ServiceModels, SessionOptions,
};
use axum::http::StatusCode;
use tokio::sync::Semaphore;

use crate::access::ServiceAccess;
use crate::event_hub::EventHub;
use crate::fault::RequestFault;
use crate::metrics::ServiceMetrics;
use crate::talks::OpenTalks;

/// Most calls of the host at once. Each reads files of one repository, so more would only wait for the disk.
const MOST_CALLS: usize = 8;

/// Everything that answers share.
pub struct ServiceDesk {
    /// The product.
    pub host: Host,
    /// Models for the clients of `/v1`.
    pub models: ServiceModels,
    /// Counts for `/metrics`.
    pub metrics: ServiceMetrics,
    /// Secrets of programs and people.
    pub access: ServiceAccess,
    /// Beginning of the links that sign a browser in; the code follows.
    pub sign_in_link: String,
    /// Name of the repository's folder, for people.
    pub repository: String,
    /// Further policies.
    pub policies: Vec<PathBuf>,
    /// Reader of the tape for all listeners.
    pub events: EventHub,
    /// Turns that the page began.
    pub talks: OpenTalks,
    calls: Semaphore,
}

/// Shared desk.
pub type SharedDesk = Arc<ServiceDesk>;

impl ServiceDesk {
    /// Makes the desk of a service.
    pub fn new(
        host: Host,
        access: ServiceAccess,
        sign_in_link: String,
        repository: String,
        policies: Vec<PathBuf>,
    ) -> Self {
        Self {
            models: ServiceModels::new(&host),
            metrics: ServiceMetrics::default(),
            host,
            access,
            sign_in_link,
            repository,
            policies,
            events: EventHub::default(),
            talks: OpenTalks::default(),
            calls: Semaphore::new(MOST_CALLS),
        }
    }

    /// Calls the host on a thread that may block, once there is room.
    ///
    /// # Errors
    /// The error of the call.
    pub async fn call<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, EffectError> + Send + 'static,
    ) -> Result<T, RequestFault> {
        let lost = |what: &str| RequestFault::new(StatusCode::INTERNAL_SERVER_ERROR, "run-lost", what);
        let room = self.calls.acquire().await.map_err(|_| lost("the service ends"))?;
        let desk = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || work(&desk)).await;
        drop(room);
        Ok(done.map_err(|_| lost("the work ended without a result"))??)
    }

    /// Does a run to its end.
    ///
    /// # Errors
    /// If it cannot begin.
    pub async fn run(&self, work: RunWork, consent: ConsentMode) -> Result<Outcome, RequestFault> {
        let session = SessionOptions {
            policies: self.policies.clone(),
            ..SessionOptions::default()
        };
        let spec = RunSpec {
            consent,
            ..RunSpec::new(session, work)
        };
        // On a thread of its own: a client that goes away does not stop a landing.
        let end = self.host.start_run(spec)?.outcome().await?;
        end.into_outcome().ok_or_else(|| {
            let what = "a run that should land a change ended without an outcome";
            RequestFault::new(StatusCode::INTERNAL_SERVER_ERROR, "run-lost", what)
        })
    }

    /// Lands a requested change in exactly the state of these hashes. `how` is for the record.
    ///
    /// # Errors
    /// If the run cannot begin.
    pub async fn approve(
        &self,
        request: String,
        hashes: ApprovalHashes,
        how: String,
    ) -> Result<Outcome, RequestFault> {
        self.approve_with(request, hashes, how, None).await
    }

    /// Lands a requested change, with the signature of a device if there is one.
    ///
    /// # Errors
    /// If the run cannot begin.
    pub async fn approve_with(
        &self,
        request: String,
        hashes: ApprovalHashes,
        how: String,
        proof: Option<ConsentProof>,
    ) -> Result<Outcome, RequestFault> {
        let answer = ConsentAnswer::Yes {
            hashes: Box::new(hashes),
            who: self.host.person_name(),
            how,
            releases_withheld: false,
        };
        let consent = match proof {
            Some(proof) => ApprovalMode::Signed(answer, Box::new(proof)),
            None => ApprovalMode::Seen(answer),
        };
        let work = RunWork::Approval {
            request,
            consent,
            revision: None,
        };
        self.run(work, ConsentMode::Nobody).await
    }
}
