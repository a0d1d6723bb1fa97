//! Words of a sample.
//!
//! Owns: the published shapes. Never: reads anything.

use agentos_select::MachineLook;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sample of the machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineSample {
    /// Time, in milliseconds since 1970. A line of a script without a time has that of its reading.
    #[serde(default)]
    pub at_ms: u64,
    /// Memory. `None` if it is not known on this system.
    #[serde(default)]
    pub memory: Option<MemorySample>,
    /// Processor.
    #[serde(default)]
    pub processor: ProcessorSample,
    /// Graphics cards. Empty if there is none.
    #[serde(default)]
    pub gpus: Vec<GpuSample>,
}

/// Memory of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemorySample {
    /// Memory that this process may use at most, in bytes.
    pub total_bytes: u64,
    /// Memory that is free or can be made free at once, in bytes.
    pub free_bytes: u64,
    /// True if a control group allows less than the machine has, as in a container.
    #[serde(default)]
    pub is_limited: bool,
}

/// Processor of the machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessorSample {
    /// Cores that this process may use. `None` if that is not known.
    #[serde(default)]
    pub cores: Option<u32>,
    /// Processes that ran or wanted to run, as a mean over a minute. `None` if it is not known.
    #[serde(default)]
    pub load: Option<f64>,
    /// Use in percent since the sample before. `None` in the first sample.
    #[serde(default)]
    #[schemars(range(max = 100))]
    pub used_percent: Option<u8>,
}

/// Graphics card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GpuSample {
    /// Name, as its driver states it.
    pub name: String,
    /// Memory in bytes. `None` if it is not known.
    #[serde(default)]
    pub total_bytes: Option<u64>,
    /// Memory in use, in bytes. `None` if it is not known.
    #[serde(default)]
    pub used_bytes: Option<u64>,
    /// Use in percent. `None` if it is not known.
    #[serde(default)]
    #[schemars(range(max = 100))]
    pub used_percent: Option<u8>,
}

impl MachineSample {
    /// Returns what a decision about models needs. `None` if the memory is not known.
    #[must_use]
    pub fn to_look(&self) -> Option<MachineLook> {
        let memory = self.memory?;
        Some(MachineLook {
            at_ms: self.at_ms,
            total_bytes: memory.total_bytes,
            free_bytes: memory.free_bytes,
            cpu_percent: self.processor.used_percent,
        })
    }
}
