//! Graphics cards: from files of their drivers, and from NVIDIA's program.
//!
//! Owns: the one program that is asked, at a fixed path and with a time limit. Never: loads a driver's library, or waits for the
//! program.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::GpuSample;
use crate::files::read_text;

/// NVIDIA's program. Not looked up by name: a folder of `PATH` may belong to a repository.
const PROGRAM: &str = "/usr/bin/nvidia-smi";
/// Values that are requested, in the order of a line of the program's answer.
const QUESTION: [&str; 2] = [
    "--query-gpu=name,memory.total,memory.used,utilization.gpu",
    "--format=csv,noheader,nounits",
];
/// Longest time for an answer of the program. Its driver can hang.
const PATIENCE: Duration = Duration::from_secs(2);
/// Milliseconds after which it is asked again.
const EVERY_MS: u64 = 10_000;
/// Most bytes of its answer that are read.
const LARGEST_ANSWER: u64 = 64 << 10;
/// Bytes in a mebibyte, in which it states memory.
const MIB: u64 = 1 << 20;

/// Cards of the machine.
#[derive(Debug, Default)]
pub(crate) struct GpuReader {
    /// Last answer of the program. `None` before the first one.
    answer: Arc<Mutex<Option<Vec<GpuSample>>>>,
    asked_ms: Option<u64>,
}

impl GpuReader {
    /// Reads the cards, without waiting for a program.
    pub(crate) fn read_cards(&mut self, root: &Path, now_ms: u64) -> Vec<GpuSample> {
        let named = list_nvidia(root);
        let mut cards = match named.is_empty() {
            true => named,
            false => {
                self.ask_program(root, now_ms);
                let answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner).clone();
                answer.unwrap_or(named)
            }
        };
        cards.extend(list_amd(root));
        cards
    }

    /// Asks the program at the side, if it was not asked lately.
    fn ask_program(&mut self, root: &Path, now_ms: u64) {
        let is_fresh = |asked: u64| now_ms.saturating_sub(asked) < EVERY_MS;
        // Under another root there is no program of this machine.
        if self.asked_ms.is_some_and(is_fresh) || root != Path::new("/") {
            return;
        }
        self.asked_ms = Some(now_ms);
        let answer = Arc::clone(&self.answer);
        std::thread::spawn(move || {
            if let Some(cards) = run_program(PROGRAM).map(|text| parse_answer(&text)) {
                *answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(cards);
            }
        });
    }
}

/// Runs the program and returns its answer. `None` if it cannot be started, or gives none in time.
fn run_program(program: &str) -> Option<String> {
    let mut command = Command::new(program);
    command
        .args(QUESTION)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let pipe = child.stdout.take()?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = pipe.take(LARGEST_ANSWER).read_to_string(&mut text);
        // Nobody waits any more if the time is over.
        sender.send(read.ok().map(|_| text)).ok();
    });
    let answer = receiver.recv_timeout(PATIENCE).ok().flatten();
    // It may have written more than is read, and then never ends by itself.
    child.kill().ok();
    child.wait().ok();
    answer
}

/// Parses the program's lines, such as `NVIDIA H200, 143771, 4, 0`.
fn parse_answer(text: &str) -> Vec<GpuSample> {
    let cards = text.lines().filter_map(|line| {
        let mut parts = line.split(',').map(str::trim);
        let name = parts.next().filter(|name| !name.is_empty())?.to_owned();
        // A value that a card does not have is `[N/A]`.
        let mut number = || parts.next()?.parse::<u64>().ok();
        let (total, used, percent) = (number(), number(), number());
        Some(GpuSample {
            name,
            total_bytes: total.map(|mib| mib.saturating_mul(MIB)),
            used_bytes: used.map(|mib| mib.saturating_mul(MIB)),
            used_percent: percent.and_then(|percent| u8::try_from(percent).ok()),
        })
    });
    cards.collect()
}

/// Lists NVIDIA's cards by name.
fn list_nvidia(root: &Path) -> Vec<GpuSample> {
    let names = list_folder(root, "/proc/driver/nvidia/gpus")
        .into_iter()
        .filter_map(|card| {
            let text = read_text(root, &format!("/proc/driver/nvidia/gpus/{card}/information"))?;
            let name = text.lines().find_map(|line| line.strip_prefix("Model:"))?;
            Some(GpuSample {
                name: name.trim().to_owned(),
                total_bytes: None,
                used_bytes: None,
                used_percent: None,
            })
        });
    names.collect()
}

/// Lists AMD's cards, which state their memory in files.
fn list_amd(root: &Path) -> Vec<GpuSample> {
    let cards = list_folder(root, "/sys/class/drm")
        .into_iter()
        .filter_map(|card| {
            let number = |name: &str| -> Option<u64> {
                read_text(root, &format!("/sys/class/drm/{card}/device/{name}"))?
                    .trim()
                    .parse()
                    .ok()
            };
            // Connectors such as `card0-DP-1` lead to the same device.
            let is_card = card
                .strip_prefix("card")
                .is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
            let total = number("mem_info_vram_total").filter(|_| is_card)?;
            Some(GpuSample {
                name: format!("AMD ({card})"),
                total_bytes: Some(total),
                used_bytes: number("mem_info_vram_used"),
                used_percent: number("gpu_busy_percent").and_then(|percent| u8::try_from(percent).ok()),
            })
        });
    cards.collect()
}

/// Lists the names in a folder, sorted. Empty if there is no such folder.
fn list_folder(root: &Path, path: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root.join(path.trim_start_matches('/')));
    let names = entries
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_answer_is_read() {
        let cards = parse_answer("NVIDIA H200, 143771, 4, 37\nNVIDIA GB10, [N/A], [N/A], 0\n\n");
        insta::assert_debug_snapshot!(cards, @r#"
        [
            GpuSample {
                name: "NVIDIA H200",
                total_bytes: Some(
                    150754820096,
                ),
                used_bytes: Some(
                    4194304,
                ),
                used_percent: Some(
                    37,
                ),
            },
            GpuSample {
                name: "NVIDIA GB10",
                total_bytes: None,
                used_bytes: None,
                used_percent: Some(
                    0,
                ),
            },
        ]
        "#);
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_is_missing_or_says_too_much_does_no_harm() {
        assert_eq!(run_program("/nowhere/nvidia-smi"), None);
        // `yes` repeats its arguments for ever.
        let said = run_program("/usr/bin/yes").unwrap_or_default();
        assert!(said.len() as u64 <= LARGEST_ANSWER);
    }
}
