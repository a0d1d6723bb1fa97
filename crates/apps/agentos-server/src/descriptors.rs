//! The limit on open files of the service.
//!
//! Owns: raising it to what connections, turns and calls can need together. Never: goes above what the system allows.

/// Open files that the service can need at its bounds: two for each connection that waits for a model, about 30 for each turn, and some
/// for agents and reads of repositories.
const MOST_NEEDED: u64 = 8192;

/// Returns the limit to set. `None` if the present limit is large enough, or cannot grow. A `current` or `maximum` of `None` means
/// unlimited.
fn choose_limit(current: Option<u64>, maximum: Option<u64>) -> Option<u64> {
    let wanted = maximum.map_or(MOST_NEEDED, |maximum| maximum.min(MOST_NEEDED));
    current.is_some_and(|current| current < wanted).then_some(wanted)
}

/// Raises the limit. Systems start programs with 1,024 open files (Linux) or 256 (macOS), for programs that use select(2);
/// strangers and slow models would use them up, and then no approval could open the tape.
#[cfg(unix)]
pub fn raise_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    if let Some(wanted) = choose_limit(limit.current, limit.maximum) {
        let raised = Rlimit {
            current: Some(wanted),
            maximum: limit.maximum,
        };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            tracing::warn!(
                "the service keeps its limit of {:?} open files: {error}",
                limit.current
            );
        }
    }
}

/// Raises nothing: this system has no such limit.
#[cfg(not(unix))]
pub fn raise_limit() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_grows_as_far_as_it_may_and_never_shrinks() {
        for (current, maximum, expected) in [
            (Some(1024), Some(524_288), Some(MOST_NEEDED)),
            (Some(256), None, Some(MOST_NEEDED)),
            (Some(1024), Some(4096), Some(4096)),
            (Some(1024), Some(1024), None),
            (Some(20_000), Some(20_000), None),
            (None, None, None),
        ] {
            assert_eq!(
                choose_limit(current, maximum),
                expected,
                "{current:?} {maximum:?}"
            );
        }
    }
}
