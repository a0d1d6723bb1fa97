//! Records of earlier runs, read back.
//!
//! Owns: where the body of a record is stored, and the errors about a run that does not fit the request. Never: reads a file; records
//! come through a port.

use agentos_api::NextStep;
use agentos_evidence::{Record, SpilledBody};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Cause;
use crate::ports::{EffectError, RecordReader};

/// Reads a record's body, from its blob if it was too long for a line of the tape.
///
/// # Errors
/// If the body is partly on the line and partly in a blob, or the blob is missing or damaged, has another length, or is not JSON.
pub fn read_body(tape: &dyn RecordReader, record: &Record) -> Result<Value, EffectError> {
    let mixed = || {
        let what = format!(
            "record {}: its line does not refer to its body as a record does",
            record.seq
        );
        EffectError::new(Cause::Evidence, "evidence-invalid-record", what)
    };
    let Some(spilled) = SpilledBody::find(&record.body).map_err(|_| mixed())? else {
        return Ok(record.body.clone());
    };
    let bytes = tape.load_blob(spilled.id)?;
    if u64::try_from(bytes.len()).ok() != Some(spilled.bytes) {
        return Err(mixed());
    }
    serde_json::from_slice(&bytes)
        .map_err(|error| invalid_record(format!("record {}: {error}", record.seq), &error))
}

/// Reads a record's body as the type of its kind.
///
/// # Errors
/// If the body cannot be read, or has another form.
pub fn parse_record<T: DeserializeOwned>(tape: &dyn RecordReader, record: &Record) -> Result<T, EffectError> {
    serde_json::from_value(read_body(tape, record)?).map_err(|error| {
        invalid_record(
            format!("record {} has an unexpected form: {error}", record.seq),
            &error,
        )
    })
}

/// Makes the error of a record that cannot be read.
fn invalid_record(message: String, error: &serde_json::Error) -> EffectError {
    EffectError::from_source(Cause::Evidence, "evidence-invalid-record", message, error)
}

/// Makes the error of a run that is not on the tape.
#[must_use]
pub fn unknown_run(run: &str) -> EffectError {
    usage_error(format!("there is no run `{run}` on the tape")).suggest_steps([NextStep::ListRuns])
}

/// Returns the error of a verb that cannot work on a run: [`unknown_run`] if there is no run of that name, else `other`.
///
/// # Errors
/// If the tape cannot be read.
pub(crate) fn explain_unfit(
    tape: &dyn RecordReader,
    run: &str,
    other: EffectError,
) -> Result<EffectError, EffectError> {
    // The whole tape is read, so that a damaged record is reported and not taken for a missing run.
    let mut is_known = false;
    for record in tape.records()? {
        is_known |= record?.run == run;
    }
    Ok(if is_known { other } else { unknown_run(run) })
}

/// Makes the error of a call that makes no sense for this run.
pub(crate) fn usage_error(message: String) -> EffectError {
    EffectError::new(Cause::Usage, "usage", message)
}
