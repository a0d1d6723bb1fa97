//! The desk of a repository: what every answer needs, and the work on threads that may block.
//!
//! Owns: the host, the access, and the bounds on work at once. Never: outlives the service.
//!
//! Work has lanes, so that slow work of one kind never keeps work of another kind waiting. Each lane has places of its own, and there are
//! more threads than places and connections together:
//!
//! | lane | work | places |
//! |---|---|---|
//! | consent | what an approval or a denial needs: the review, and the answer | 8 |
//! | read | lists, pages, reports | 8 |
//! | long | verifying and exporting all evidence | 2 |
//! | models | preparing a call of `/v1` | 16 |
//!
//! Turns of conversations have threads of their own, and agents a runtime of their own.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentos_host::{
    ApprovalHashes, ApprovalMode, ConsentAnswer, ConsentMode, ConsentProof, DeniedRequest, DeviceAddress,
    EffectError, Host, KnownRepository, Outcome, RunSpec, RunWork, ServiceModels, SessionOptions,
};
use axum::http::StatusCode;
use tokio::sync::Semaphore;

use crate::access::ServiceAccess;
use crate::event_hub::EventHub;
use crate::fault::RequestFault;
use crate::metrics::ServiceMetrics;
use crate::own_tls::ServiceAuthority;
use crate::served::ServedDesks;
use crate::talks::OpenTalks;

/// Most waiting calls for each place of a lane.
const MOST_WAITING: usize = 32;
/// Longest time of a denial. The repository may be locked by another program, which need not end.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// Kind of work on threads that may block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// Work that an approval or a denial needs.
    Consent,
    /// Lists, pages and reports.
    Read,
    /// Work that reads all evidence.
    Long,
    /// Preparation of a call of a model.
    Models,
}

/// Places of the lanes.
#[derive(Debug, Clone)]
pub struct WorkLanes([LanePlaces; 4]);

/// Places of a lane. Clones share them.
#[derive(Debug, Clone)]
struct LanePlaces {
    free: Arc<Semaphore>,
    /// Places of the work that runs, and of the work that waits.
    known: Arc<Semaphore>,
}

impl Default for WorkLanes {
    fn default() -> Self {
        Self([8, 8, 2, 16].map(|places| LanePlaces {
            free: Arc::new(Semaphore::new(places)),
            known: Arc::new(Semaphore::new(places * MOST_WAITING)),
        }))
    }
}

impl WorkLanes {
    fn places(&self, lane: Lane) -> &LanePlaces {
        let [consent, read, long, models] = &self.0;
        match lane {
            Lane::Consent => consent,
            Lane::Read => read,
            Lane::Long => long,
            Lane::Models => models,
        }
    }

    /// Does work on a thread that may block, once the lane has room.
    ///
    /// # Errors
    /// The error of the work, and if too much work waits already.
    pub async fn run<T: Send + 'static>(
        &self,
        lane: Lane,
        work: impl FnOnce() -> Result<T, EffectError> + Send + 'static,
    ) -> Result<T, RequestFault> {
        let lost = |what: &str| RequestFault::new(StatusCode::INTERNAL_SERVER_ERROR, "run-lost", what);
        let places = self.places(lane);
        let Ok(known) = Arc::clone(&places.known).try_acquire_owned() else {
            let what = "too many requests of this kind wait already; try again later";
            return Err(RequestFault::new(StatusCode::SERVICE_UNAVAILABLE, "busy", what));
        };
        let free = Arc::clone(&places.free).acquire_owned().await;
        let free = free.map_err(|_| lost("the service ends"))?;
        let done = tokio::task::spawn_blocking(move || {
            // The places are taken until the work ends, also if its client has gone away.
            let _places = (free, known);
            work()
        });
        Ok(done
            .await
            .map_err(|_| lost("the work ended without a result"))??)
    }
}

/// Everything that answers share.
pub struct ServiceDesk {
    /// The product.
    pub host: Host,
    /// Models for the clients of `/v1`.
    pub models: ServiceModels,
    /// Counts for `/metrics`, of all desks.
    pub metrics: Arc<ServiceMetrics>,
    /// Secrets of the people who are signed in.
    pub access: ServiceAccess,
    /// Beginning of the links that sign a browser in; the code follows.
    pub sign_in_link: String,
    /// Places at which the user's other devices reach the service.
    pub devices: DevicePlaces,
    /// The repository, as it was when the service took it. A default value for the desk of the user's own models.
    pub known: KnownRepository,
    /// The desks of all repositories.
    pub served: ServedDesks,
    /// Further policies.
    pub policies: Vec<PathBuf>,
    /// Reader of the tape for all listeners.
    pub events: EventHub,
    /// Turns that the page began.
    pub talks: OpenTalks,
    lanes: WorkLanes,
}

/// Places at which the user's other devices reach the service. Clones share them.
#[derive(Clone, Default)]
pub struct DevicePlaces {
    /// Addresses of the user's settings.
    pub addresses: Arc<[DeviceAddress]>,
    /// Authority of the service's certificates. `None` if no address asks for TLS of the service itself.
    pub authority: Option<Arc<ServiceAuthority>>,
}

impl DevicePlaces {
    /// Opens the places of the user's settings.
    ///
    /// # Errors
    /// Fails if the settings or the authority cannot be read, or the authority cannot be kept.
    pub fn open(host: &Host) -> Result<Self, EffectError> {
        let addresses = host.runs().device_addresses()?;
        Ok(Self {
            authority: ServiceAuthority::open(host, &addresses)?,
            addresses: addresses.into(),
        })
    }
}

/// Shared desk.
pub type SharedDesk = Arc<ServiceDesk>;

/// Consent of a person to a change that they saw.
pub struct PersonConsent {
    /// State that they saw.
    pub hashes: ApprovalHashes,
    /// Way of consenting, for the record.
    pub how: String,
    /// Signature of a device. `None` if the person's session needs none.
    pub proof: Option<ConsentProof>,
    /// True if the person releases text of withheld files that the change has.
    pub releases_withheld: bool,
}

impl ServiceDesk {
    /// Makes the desk of a service.
    pub fn new(
        host: Host,
        metrics: Arc<ServiceMetrics>,
        (sign_in_link, devices): (String, DevicePlaces),
        (known, served): (KnownRepository, ServedDesks),
        policies: Vec<PathBuf>,
    ) -> Self {
        Self {
            models: ServiceModels::new(&host),
            metrics,
            host,
            access: ServiceAccess::default(),
            sign_in_link,
            devices,
            known,
            served,
            policies,
            events: EventHub::default(),
            talks: OpenTalks::default(),
            lanes: WorkLanes::default(),
        }
    }

    /// Calls the host for a list, a page or a report.
    ///
    /// # Errors
    /// The error of the call.
    pub async fn call<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, EffectError> + Send + 'static,
    ) -> Result<T, RequestFault> {
        self.call_in(Lane::Read, work).await
    }

    /// Calls the host on a thread that may block, once the lane has room.
    ///
    /// # Errors
    /// The error of the call, and if too much work waits already.
    pub async fn call_in<T: Send + 'static>(
        self: &Arc<Self>,
        lane: Lane,
        work: impl FnOnce(&Self) -> Result<T, EffectError> + Send + 'static,
    ) -> Result<T, RequestFault> {
        let desk = Arc::clone(self);
        self.lanes.run(lane, move || work(&desk)).await
    }

    /// Denies a request. A repository that another program has locked for too long ends the wait, and the denial may still follow.
    ///
    /// # Errors
    /// If the request is not open, or the repository stays locked.
    pub async fn deny(
        self: &Arc<Self>,
        run: String,
        comment: Option<String>,
    ) -> Result<DeniedRequest, RequestFault> {
        let denied = self.call_in(Lane::Consent, move |desk| {
            let who = desk.host.person_name();
            desk.host.runs().deny_request(&run, &who, comment.as_deref())
        });
        let late = |_| {
            let what =
                "the repository is locked by another program; the denial is recorded when the lock ends";
            RequestFault::new(StatusCode::SERVICE_UNAVAILABLE, "busy", what)
        };
        tokio::time::timeout(ANSWER_TIME, denied).await.map_err(late)?
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
        let end = self.host.runs().start_run(spec)?.outcome().await?;
        end.into_outcome().ok_or_else(|| {
            let what = "a run that should land a change ended without an outcome";
            RequestFault::new(StatusCode::INTERNAL_SERVER_ERROR, "run-lost", what)
        })
    }

    /// Lands a requested change in exactly the state that the person saw.
    ///
    /// # Errors
    /// If the run cannot begin, or a device's signature is to release withheld text: what it signs does not say so.
    pub async fn approve(&self, request: String, consent: PersonConsent) -> Result<Outcome, RequestFault> {
        if consent.releases_withheld && consent.proof.is_some() {
            let what = "a device approves and keeps the text withheld; release it on the machine itself";
            return Err(RequestFault::new(StatusCode::FORBIDDEN, "device-session", what));
        }
        let answer = ConsentAnswer::Yes {
            hashes: Box::new(consent.hashes),
            who: self.host.person_name(),
            how: consent.how,
            releases_withheld: consent.releases_withheld,
        };
        let consent = match consent.proof {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_full_lane_keeps_no_other_lane_waiting() {
        let lanes = WorkLanes::default();
        let (hold, held) = std::sync::mpsc::channel::<()>();
        let held = Arc::new(std::sync::Mutex::new(held));
        // Work that ends when the test ends: each place of the lane, and others that wait.
        let mut slow = Vec::new();
        for _ in 0..40 {
            let (lanes, held) = (lanes.clone(), Arc::clone(&held));
            slow.push(tokio::spawn(async move {
                let wait = move || {
                    let _ = held.lock().map(|held| held.recv());
                    Ok(())
                };
                lanes
                    .run(Lane::Read, wait)
                    .await
                    .map_err(|fault| fault.error.code)
            }));
        }
        for lane in [Lane::Consent, Lane::Long, Lane::Models] {
            assert_eq!(lanes.run(lane, || Ok(7)).await.unwrap(), 7, "{lane:?}");
        }
        drop(hold);
        for done in slow {
            assert_eq!(done.await.unwrap(), Ok(()));
        }
    }
}
