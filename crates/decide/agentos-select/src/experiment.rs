//! Experiments: turns are split between models until one is known to be better.
//!
//! Owns: which model a task is given, and when the experiment ends. Never: draws a number; the split follows from seed and task.
//!
//! People look at an experiment while it runs. A test for one look gives wrong winners then; a confidence sequence holds at every
//! look. The one here is the normal mixture for values between 0 and 1 (Howard, Ramdas, McAuliffe and Sekhon, "Time-uniform,
//! nonparametric, nonasymptotic confidence sequences", 2021, equation 14, with variance 1/4).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Chance that a wrong arm is ever declared the winner.
const ERROR_RATE: f64 = 0.05;
/// Weight of the mixture: the sequence is narrowest after about 100 results.
const MIXTURE: f64 = 25.0;

/// Results of one arm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArmRecord {
    /// Results that were good.
    pub good: u64,
    /// All results.
    pub all: u64,
}

/// State of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum ExperimentState {
    /// Nothing is certain yet.
    Running,
    /// The arm at this position, from 0, is better than all others.
    Decided {
        /// Position of the arm.
        arm: usize,
    },
}

/// Returns the arm of a task: the same for the same seed and task, and each arm equally often. `None` if there are no arms.
#[must_use]
pub fn assign_arm(seed: u64, task: &str, arms: usize) -> Option<usize> {
    // FNV-1a, and a finalizer because its low bits follow the last letter: a hash that stays the same in every version and language.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ seed;
    for byte in task.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    let arms = u64::try_from(arms).ok().filter(|arms| *arms > 0)?;
    usize::try_from(hash % arms).ok()
}

/// Returns whether an experiment is decided. It can be asked after every result.
#[must_use]
pub fn judge_experiment(arms: &[ArmRecord]) -> ExperimentState {
    // Each arm has its share of the error, so that all bounds hold at once.
    let error = ERROR_RATE / arms.len().max(1) as f64;
    let bounds: Vec<(f64, f64)> = arms.iter().map(|arm| find_bounds(arm, error)).collect();
    for (arm, (lower, _)) in bounds.iter().enumerate() {
        let mut others = bounds.iter().enumerate().filter(|(other, _)| *other != arm);
        if arms.len() > 1 && others.all(|(_, (_, upper))| lower > upper) {
            return ExperimentState::Decided { arm };
        }
    }
    ExperimentState::Running
}

/// Returns the bounds of an arm's share of good results.
fn find_bounds(arm: &ArmRecord, error: f64) -> (f64, f64) {
    if arm.all == 0 {
        return (0.0, 1.0);
    }
    let all = arm.all as f64;
    let share = arm.good.min(arm.all) as f64 / all;
    // The variance of a value between 0 and 1 is at most 1/4.
    let variance = all / 4.0;
    let spread = (variance + MIXTURE) * ((variance + MIXTURE) / (MIXTURE * error * error / 4.0)).ln();
    let radius = spread.max(0.0).sqrt() / all;
    ((share - radius).max(0.0), (share + radius).min(1.0))
}
