//! `agentos tool health --probe`: one tiny edit in each edit format, to find out which a model can write.
//!
//! Owns: the task of the edit, and the ranking of the formats. Never: calls a tool that is not connected, or reads a
//! repository: the one file is made up.

use std::sync::Arc;

use agentos_landing::{
    Base, BaseEntry, BaseError, Dialect, DirEntry, EntryKind, FileMode, HunkStatus, KnownBlob, LandOptions,
    LandedChange, Rung, land,
};
use agentos_tool::{
    ContextFile, EditFormat, ExactCost, FinishReason, NoProgress, TaskLimits, TokenPrices, ToolError,
    ToolOutput, ToolTask, Usage,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::prices::prove_prices;
use crate::tools::Tool;
use agentos_ground::clock::new_run;

const PATH: &str = "fruit.txt";
const BEFORE: &str = "apple\nbanana\ncherry\n";
const AFTER: &str = "apple\norange\ncherry\n";
/// Object id that git gives [`BEFORE`].
const BLOB: &str = "fde8dcd0a3dba218d00cccb07b292d2a4be7041d";
const INSTRUCTION: &str = "In fruit.txt, replace the line `banana` with `orange`. Change nothing else.";
/// Most tokens of an answer: enough for every edit format, and for a model that reasons a little first.
const MOST_TOKENS: u64 = 512;
const MOST_SECONDS: u64 = 60;

/// The results of the tiny edit by a provider's model.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Probe {
    /// The provider.
    pub provider: String,
    /// The edit formats that were tried, best first.
    pub formats: Vec<FormatProbe>,
    /// The best format that the model obeyed. `None` if it obeyed none.
    pub best: Option<EditFormat>,
    /// The profile file in which the best format was saved. `None` if it was not.
    pub saved: Option<String>,
    /// The failure of a call that gave no answer, which ended the probe. `None` if every call was answered.
    #[serde(skip)]
    pub failure: Option<ToolError>,
}

/// The result of one generation in one edit format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FormatProbe {
    /// The requested edit format.
    pub edit_format: EditFormat,
    /// True if the answer has that format and means the requested change.
    pub obeyed: bool,
    /// True if the answer means that change, in this format or another.
    pub lands: bool,
    /// True if nothing had to be repaired.
    pub clean: bool,
    /// The observation in one sentence.
    pub details: String,
    /// Tokens. `None` if the server did not report them.
    pub usage: Option<Usage>,
    /// Cost of the tokens by the profile's price, in millionths of a US dollar. `None` if it is unknown.
    pub cost_micro_usd: Option<u64>,
    /// Milliseconds from the request to the last byte.
    pub latency_ms: u64,
}

/// Has the tool make the edit once in each edit format that its profile allows.
pub async fn probe_formats(tool: &Tool) -> Probe {
    let all = [
        EditFormat::SearchReplace,
        EditFormat::UnifiedDiff,
        EditFormat::JsonEdits,
        EditFormat::WholeFile,
    ];
    let price = match &tool.hosting {
        Some(hosting) => prove_prices(tool.price.clone(), &hosting.profile).await.prices,
        None => tool.price.clone(),
    };
    let (mut formats, mut failure) = (Vec::new(), None);
    for edit_format in all {
        if tool
            .constrain
            .edit_format()
            // A server that constrains its answers can write no other format.
            .is_some_and(|held| held != edit_format)
        {
            continue;
        }
        match probe_format(tool, &price, edit_format).await {
            Ok(found) => formats.push(found),
            // A call that failed would probably fail again, and each call may cost money.
            Err(error) => {
                formats.push(FormatProbe {
                    latency_ms: error.latency_ms,
                    ..without_result(edit_format, error.message.clone())
                });
                failure = Some(error);
                break;
            }
        }
    }
    // Among formats that work equally well, the one with fewer tokens is better: answers in it cost less.
    formats.sort_by_key(|found| {
        let tokens = found.usage.and_then(|usage| usage.output_tokens);
        (
            !found.obeyed,
            !found.lands,
            !found.clean,
            tokens.unwrap_or(u64::MAX),
        )
    });
    Probe {
        provider: tool.adapter.provider().to_owned(),
        best: formats
            .iter()
            .find(|found| found.obeyed)
            .map(|found| found.edit_format),
        formats,
        saved: None,
        failure,
    }
}

/// Makes one generation.
///
/// # Errors
/// If the call gave no answer.
async fn probe_format(
    tool: &Tool,
    price: &TokenPrices,
    edit_format: EditFormat,
) -> Result<FormatProbe, ToolError> {
    let task = ToolTask {
        task_id: new_run(),
        instruction: INSTRUCTION.to_owned(),
        context: vec![ContextFile {
            path: PATH.to_owned(),
            content: BEFORE.to_owned(),
            part: None,
        }],
        outline: Vec::new(),
        edit_format,
        allowed_paths: vec![PATH.to_owned()],
        forbidden_paths: Vec::new(),
        limits: TaskLimits {
            timeout_seconds: tool.timeout_seconds.min(MOST_SECONDS),
            // The profile's limit can be large, and a model that does not stop would be paid for all of it.
            max_output_tokens: Some(MOST_TOKENS),
            loaded_context: None,
        },
        attempt: 1,
        feedback: None,
        history: Vec::new(),
        remark: None,
        has_tools: false,
    };
    let output = tool.adapter.run(&task, &NoProgress).await?;
    let mut found = judge_output(edit_format, &output);
    let cost = output.usage.and_then(|usage| price.cost(&usage));
    found.cost_micro_usd = cost.map(ExactCost::micro_dollars);
    Ok(found)
}

/// Places the answer and compares the change with the requested one.
fn judge_output(edit_format: EditFormat, output: &ToolOutput) -> FormatProbe {
    let mut found = FormatProbe {
        usage: output.usage,
        latency_ms: output.latency_ms,
        ..without_result(edit_format, String::new())
    };
    match output.finish {
        FinishReason::Stop | FinishReason::Unknown => {}
        // The beginning of an answer can have a place although the rest of it is missing.
        FinishReason::Length | FinishReason::ContentFilter | FinishReason::ToolCalls => {
            found.details = format!("the answer ends with `{}`", output.finish.as_str());
            return found;
        }
    }
    let landed = match land(output.text.as_bytes(), &OneFile, &LandOptions::default()) {
        Ok(landed) => landed,
        Err(error) => {
            found.details = error.to_string();
            return found;
        }
    };
    found.lands = is_the_edit(&landed);
    let dialects: Vec<Dialect> = landed.report.files.iter().map(|file| file.dialect).collect();
    found.obeyed = found.lands && dialects.iter().all(|dialect| is_form(*dialect, edit_format));
    found.clean = found.obeyed && is_clean(&landed);
    found.details = match (found.lands, found.obeyed, found.clean) {
        (false, _, _) => "it makes another change than the requested one",
        (true, false, _) => "the right change, in another format than the requested one",
        (true, true, false) => "followed, after repairs",
        (true, true, true) => "obeyed",
    }
    .to_owned();
    found
}

fn without_result(edit_format: EditFormat, details: String) -> FormatProbe {
    FormatProbe {
        edit_format,
        obeyed: false,
        lands: false,
        clean: false,
        details,
        usage: None,
        cost_micro_usd: None,
        latency_ms: 0,
    }
}

fn is_the_edit(landed: &LandedChange) -> bool {
    let files = landed.change.files();
    let after = files.iter().map(|file| {
        let new = file.new.as_ref().map(|state| state.content.as_ref());
        (file.path.to_string(), new.map(<[u8]>::to_vec))
    });
    after.eq([(PATH.to_owned(), Some(AFTER.as_bytes().to_vec()))])
}

fn is_form(dialect: Dialect, edit_format: EditFormat) -> bool {
    match dialect {
        Dialect::UnifiedDiff => edit_format == EditFormat::UnifiedDiff,
        Dialect::SearchReplace => edit_format == EditFormat::SearchReplace,
        Dialect::WholeFile => edit_format == EditFormat::WholeFile,
        Dialect::JsonEdits => edit_format == EditFormat::JsonEdits,
        // Models write the envelope by habit; no edit format requests it.
        Dialect::PatchEnvelope => false,
    }
}

/// Returns true if every edit was found where it says it is, without repairs.
fn is_clean(landed: &LandedChange) -> bool {
    landed.report.files.iter().all(|file| {
        let hunks = file.hunks.iter().all(|hunk| {
            let exact = matches!(
                hunk.rung,
                Some(Rung::ExactStated | Rung::ExactMoved | Rung::WholeFile) | None
            );
            hunk.status == HunkStatus::Landed && exact && hunk.repairs.is_empty()
        });
        file.repairs.is_empty() && hunks
    })
}

/// A base with one made-up file.
struct OneFile;

impl OneFile {
    fn file_entry() -> BaseEntry {
        BaseEntry {
            kind: EntryKind::File(FileMode::Regular),
            id: BLOB.to_owned(),
        }
    }
}

impl Base for OneFile {
    fn entry(&self, path: &str) -> Result<Option<BaseEntry>, BaseError> {
        Ok((path == PATH).then(Self::file_entry))
    }

    fn read(&self, id: &str) -> Result<Arc<[u8]>, BaseError> {
        if id == BLOB {
            Ok(Arc::from(BEFORE.as_bytes()))
        } else {
            Err(BaseError::Unreadable("there is no such object".to_owned()))
        }
    }

    fn list(&self, dir: &str) -> Result<Vec<DirEntry>, BaseError> {
        let root = dir.is_empty().then(|| DirEntry {
            name: PATH.as_bytes().to_vec(),
            entry: Self::file_entry(),
        });
        Ok(root.into_iter().collect())
    }

    fn blob_by_prefix(&self, prefix: &str) -> Result<Option<KnownBlob>, BaseError> {
        // The `index` line of a git diff names a blob by the beginning of its id.
        let is_it = BLOB.starts_with(prefix);
        Ok(is_it.then(|| (BLOB.to_owned(), Arc::from(BEFORE.as_bytes()))))
    }

    fn paths_ending_with(&self, suffix: &str, limit: usize) -> Result<Vec<String>, BaseError> {
        let fits = limit > 0 && suffix.trim_start_matches('/') == PATH;
        Ok(fits.then(|| PATH.to_owned()).into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_held_to_the_form_and_to_the_edit() {
        use EditFormat::{JsonEdits, SearchReplace, UnifiedDiff, WholeFile};
        let blocks = "fruit.txt\n<<<<<<< SEARCH\nbanana\n=======\norange\n>>>>>>> REPLACE\n";
        let diff = "diff --git a/fruit.txt b/fruit.txt\n--- a/fruit.txt\n+++ b/fruit.txt\n@@ -1,3 +1,3 @@\n apple\n-banana\n+orange\n cherry\n";
        let sloppy = "--- fruit.txt\n+++ fruit.txt\n@@ -7 +7 @@\n-banana\n+orange\n";
        let json = r#"{"edits":[{"path":"fruit.txt","search":"banana","replace":"orange"}]}"#;
        let other = "fruit.txt\n<<<<<<< SEARCH\nbanana\n=======\nlemon\n>>>>>>> REPLACE\n";
        let cases = [
            (SearchReplace, blocks, (true, true, true)),
            (UnifiedDiff, diff, (true, true, true)),
            (UnifiedDiff, sloppy, (true, true, false)),
            (JsonEdits, json, (true, true, true)),
            (WholeFile, diff, (false, true, false)),
            (UnifiedDiff, blocks, (false, true, false)),
            (SearchReplace, other, (false, false, false)),
            (SearchReplace, "I would replace it.", (false, false, false)),
        ];
        for (edit_format, text, (obeyed, lands, clean)) in cases {
            let output = ToolOutput {
                text: text.to_owned(),
                finish: FinishReason::Stop,
                model_id: None,
                endpoint: None,
                usage: None,
                latency_ms: 0,
                warnings: Vec::new(),
            };
            let found = judge_output(edit_format, &output);
            assert_eq!(
                (found.obeyed, found.lands, found.clean),
                (obeyed, lands, clean),
                "{text} {found:?}"
            );
        }
    }
}
