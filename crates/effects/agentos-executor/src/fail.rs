//! Places at which a kill test ends the process, so that every state that a crash can leave is tested.
//!
//! Owns: counting the places, reporting that the chosen one is reached, and waiting there for the signal that ends the
//! process; or calling a function of a test there that acts as another program. Never: is part of a release build. Without
//! debug assertions a place compiles to nothing, which a test of the command line shows.

/// Place at which the process waits to be killed. The default is none.
#[derive(Debug, Clone, Default)]
pub struct FailPoints {
    #[cfg(debug_assertions)]
    armed: Option<std::sync::Arc<Armed>>,
}

#[cfg(debug_assertions)]
enum Armed {
    /// Waits for the kill at the place with this number.
    FileLineEnds {
        at: u64,
        reached: std::sync::atomic::AtomicU64,
    },
    /// Calls a function whenever this place is reached.
    Meets {
        place: &'static str,
        work: Box<dyn Fn() + Send + Sync>,
    },
}

#[cfg(debug_assertions)]
impl std::fmt::Debug for Armed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::FileLineEnds { at, .. } => f.debug_tuple("FileLineEnds").field(at).finish(),
            Self::Meets { place, .. } => f.debug_tuple("Meets").field(place).finish(),
        }
    }
}

impl FailPoints {
    /// Stops the process at the place with this number, counted from one: it reports that in its log, and waits there to be
    /// killed.
    #[cfg(debug_assertions)]
    #[must_use]
    pub fn at(number: u64) -> Self {
        let reached = std::sync::atomic::AtomicU64::new(0);
        Self {
            armed: Some(std::sync::Arc::new(Armed::FileLineEnds { at: number, reached })),
        }
    }

    /// Calls `work` whenever a landing is at this place, as if another program acted in that moment. So a test can produce a
    /// race reliably.
    #[cfg(debug_assertions)]
    #[must_use]
    pub fn meeting(place: &'static str, work: impl Fn() + Send + Sync + 'static) -> Self {
        let work = Box::new(work);
        Self {
            armed: Some(std::sync::Arc::new(Armed::Meets { place, work })),
        }
    }

    /// Reports that the process is at a place.
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
            Some(Armed::FileLineEnds { at, reached }) => (*at, reached),
        };
        let number = reached.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
        if number == at {
            tracing::error!(number, place, "fail point reached");
            // `park` may return without a reason.
            loop {
                std::thread::park();
            }
        }
    }

    /// Does nothing in a release build.
    #[cfg(not(debug_assertions))]
    #[inline(always)]
    pub(crate) fn reach(&self, _place: &str) {}
}
