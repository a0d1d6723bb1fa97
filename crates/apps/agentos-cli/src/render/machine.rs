//! The machine as text for people, and what was done with a model.
//!
//! Owns: the lines and units. Never: returns untrusted text unescaped.

use agentos_host::{GpuSample, LoadedModel, MachineReport, ModelAction, ModelActionReport};

use super::format_columns;
use crate::escape;

/// Bytes in a gibibyte.
const GIB: f64 = 1_073_741_824.0;

/// Returns memory, processor, graphics cards, loaded models and the last switches, one line each.
pub fn format_machine(report: &MachineReport) -> String {
    let mut rows = vec![
        vec!["memory".to_owned(), describe_memory(report)],
        vec!["processor".to_owned(), describe_processor(report)],
    ];
    rows.extend(list_rows("gpu", report.sample.gpus.iter().map(describe_gpu)));
    rows.extend(list_rows("models", report.models.iter().map(describe_model)));
    for server in &report.silent {
        let said = format!(
            "{} ({})",
            escape::line(&server.provider),
            escape::line(&server.code)
        );
        rows.push(vec!["not known".to_owned(), said]);
    }
    for switch in &report.switches {
        let what = format!(
            "pool {}: {} -> {} at {}: {}",
            escape::line(&switch.pool),
            escape::line(&switch.from),
            escape::line(&switch.to),
            switch.at,
            escape::line(&switch.reason)
        );
        rows.push(vec!["last switch".to_owned(), what]);
    }
    format_columns(&rows)
}

/// Returns a row for each text, of which only the first has the label; `none` if there is no text.
fn list_rows(label: &str, texts: impl Iterator<Item = String>) -> Vec<Vec<String>> {
    let mut texts: Vec<String> = texts.collect();
    if texts.is_empty() {
        texts.push("none".to_owned());
    }
    let rows = texts
        .into_iter()
        .enumerate()
        .map(|(position, text)| match position {
            0 => vec![label.to_owned(), text],
            _ => vec![String::new(), text],
        });
    rows.collect()
}

fn describe_memory(report: &MachineReport) -> String {
    let Some(memory) = report.sample.memory else {
        return "not known on this system".to_owned();
    };
    let limit = match memory.is_limited {
        true => "; a control group limits it",
        false => "",
    };
    format!(
        "{} of {} free{limit}",
        format_gib(memory.free_bytes),
        format_gib(memory.total_bytes)
    )
}

fn describe_processor(report: &MachineReport) -> String {
    let processor = &report.sample.processor;
    let facts = [
        processor.used_percent.map(|percent| format!("{percent} % used")),
        processor.cores.map(|cores| match cores {
            1 => "1 core".to_owned(),
            cores => format!("{cores} cores"),
        }),
        processor.load.map(|load| format!("load {load:.2}")),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    match facts.is_empty() {
        true => "not known on this system".to_owned(),
        false => facts.join(", "),
    }
}

fn describe_gpu(card: &GpuSample) -> String {
    let memory = match (card.used_bytes, card.total_bytes) {
        (Some(used), Some(total)) => Some(format!(
            "{} of {} free",
            format_gib(total.saturating_sub(used)),
            format_gib(total)
        )),
        (None, Some(total)) => Some(format_gib(total)),
        (Some(_) | None, None) => None,
    };
    let used = card.used_percent.map(|percent| format!("{percent} % used"));
    let facts: Vec<String> = [Some(escape::line(&card.name)), memory, used]
        .into_iter()
        .flatten()
        .collect();
    facts.join(", ")
}

fn describe_model(model: &LoadedModel) -> String {
    let window = model
        .context_window
        .map(|tokens| format!("window {tokens} tokens"));
    let memory = model.memory_bytes.map(format_gib);
    let state = model.is_loading.then(|| "loading".to_owned());
    let name = format!("{}/{}", escape::line(&model.provider), escape::line(&model.model));
    let facts: Vec<String> = [Some(name), window, memory, state]
        .into_iter()
        .flatten()
        .collect();
    facts.join(", ")
}

/// Returns what was done with a model, in one sentence.
pub fn describe_action(report: &ModelActionReport) -> String {
    let model = format!(
        "{}/{}",
        escape::line(&report.provider),
        escape::line(&report.model)
    );
    let seconds = f64::from(u32::try_from(report.took_ms).unwrap_or(u32::MAX)) / 1_000.0;
    let window = match report.context_window {
        Some(tokens) => format!(", with a window of {tokens} tokens"),
        None => String::new(),
    };
    match (report.action, report.was_so) {
        (ModelAction::Load, true) => format!("{model} is loaded already{window}"),
        (ModelAction::Load, false) => format!("loaded {model} in {seconds:.1} s{window}"),
        (ModelAction::Unload, true) => format!("{model} is not loaded"),
        (ModelAction::Unload, false) => format!("unloaded {model} in {seconds:.1} s"),
        (ModelAction::Warmup, true | false) => {
            format!("{model} answered one token after {seconds:.1} s{window}")
        }
    }
}

/// Returns bytes in GiB with one digit after the point, or in MiB if they are less than one.
fn format_gib(bytes: u64) -> String {
    // Below 2^53, and so for all memory, a float is exact.
    let gib = bytes as f64 / GIB;
    match gib < 1.0 {
        true => format!("{:.0} MiB", gib * 1_024.0),
        false => format!("{gib:.1} GiB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shown_in_a_unit_that_fits() {
        let cases = [
            (0, "0 MiB"),
            (512 << 20, "512 MiB"),
            (1 << 30, "1.0 GiB"),
            (150_754_820_096, "140.4 GiB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(format_gib(bytes), text);
        }
    }
}
