//! The machine that this process runs on.
//!
//! Owns: the order of the files, and what a sample remembers of the one before. Never: fails; a value that is missing is unknown.

use std::path::{Path, PathBuf};

use crate::files::{ProcessorTimes, read_memory, read_processor, read_times};
use crate::gpu::GpuReader;
use crate::limits::apply_limits;
use crate::{MachineError, MachineSample, MachineSource};

/// Machine that this process runs on.
#[derive(Debug)]
pub struct SystemMachine {
    root: PathBuf,
    cores: Option<u32>,
    times: Option<ProcessorTimes>,
    cards: GpuReader,
}

impl Default for SystemMachine {
    fn default() -> Self {
        Self::at_root(Path::new("/"))
    }
}

impl SystemMachine {
    /// Makes the machine whose files are below a folder.
    #[must_use]
    pub fn at_root(root: &Path) -> Self {
        let cores = std::thread::available_parallelism();
        Self {
            root: root.to_owned(),
            // It counts the quota of a control group, and reads several files for that: once is enough.
            cores: cores.ok().and_then(|cores| u32::try_from(cores.get()).ok()),
            times: None,
            cards: GpuReader::default(),
        }
    }

    /// Forgets the sample before: the next one states no use of the processor.
    pub fn forget_times(&mut self) {
        self.times = None;
    }
}

impl MachineSource for SystemMachine {
    fn read_sample(&mut self, now_ms: u64) -> Result<MachineSample, MachineError> {
        let times = read_times(&self.root);
        let mut processor = read_processor(&self.root, self.cores);
        processor.used_percent = match (times, self.times) {
            (Some(now), Some(before)) => now.used_since(before),
            (Some(_) | None, _) => None,
        };
        self.times = times;
        Ok(MachineSample {
            at_ms: now_ms,
            memory: read_memory(&self.root).map(|memory| apply_limits(&self.root, memory)),
            processor,
            gpus: self.cards.read_cards(&self.root, now_ms),
        })
    }

    fn begin_span(&mut self, now_ms: u64) {
        self.times = read_times(&self.root);
        // The program for cards answers within the span.
        self.cards.read_cards(&self.root, now_ms);
    }
}

#[cfg(test)]
mod tests;
