//! Places where a kill test ends the process, so that every state a crash can leave is seen.
//!
//! Owns: counting the places, saying that the chosen one is reached, and waiting there for the signal that ends the
//! process. Never: is part of a release build: without debug assertions a place is nothing at all, which a test of
//! the command line shows.

/// Where the process shall end; nowhere unless a kill test says so.
#[derive(Debug, Clone, Default)]
pub struct FailPoints {
    #[cfg(debug_assertions)]
    armed: Option<std::sync::Arc<Armed>>,
}

#[cfg(debug_assertions)]
#[derive(Debug)]
struct Armed {
    at: u64,
    reached: std::sync::atomic::AtomicU64,
}

impl FailPoints {
    /// The process goes no further than the place with this number, counted from one: it says so on its log, and
    /// waits there to be killed.
    #[cfg(debug_assertions)]
    #[must_use]
    pub fn at(number: u64) -> Self {
        let reached = std::sync::atomic::AtomicU64::new(0);
        Self {
            armed: Some(std::sync::Arc::new(Armed { at: number, reached })),
        }
    }

    /// The process is at a place.
    #[cfg(debug_assertions)]
    pub(crate) fn reach(&self, place: &str) {
        let Some(armed) = &self.armed else { return };
        let number = armed.reached.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
        if number == armed.at {
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
