//! Samples of the machine: memory, processor and graphics cards.
//!
//! Owns: reading them, also from a script. Never: loads a library, asks a network, or decides anything; `agentos-select` decides about
//! models, from the looks that a sample becomes.
//!
//! | value | Linux | other systems |
//! |---|---|---|
//! | memory | `/proc/meminfo`, and the limits of the control groups of this process | unknown |
//! | processor | `/proc/stat`, `/proc/loadavg` | the number of cores |
//! | NVIDIA cards | names from `/proc/driver/nvidia`; memory and use from `/usr/bin/nvidia-smi`, if the driver is loaded | none |
//! | AMD cards | `/sys/class/drm` | none |
//!
//! A sample reads files of the system alone, and takes well below a millisecond (measured with `time` and the
//! example `sample_cost`). The program for NVIDIA cards takes longer, so it runs at the side, and a sample has what it said last.

mod error;
mod files;
mod gpu;
mod limits;
mod monitor;
mod sample;
mod script;
mod system;

pub use error::MachineError;
pub use monitor::MachineMonitor;
pub use sample::{GpuSample, MachineSample, MemorySample, ProcessorSample};
pub use script::ScriptedMachine;
pub use system::SystemMachine;

/// Source of samples.
pub trait MachineSource: Send {
    /// Reads a sample. `now_ms` is the time in milliseconds since 1970.
    ///
    /// # Errors
    /// If the source has no samples.
    fn read_sample(&mut self, now_ms: u64) -> Result<MachineSample, MachineError>;

    /// Begins the time over which the next sample measures the use of the processor. Nothing by default.
    fn begin_span(&mut self, _now_ms: u64) {}
}
