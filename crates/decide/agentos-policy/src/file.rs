//! A policy file as it is written: TOML in which every field is known.
//!
//! Owns: the names and types of the fields, and the position and hint of a syntax error. Never: judges a rule.

mod kinds;

use agentos_landing::RefusalCode;
use agentos_tool::{Enforcement, ExecutionMode};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

pub use self::kinds::Action;
pub(crate) use self::kinds::{FileKind, FindingKind};
use crate::time::Weekday;
use crate::{Ecosystem, Effect, PolicyError, Preset, Touch};

/// A policy file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyFile {
    /// Version of the format: 1.
    #[schemars(with = "u32", range(min = 1, max = 1))]
    pub(crate) version: Spanned<u32>,
    /// Rules that this layer builds on. What neither they nor the layer's own rules allow is denied. Without a preset
    /// the layer can only ask and deny; if neither the machine nor the user names one, `default` is active.
    #[schemars(with = "Option<Preset>")]
    pub(crate) preset: Option<Spanned<Preset>>,
    /// SHA-256 of texts of a repository's policy whose preset may replace `default`, as `agentos trust` records them. Only in a
    /// policy of the user or of the machine.
    #[schemars(with = "Option<Vec<String>>")]
    pub(crate) agreed: Option<Spanned<Vec<String>>>,
    /// The rules. Their order does not matter.
    #[serde(default)]
    #[schemars(with = "Vec<RuleText>")]
    pub(crate) rule: Vec<Spanned<RuleText>>,
    /// Files that only those may read who may read another file too.
    #[serde(default)]
    pub(crate) same_readers: Vec<SameReaders>,
}

/// File that only those may read who may read another file too, because it has text of that file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SameReaders {
    /// The file.
    pub(crate) path: String,
    /// The other file, which need not exist any more.
    pub(crate) of: String,
}

/// A rule. All conditions that it states must hold; then its effect is one of the answers, and the strictest answer
/// wins.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleText {
    /// Name, unique in the file: letters, digits, `-`, `_` and `.`.
    pub(crate) id: String,
    /// Answer of the rule.
    pub(crate) effect: Effect,
    /// Purpose of the rule, in one sentence.
    pub(crate) why: String,
    /// Remedy, shown with the refusal.
    pub(crate) fix: Option<String>,
    /// Class of a refusal by this rule; `protected-path` unless stated.
    pub(crate) code: Option<RefusalCode>,
    /// Questions that the rule answers; all of them unless stated.
    pub(crate) action: Option<Vec<Action>>,
    /// Globs of which one must match the path. Case does not matter, `*` stays inside one folder, `**` does not.
    pub(crate) paths: Option<Vec<String>>,
    /// Globs of which none may match the path.
    pub(crate) except_paths: Option<Vec<String>>,
    /// Kinds of file, one of which must be met.
    pub(crate) kinds: Option<Vec<FileKind>>,
    /// Globs of which one must match the provider's name.
    pub(crate) provider: Option<Vec<String>>,
    /// Globs of which one must match the model's name. Only `*` matches a model without a name.
    pub(crate) model: Option<Vec<String>>,
    /// Place where the tool works.
    pub(crate) execution_mode: Option<ExecutionMode>,
    /// Confinement of the tool.
    pub(crate) enforcement: Option<Enforcement>,
    /// True if the change must have passed a check that the user named (`run --check`); false if it must not.
    pub(crate) checked: Option<bool>,
    /// Globs of which one must match the ref that will be moved, as in `refs/heads/release/**`; `*` does not match a
    /// slash. Without a commit it is the branch that is checked out, or `HEAD` if there is none.
    pub(crate) target_ref: Option<Vec<String>>,
    /// Globs of which none may match that ref.
    pub(crate) except_target_ref: Option<Vec<String>>,
    /// Findings of which one must be in the file, or in the change.
    pub(crate) findings: Option<Vec<FindingKind>>,
    /// Parts of a project of which one must be touched.
    pub(crate) touches: Option<Vec<Touch>>,
    /// Package managers of which one's manifests or lock files must be touched.
    pub(crate) ecosystems: Option<Vec<Ecosystem>>,
    /// Times of day of which one must be now, in UTC, as in `22:00-06:00`.
    pub(crate) hours: Option<Vec<String>>,
    /// Days of which one must be today, in UTC.
    pub(crate) weekdays: Option<Vec<Weekday>>,
    /// Lines added, at most: to the file, or by the whole change for `land`. The same holds for all limits on lines.
    pub(crate) max_added: Option<u64>,
    /// Lines added, more than.
    pub(crate) over_added: Option<u64>,
    /// Lines removed, at most.
    pub(crate) max_removed: Option<u64>,
    /// Lines removed, more than.
    pub(crate) over_removed: Option<u64>,
    /// Lines added and removed, at most.
    pub(crate) max_lines: Option<u64>,
    /// Lines added and removed, more than.
    pub(crate) over_lines: Option<u64>,
    /// Bytes of the new content, at most: of the file, or of all files for `land`. A deleted file has none.
    pub(crate) max_bytes: Option<u64>,
    /// Bytes of the new content, more than.
    pub(crate) over_bytes: Option<u64>,
    /// Paths in the whole change, at most.
    pub(crate) max_files: Option<u64>,
    /// Paths in the whole change, more than.
    pub(crate) over_files: Option<u64>,
    /// Paths deleted in the whole change, at most.
    pub(crate) max_deleted: Option<u64>,
    /// Paths deleted in the whole change, more than.
    pub(crate) over_deleted: Option<u64>,
    /// Files that the whole change takes away, at most: deleted or emptied, and more than half of their lines are not added to
    /// another file. A renamed file does not count.
    pub(crate) max_lost_files: Option<u64>,
    /// Files that the whole change takes away, more than.
    pub(crate) over_lost_files: Option<u64>,
    /// Lines before the change, at most. A new file and binary data have none.
    pub(crate) max_old_lines: Option<u64>,
    /// Lines before the change, more than.
    pub(crate) over_old_lines: Option<u64>,
    /// Lines before the change minus the lines after it, at most.
    pub(crate) max_net_removed: Option<u64>,
    /// Lines before the change minus the lines after it, more than.
    pub(crate) over_net_removed: Option<u64>,
    /// Share of the file's old lines, in percent, that are removed and added nowhere in the change, at most. White space at
    /// the ends of a line does not count. 0 for `land`.
    pub(crate) max_lost_percent: Option<u64>,
    /// Share of the file's old lines, in percent, that are removed and added nowhere in the change, more than.
    pub(crate) over_lost_percent: Option<u64>,
    /// Number of the attempt, at most.
    pub(crate) max_attempt: Option<u64>,
    /// Number of the attempt, more than.
    pub(crate) over_attempt: Option<u64>,
    /// Bytes of context sent to the tool, at most. For `read` they include this file and those before it.
    pub(crate) max_context_bytes: Option<u64>,
    /// Bytes of context sent to the tool, more than.
    pub(crate) over_context_bytes: Option<u64>,
    /// Questions that must and must not match, checked whenever the file is loaded.
    #[serde(default)]
    pub(crate) examples: RuleExamples,
}

/// Examples of a rule, checked whenever the file is loaded.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleExamples {
    /// Examples that must match the rule.
    #[serde(default, rename = "match")]
    pub(crate) matching: Vec<RuleExample>,
    /// Examples that must not match the rule.
    #[serde(default, rename = "no_match")]
    pub(crate) other: Vec<RuleExample>,
}

/// A question, as an example states it. Everything that it leaves out is ordinary: a local tool, confined by the
/// kernel, modifies one line of one regular file.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleExample {
    /// Action; the first that the rule answers unless stated.
    pub(crate) action: Option<Action>,
    /// Path. An example for `land` has none.
    pub(crate) path: Option<String>,
    /// Kinds of the file.
    #[serde(default)]
    pub(crate) kinds: Vec<FileKind>,
    /// Name of the provider.
    pub(crate) provider: Option<String>,
    /// Name of the model.
    pub(crate) model: Option<String>,
    /// Place where the tool works.
    pub(crate) execution_mode: Option<ExecutionMode>,
    /// Confinement of the tool.
    pub(crate) enforcement: Option<Enforcement>,
    /// True if the change passed the check that the user named; false unless stated.
    pub(crate) checked: Option<bool>,
    /// Ref that will be moved; `refs/heads/topic` unless stated.
    pub(crate) target_ref: Option<String>,
    /// Findings.
    #[serde(default)]
    pub(crate) findings: Vec<FindingKind>,
    /// For `land`: what the change touches. For a path this follows from the path.
    #[serde(default)]
    pub(crate) touches: Vec<Touch>,
    /// Lines added.
    pub(crate) added: Option<u64>,
    /// Lines removed.
    pub(crate) removed: Option<u64>,
    /// Bytes of the new content; 1 unless stated.
    pub(crate) bytes: Option<u64>,
    /// Paths in the whole change.
    pub(crate) files: Option<u64>,
    /// Paths deleted in the whole change.
    pub(crate) deleted: Option<u64>,
    /// Files that the whole change takes away.
    pub(crate) lost_files: Option<u64>,
    /// Lines before the change; 1 unless stated.
    pub(crate) old_lines: Option<u64>,
    /// Lines before the change minus the lines after it.
    pub(crate) net_removed: Option<u64>,
    /// Share of the file's old lines, in percent, that are lost.
    pub(crate) lost_percent: Option<u64>,
    /// Number of the attempt.
    pub(crate) attempt: Option<u32>,
    /// Bytes of context sent to the tool.
    pub(crate) context_bytes: Option<u64>,
    /// For `land`: package managers whose files are touched. For a path this follows from the path.
    #[serde(default)]
    pub(crate) ecosystems: Vec<Ecosystem>,
    /// The time of day in UTC, as in `23:30`; noon unless stated.
    pub(crate) hour: Option<String>,
    /// The day in UTC; Wednesday unless stated.
    pub(crate) weekday: Option<Weekday>,
}

/// Parses a policy file.
///
/// # Errors
/// If the text is not a policy file of version 1.
pub(crate) fn parse(name: &str, text: &str) -> Result<PolicyFile, PolicyError> {
    let file: PolicyFile = toml::from_str(text).map_err(|error| syntax_error(name, text, &error))?;
    if *file.version.get_ref() != 1 {
        let (line, column) = line_and_column(text, file.version.span().start);
        return Err(PolicyError::Version {
            source_name: name.to_owned(),
            line,
            column,
            found: *file.version.get_ref(),
        });
    }
    Ok(file)
}

/// Returns the line and column of a byte offset; the first of both is 1.
pub(crate) fn line_and_column(text: &str, offset: usize) -> (u32, u32) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    (
        u32::try_from(line).unwrap_or(u32::MAX),
        u32::try_from(column).unwrap_or(u32::MAX),
    )
}

/// Line numbers of byte offsets that are asked in ascending order. Each count continues from the one before, so that
/// a file is read once and not once per rule.
pub(crate) struct LineCounter<'t> {
    text: &'t str,
    at: usize,
    line: u32,
}

impl<'t> LineCounter<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, at: 0, line: 1 }
    }

    /// Returns the line of an offset, as [`line_and_column`] does.
    pub(crate) fn line_at(&mut self, offset: usize) -> u32 {
        // An offset that goes back, or lies inside a character, is counted from the beginning.
        let Some(between) = self.text.get(self.at..offset) else {
            return line_and_column(self.text, offset).0;
        };
        let count = between.bytes().filter(|byte| *byte == b'\n').count();
        self.at = offset;
        self.line = self.line.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        self.line
    }
}

fn syntax_error(name: &str, text: &str, error: &toml::de::Error) -> PolicyError {
    let (line, column) = line_and_column(text, error.span().map_or(0, |span| span.start));
    // The parser's further lines repeat the source with a marker; the position is reported in fields of its own.
    let message = reword_message(error.message().lines().next().unwrap_or_default());
    let meant = suggest_name(&message);
    PolicyError::Syntax {
        source_name: name.to_owned(),
        line,
        column,
        // The list of all names only helps if no known name is similar.
        message: match (&meant, message.split_once(", expected one of ")) {
            (Some(_), Some((what, _))) => what.to_owned(),
            (Some(_) | None, _) => message.clone(),
        },
        hint: meant.or_else(|| hint_for(&message).map(str::to_owned)),
    }
}

/// Rewords the parser's message without the names of this program's types.
fn reword_message(message: &str) -> String {
    let words = [
        ("unknown variant", "unknown value"),
        ("expected u64", "expected a whole number of 0 or more"),
        ("expected u32", "expected a whole number of 0 or more"),
        ("expected a sequence", "expected a list in `[` and `]`"),
        ("expected struct RuleExample", "expected a table in `{` and `}`"),
        (
            "expected struct RuleText",
            "expected a rule, which begins with `[[rule]]`",
        ),
        ("wanted string or table", "expected a word in quotes"),
        ("invalid type: map", "found a table"),
        ("invalid type: sequence", "found a list"),
        ("invalid type: string", "found the text"),
        ("invalid type: integer", "found the number"),
        ("invalid type: boolean", "found"),
        ("invalid value: integer", "found the number"),
    ];
    words
        .into_iter()
        .fold(message.to_owned(), |message, (name, word)| {
            message.replace(name, word)
        })
}

/// Returns a suggestion for a message that alone does not help a newcomer. `None` if there is none.
fn hint_for(message: &str) -> Option<&'static str> {
    let remedies = [
        ("missing field `version`", "begin the file with `version = 1`"),
        (
            "missing field `id`",
            "give the rule a name: `id = \"no-cloud-ci\"`",
        ),
        (
            "missing field `effect`",
            "write `effect = \"deny\"`, `\"ask\"` or `\"allow\"`",
        ),
        (
            "missing field `why`",
            "say in one sentence what the rule protects: `why = \"…\"`",
        ),
        (
            "found a table, expected a list",
            "each rule begins with two brackets: `[[rule]]`",
        ),
        ("duplicate key", "write each field of a rule once"),
        (
            "found the text",
            "lists and numbers are written without quotes around them",
        ),
    ];
    remedies
        .into_iter()
        .find(|(found, _)| message.contains(found))
        .map(|(_, remedy)| remedy)
}

/// Finds the known name nearest to the unknown one in "unknown field `efect`, expected one of `id`, `effect`". `None`
/// if the message has another form or no name is similar.
fn suggest_name(message: &str) -> Option<String> {
    if !message.starts_with("unknown ") {
        return None;
    }
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = quoted.next()?;
    quoted
        .map(|known| {
            (
                strsim::osa_distance(unknown, known),
                unknown.len().abs_diff(known.len()),
                known,
            )
        })
        .min()
        // Short words are similar by chance.
        .filter(|(distance, _, known)| match known.chars().count() {
            0..=4 => *distance <= 1,
            count => *distance <= 1 + count / 3,
        })
        .map(|(_, _, known)| format!("did you mean `{known}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_as_places_are() {
        let text = "\na\n\n\u{e9}\nb";
        let mut lines = LineCounter::new(text);
        // Offsets that go back, that are within a character and that are behind the end, too.
        for offset in [0, 1, 1, 3, 4, 5, 8, 2, 7, 99, 0] {
            assert_eq!(lines.line_at(offset), line_and_column(text, offset).0, "{offset}");
        }
    }
}
