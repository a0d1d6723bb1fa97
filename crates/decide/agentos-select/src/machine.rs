//! The state of the machine, as far as a choice needs it.
//!
//! Owns: what was seen of memory and processor, and the rules for switching between models. Never: looks at the machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AbilityValue, PoolModel};

/// Bytes in a gibibyte.
const GIB: u64 = 1 << 30;

/// State of the machine, with what happened before this choice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineFacts {
    /// Free memory in bytes.
    pub free_memory_bytes: u64,
    /// Aliases of models that are loaded.
    #[serde(default)]
    pub loaded: Vec<String>,
    /// Alias that answered last. `None` if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<String>,
    /// Failures in a row of the model that answered last.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failures: u32,
    /// Earlier looks at the machine, the oldest first. The last one is the present.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<MachineLook>,
    /// Time of the last switch, in milliseconds of the same clock as the looks. `None` if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_switch_ms: Option<u64>,
    /// Rules for switching.
    #[serde(default, skip_serializing_if = "SwitchRules::is_default")]
    pub rules: SwitchRules,
}

/// Look at the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineLook {
    /// Time, in milliseconds since 1970.
    pub at_ms: u64,
    /// Memory that the machine has, or that this process may use, in bytes.
    pub total_bytes: u64,
    /// Memory that is free or can be made free at once, in bytes.
    pub free_bytes: u64,
    /// Use of the processor in percent since the look before. `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_percent: Option<u8>,
}

/// Rules for switching between the models of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SwitchRules {
    /// Use of memory, in percent, from which it is short.
    #[schemars(range(min = 1, max = 100))]
    pub memory_percent: u8,
    /// Use of the processor, in percent, from which it is short.
    #[schemars(range(min = 1, max = 100))]
    pub cpu_percent: u8,
    /// Milliseconds for which it must have been short before a switch down, and not short before a switch up.
    pub window_ms: u64,
    /// Milliseconds after a switch in which there is no other.
    pub cooldown_ms: u64,
    /// Failures in a row from which another model is chosen.
    #[schemars(range(min = 1))]
    pub failures: u32,
    /// Memory that must be free for a model, in percent of its own: a model grows with its context.
    #[schemars(range(min = 100))]
    pub margin_percent: u32,
}

impl Default for SwitchRules {
    fn default() -> Self {
        Self {
            memory_percent: 85,
            cpu_percent: 85,
            window_ms: 5_000,
            cooldown_ms: 30_000,
            failures: 3,
            margin_percent: 150,
        }
    }
}

impl SwitchRules {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the memory that must be free for a model of this size.
    #[must_use]
    pub fn with_margin(&self, bytes: u64) -> u64 {
        let wanted = u128::from(bytes) * u128::from(self.margin_percent) / 100;
        u64::try_from(wanted).unwrap_or(u64::MAX)
    }
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl MachineLook {
    /// Returns the use of memory in percent, rounded down. A machine without memory is full.
    #[must_use]
    pub fn memory_percent(&self) -> u8 {
        let used = self.total_bytes.saturating_sub(self.free_bytes);
        let percent = (u128::from(used) * 100).checked_div(u128::from(self.total_bytes));
        // At most 100, because no more than everything is used.
        percent
            .and_then(|percent| u8::try_from(percent).ok())
            .unwrap_or(100)
    }
}

impl PoolModel {
    /// Returns the bytes of memory that the model needs on this machine: as stated, else by its ability `tier`. Zero if neither says
    /// anything: it runs elsewhere.
    ///
    /// | `tier` | memory |
    /// |---|---|
    /// | `small` | 2 GiB |
    /// | `medium` | 4 GiB |
    /// | `large` | 8 GiB |
    #[must_use]
    pub fn needed_memory(&self) -> u64 {
        let of_tier = || match self.abilities.get("tier")? {
            AbilityValue::Text(tier) => match tier.as_str() {
                "small" => Some(2 * GIB),
                "medium" => Some(4 * GIB),
                "large" => Some(8 * GIB),
                // Abilities are open: another word is no mistake.
                _ => None,
            },
            AbilityValue::Flag(_) | AbilityValue::Number(_) | AbilityValue::Texts(_) => None,
        };
        self.memory_bytes.or_else(of_tier).unwrap_or(0)
    }
}
