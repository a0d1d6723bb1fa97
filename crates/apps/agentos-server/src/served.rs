//! The desks of all repositories that are served.
//!
//! Owns: what is about the user, and not about one repository: their list, and the end of a device. Never: keeps a desk alive.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};
use std::time::Duration;

use agentos_host::KnownRepository;
use axum::http::StatusCode;
use futures_util::future::join_all;
use serde::Serialize;

use crate::desk::{Lane, ServiceDesk, SharedDesk};
use crate::event_hub::ListenerPlaces;
use crate::fault::RequestFault;
use crate::talks::TurnPlaces;

/// Longest wait for the records of a revocation. Another program may have locked a repository, and need not end.
const RECORD_TIME: Duration = Duration::from_secs(30);

/// Longest wait for the state of a repository in a list. Its disk may be slow, and the others are listed.
const STATE_TIME: Duration = Duration::from_secs(5);

/// Repository in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServedRow {
    /// Id.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// Folder.
    pub path: PathBuf,
    /// Branch. `None` if HEAD is at no branch, or the state could not be read in time.
    pub branch: Option<String>,
    /// Number of open requests. `None` if the state could not be read in time.
    pub waiting: Option<usize>,
}

/// Repositories that the author of a request reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReachedRepositories {
    /// Every repository: a program of the user, over the Unix socket.
    All,
    /// The repositories with these ids: a token.
    Ids(Vec<String>),
}

impl ReachedRepositories {
    /// Returns true if a repository is one of them.
    pub fn contains(&self, known: &KnownRepository) -> bool {
        match self {
            Self::All => true,
            Self::Ids(ids) => ids.contains(&known.id),
        }
    }
}

/// The desks. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct ServedDesks {
    desks: Arc<RwLock<Vec<Weak<ServiceDesk>>>>,
    /// Page that lists all repositories.
    list_page: Arc<OnceLock<Weak<ServiceDesk>>>,
    /// Places of the listeners of all desks.
    pub listeners: ListenerPlaces,
    /// Places of the turns of all desks.
    pub turns: TurnPlaces,
}

impl ServedDesks {
    /// Adds a desk.
    pub fn add(&self, desk: &SharedDesk) {
        let mut desks = self.desks.write().unwrap_or_else(PoisonError::into_inner);
        desks.push(Arc::downgrade(desk));
    }

    /// Notes the page that lists all repositories, once.
    pub fn set_list_page(&self, desk: &SharedDesk) {
        // The service makes one such page, at its start.
        let _ = self.list_page.set(Arc::downgrade(desk));
    }

    /// Ends every session of every page: of each repository, and of the page that lists all repositories.
    pub fn sign_all_out(&self) {
        let list = self.list_page.get().and_then(Weak::upgrade);
        // The list first: a session there opens each page again.
        for desk in list.into_iter().chain(self.list()) {
            desk.access.sign_all_out();
        }
    }

    /// Lists the repositories that an author reaches, in the order in which they were joined.
    pub async fn list_rows(&self, reached: &ReachedRepositories) -> Vec<ServedRow> {
        let desks = self
            .list()
            .into_iter()
            .filter(|desk| reached.contains(&desk.known));
        let rows = desks.map(|desk| async move {
            let state = desk.call(|desk| desk.host.stories().read_status());
            let state = tokio::time::timeout(STATE_TIME, state)
                .await
                .ok()
                .and_then(Result::ok);
            ServedRow {
                id: desk.known.id.clone(),
                name: desk.known.name.clone(),
                path: desk.known.folder.clone(),
                waiting: state.as_ref().map(|state| state.waiting),
                branch: state.and_then(|state| state.repository?.branch),
            }
        });
        join_all(rows).await
    }

    /// Returns the desk of a folder. `None` if the folder is not served.
    pub fn find(&self, folder: &str) -> Option<SharedDesk> {
        let mut desks = self.list().into_iter();
        desks.find(|desk| desk.known.folder.to_string_lossy() == folder)
    }

    fn list(&self) -> Vec<SharedDesk> {
        // An entry is added in one step, so a panic elsewhere leaves no half of one.
        let desks = self.desks.read().unwrap_or_else(PoisonError::into_inner);
        desks.iter().filter_map(Weak::upgrade).collect()
    }

    /// Ends what a revoked device has open: its sessions at every page at once, then its pairing on every tape.
    ///
    /// # Errors
    /// Fails if the tape of `own` cannot be written. Another repository, such as one that another program has locked, has the record
    /// at its next approval or the next start of the service; no signature of the device counts meanwhile.
    pub async fn end_devices(&self, own: &SharedDesk) -> Result<(), RequestFault> {
        let desks = self.list();
        for desk in &desks {
            desk.access.end_device_sessions();
        }
        // Worktrees of one repository share a tape, which needs one record.
        let mut tapes: Vec<SharedDesk> = vec![Arc::clone(own)];
        for desk in desks {
            if tapes.iter().all(|known| known.known.id != desk.known.id) {
                tapes.push(desk);
            }
        }
        let records = tapes.into_iter().map(|desk| async move {
            let written = desk.call_in(Lane::Consent, |desk| desk.host.runs().record_devices());
            let written = tokio::time::timeout(RECORD_TIME, written).await;
            let written = written.unwrap_or_else(|_| Err(locked()));
            if let Err(fault) = &written {
                let (code, message) = (&fault.error.code, &fault.error.message);
                tracing::warn!(%code, repository = %desk.known.name, "the revocation is not on the tape: {message}");
            }
            written
        });
        join_all(records).await.into_iter().next().unwrap_or(Ok(()))
    }
}

fn locked() -> RequestFault {
    let what = "the repository is locked by another program; the device is revoked, and the record follows";
    RequestFault::new(StatusCode::SERVICE_UNAVAILABLE, "busy", what)
}
