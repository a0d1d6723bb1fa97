//! Files of the system about memory and processor.
//!
//! Owns: parsing them. Never: takes a value that is missing for zero.

use std::path::Path;

use crate::{MemorySample, ProcessorSample};

/// Times of the processor since the machine was started, in the system's ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessorTimes {
    busy: u64,
    total: u64,
}

/// Reads the first bytes of a file of the system as text. `None` if there is no such file.
pub(crate) fn read_text(root: &Path, path: &str) -> Option<String> {
    std::fs::read_to_string(root.join(path.trim_start_matches('/'))).ok()
}

/// Reads the memory of the machine, without limits of control groups. `None` if the system does not state it.
pub(crate) fn read_memory(root: &Path) -> Option<MemorySample> {
    let text = read_text(root, "/proc/meminfo")?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        let kib: u64 = line
            .trim_start_matches(':')
            .trim()
            .strip_suffix("kB")?
            .trim()
            .parse()
            .ok()?;
        Some(kib.saturating_mul(1024))
    };
    Some(MemorySample {
        total_bytes: field("MemTotal:")?,
        // Kernels before 3.14 lack `MemAvailable`; without the page cache, `MemFree` is the cautious value.
        free_bytes: field("MemAvailable:").or_else(|| field("MemFree:"))?,
        is_limited: false,
    })
}

/// Reads the times of the processor. `None` if the system does not state them.
pub(crate) fn read_times(root: &Path) -> Option<ProcessorTimes> {
    let text = read_text(root, "/proc/stat")?;
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Option<Vec<u64>> = line.split_whitespace().map(|part| part.parse().ok()).collect();
    let ticks = ticks?;
    // `guest` and `guest_nice`, the last two, are part of `user` and `nice` already.
    let total: u64 = ticks.iter().take(8).sum();
    let idle: u64 = ticks.iter().skip(3).take(2).sum();
    Some(ProcessorTimes {
        busy: total.saturating_sub(idle),
        total,
    })
}

impl ProcessorTimes {
    /// Returns the use in percent since earlier times. `None` if no tick has passed.
    pub(crate) fn used_since(self, earlier: Self) -> Option<u8> {
        let total = self.total.saturating_sub(earlier.total);
        let busy = self.busy.saturating_sub(earlier.busy).min(total);
        let percent = busy.saturating_mul(100).checked_div(total)?;
        u8::try_from(percent).ok()
    }
}

/// Reads what the system states about the processor besides its times.
pub(crate) fn read_processor(root: &Path, cores: Option<u32>) -> ProcessorSample {
    let load = read_text(root, "/proc/loadavg");
    let load = load.and_then(|text| text.split_whitespace().next()?.parse().ok());
    ProcessorSample {
        cores,
        load,
        used_percent: None,
    }
}
