//! Arrival of signals from the operating system.
//!
//! Owns: which signals are watched. Never: watches one that the caller of the program has switched off, or decides what a
//! signal means.

use super::signals::StopSignal;

#[cfg(unix)]
pub use unix::Arrivals;
#[cfg(not(unix))]
pub use windows::Arrivals;

#[cfg(unix)]
mod unix {
    use std::future::poll_fn;
    use std::task::Poll;

    use tokio::signal::unix::{Signal, SignalKind, signal};

    use super::StopSignal;

    /// Watch on the signals that end the program.
    pub struct Arrivals(Vec<(StopSignal, Signal)>);

    impl Arrivals {
        /// Begins to watch. A signal that cannot be watched keeps its usual effect. Needs a runtime with its drivers.
        pub fn watch() -> Self {
            let ignored = ignored_signals();
            let wanted = [
                (StopSignal::Interrupt, SignalKind::interrupt()),
                (StopSignal::Terminate, SignalKind::terminate()),
                (StopSignal::HangUp, SignalKind::hangup()),
            ];
            let watched = wanted.into_iter().filter_map(|(stop, kind)| {
                // `nohup` and the `&` of a shell without job control start a program with signals ignored, and mean it.
                let is_ignored = ignored & (1 << (kind.as_raw_value() - 1)) != 0;
                (!is_ignored).then(|| signal(kind).ok().map(|signal| (stop, signal)))?
            });
            Self(watched.collect())
        }

        /// Waits for the next signal.
        pub async fn next(&mut self) -> StopSignal {
            poll_fn(|context| {
                for (stop, signal) in &mut self.0 {
                    // `None` would mean that no more signals can arrive.
                    if let Poll::Ready(Some(())) = signal.poll_recv(context) {
                        return Poll::Ready(*stop);
                    }
                }
                Poll::Pending
            })
            .await
        }
    }

    /// Returns the set of ignored signals, signal 1 in the lowest bit. Empty where the system does not report it.
    fn ignored_signals() -> u64 {
        // proc(5): the line `SigIgn`, a hexadecimal mask.
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        parse_ignored(&status)
    }

    fn parse_ignored(status: &str) -> u64 {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
            .unwrap_or_default()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_mask_of_ignored_signals_is_read() {
            assert_eq!(
                parse_ignored("SigBlk:\t0\nSigIgn:\t0000000000001001\nSigCgt:\t2"),
                0x1001
            );
            assert_eq!(parse_ignored("SigBlk:\t0\n"), 0);
        }
    }
}

#[cfg(not(unix))]
mod windows {
    use super::StopSignal;

    /// Watch on Ctrl-C.
    pub struct Arrivals;

    impl Arrivals {
        /// Begins to watch with the first wait.
        pub fn watch() -> Self {
            Self
        }

        /// Waits for Ctrl-C.
        pub async fn next(&mut self) -> StopSignal {
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
            StopSignal::Interrupt
        }
    }
}
