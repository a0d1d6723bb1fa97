//! Places where a kill test ends the process, so that every state a crash can leave is seen.
//!
//! Owns: counting the places, saying that the chosen one is reached, and waiting there for the signal that ends the
//! process; or what a test does there in another program's stead. Never: is part of a release build: without debug assertions a place is nothing at all, which a test of
//! the command line shows.

/// Where the process shall end; nowhere unless a kill test says so.
#[derive(Debug, Clone, Default)]
pub struct FailPoints {
    #[cfg(debug_assertions)]
    armed: Option<std::sync::Arc<Armed>>,
}

#[cfg(debug_assertions)]
enum Armed {
    /// The process ends at the place with this number.
    Ends {
        at: u64,
        reached: std::sync::atomic::AtomicU64,
    },
    /// Somebody else does something whenever this place is reached.
    Meets {
        place: &'static str,
        work: Box<dyn Fn() + Send + Sync>,
    },
}

#[cfg(debug_assertions)]
impl std::fmt::Debug for Armed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ends { at, .. } => f.debug_tuple("Ends").field(at).finish(),
            Self::Meets { place, .. } => f.debug_tuple("Meets").field(place).finish(),
        }
    }
}

impl FailPoints {
    /// The process goes no further than the place with this number, counted from one: it says so on its log, and
    /// waits there to be killed.
    #[cfg(debug_assertions)]
    #[must_use]
    pub fn at(number: u64) -> Self {
        let reached = std::sync::atomic::AtomicU64::new(0);
        Self {
            armed: Some(std::sync::Arc::new(Armed::Ends { at: number, reached })),
        }
    }

    /// What another program does while a landing is at this place: a race whose outcome a test can rely on.
    #[cfg(debug_assertions)]
    #[must_use]
    pub fn meeting(place: &'static str, work: impl Fn() + Send + Sync + 'static) -> Self {
        let work = Box::new(work);
        Self {
            armed: Some(std::sync::Arc::new(Armed::Meets { place, work })),
        }
    }

    /// The process is at a place.
    #[cfg(debug_assertions)]
    pub(crate) fn reach(&self, place: &str) {
        let (at, reached) = match self.armed.as_deref() {
            None => return,
            Some(Armed::Meets { place: met, work }) => {
                if *met == place {
                    work();
                }
                return;
            }
            Some(Armed::Ends { at, reached }) => (*at, reached),
        };
        let number = reached.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
        if number == at {
            tracing::error!(number, place, "fail point reached");
            loop {
                std::thread::park();
            }
        }
    }

    /// The process is at a place, which means nothing here.
    #[cfg(not(debug_assertions))]
    #[inline(always)]
    pub(crate) fn reach(&self, _place: &str) {}
}
