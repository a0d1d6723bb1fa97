//! Reads as many samples of the machine as its argument says (1,000 without one), to be measured from outside with `time`.
//!
//! Owns: nothing of the product. Never: part of a test, because its numbers depend on the machine.

use std::io::Write as _;

use agentos_machine::{MachineSource as _, SystemMachine};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count = std::env::args()
        .nth(1)
        .map_or(Ok(1_000), |count| count.parse::<u64>())?;
    let mut machine = SystemMachine::default();
    let mut last = None;
    for number in 0..count {
        last = Some(machine.read_sample(number)?);
    }
    writeln!(std::io::stdout(), "{count} samples, the last one: {last:#?}")?;
    Ok(())
}
