//! A machine from a script, for tests and gates.
//!
//! Owns: one sample for each line of JSON. Never: ends; the last line is repeated.

use crate::{MachineError, MachineSample, MachineSource};

/// Machine whose samples are lines of a text.
#[derive(Debug, Clone)]
pub struct ScriptedMachine {
    samples: Vec<MachineSample>,
    position: usize,
}

impl ScriptedMachine {
    /// Parses a script: JSON lines, each a [`MachineSample`].
    ///
    /// # Errors
    /// If a line is no sample, or there is none.
    pub fn parse(text: &str) -> Result<Self, MachineError> {
        let lines = text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty());
        let samples = lines.map(|(number, line)| {
            serde_json::from_str(line).map_err(|source| MachineError::WrongLine {
                line: number + 1,
                source,
            })
        });
        let samples: Vec<MachineSample> = samples.collect::<Result<_, _>>()?;
        match samples.is_empty() {
            true => Err(MachineError::EmptyScript),
            false => Ok(Self { samples, position: 0 }),
        }
    }
}

impl MachineSource for ScriptedMachine {
    fn read_sample(&mut self, now_ms: u64) -> Result<MachineSample, MachineError> {
        let sample = self.samples.get(self.position).or(self.samples.last());
        let mut sample = sample.cloned().ok_or(MachineError::EmptyScript)?;
        self.position += 1;
        if sample.at_ms == 0 {
            sample.at_ms = now_ms;
        }
        Ok(sample)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_line_by_line_and_its_last_line_stays() {
        let mut machine = ScriptedMachine::parse(
            "{\"at_ms\": 5, \"memory\": {\"total_bytes\": 8, \"free_bytes\": 4}}\n\n{\"processor\": {\"used_percent\": 90}}\n",
        )
        .unwrap();
        let samples: Vec<MachineSample> = [10, 20, 30]
            .into_iter()
            .map(|now| machine.read_sample(now).unwrap())
            .collect();
        let times: Vec<u64> = samples.iter().map(|sample| sample.at_ms).collect();
        assert_eq!(times, [5, 20, 30]);
        assert_eq!(samples[0].to_look().unwrap().memory_percent(), 50);
        // Without memory, nothing can be decided about it.
        assert_eq!(samples[1].to_look(), None);
        assert_eq!(samples[2].processor.used_percent, Some(90));
    }

    #[test]
    fn a_wrong_script_is_refused_with_the_line() {
        for (text, message) in [
            ("", "the script has no sample of a machine"),
            (
                "{}\n{\"memory\": 1}",
                "line 2 of the script is no sample of a machine",
            ),
            (
                "{\"memori\": null}",
                "line 1 of the script is no sample of a machine",
            ),
        ] {
            assert_eq!(ScriptedMachine::parse(text).unwrap_err().to_string(), message);
        }
    }
}
