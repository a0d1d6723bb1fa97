//! A policy file as it is written: TOML, every field known.
//!
//! Owns: the names and types of the fields, and turning a mistake into place and hint. Never: judges anything.

use agentos_landing::RefusalCode;
use agentos_tool::{Enforcement, ExecutionMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::time::Weekday;
use crate::{Ecosystem, Effect, PolicyError, Preset, Touch};

/// A policy file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyFile {
    /// Version of the format: 1.
    #[schemars(with = "u32", range(min = 1, max = 1))]
    pub(crate) version: Spanned<u32>,
    /// The rules that this layer stands on, beside its own: what neither allows is denied. Without it the layer can
    /// only ask and deny, and where no layer names a preset, `default` is in force.
    #[schemars(with = "Option<Preset>")]
    pub(crate) preset: Option<Spanned<Preset>>,
    /// The rules. Their order does not matter.
    #[serde(default)]
    #[schemars(with = "Vec<RuleText>")]
    pub(crate) rule: Vec<Spanned<RuleText>>,
}

/// One rule. All the conditions that it states must hold; then its effect is one of the answers, and the strictest
/// answer wins.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleText {
    /// Name, unique in the file: letters, digits, `-`, `_` and `.`.
    pub(crate) id: String,
    /// What it answers.
    pub(crate) effect: Effect,
    /// Why the rule is there, in one sentence.
    pub(crate) why: String,
    /// What to do about it.
    pub(crate) fix: Option<String>,
    /// The class of a refusal by this rule; `protected-path` unless stated.
    pub(crate) code: Option<RefusalCode>,
    /// The questions it answers; all of them unless stated.
    pub(crate) action: Option<Vec<Action>>,
    /// Globs of which one must match the path. Case does not matter, `*` stays inside one folder, `**` does not.
    pub(crate) paths: Option<Vec<String>>,
    /// Globs of which none may match the path.
    pub(crate) except_paths: Option<Vec<String>>,
    /// Kinds of which the file must be one.
    pub(crate) kinds: Option<Vec<Kind>>,
    /// Globs of which one must match the provider's name.
    pub(crate) provider: Option<Vec<String>>,
    /// Globs of which one must match the model's name. Only `*` matches a model without a name.
    pub(crate) model: Option<Vec<String>>,
    /// Where the tool works.
    pub(crate) execution_mode: Option<ExecutionMode>,
    /// What holds the tool back.
    pub(crate) enforcement: Option<Enforcement>,
    /// Whether the change must have passed, or must not have passed, a check that the user named (`run --check`).
    pub(crate) checked: Option<bool>,
    /// Globs of which one must match the ref to be moved, as in `refs/heads/release/**`; `*` stays between two slashes.
    /// Without a commit it is the branch that is checked out, and `HEAD` where none is.
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
    /// Lines added, at most. Of the file, or of the change for `land`; so for all lines.
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
    /// Paths in the whole change, at most.
    pub(crate) max_files: Option<u64>,
    /// Paths in the whole change, more than.
    pub(crate) over_files: Option<u64>,
    /// Paths deleted in the whole change, at most.
    pub(crate) max_deleted: Option<u64>,
    /// Paths deleted in the whole change, more than.
    pub(crate) over_deleted: Option<u64>,
    /// Number of the attempt, at most.
    pub(crate) max_attempt: Option<u64>,
    /// Number of the attempt, more than.
    pub(crate) over_attempt: Option<u64>,
    /// Bytes of context sent to the tool, at most. For `read`: with this file and those before it.
    pub(crate) max_context_bytes: Option<u64>,
    /// Bytes of context sent to the tool, more than.
    pub(crate) over_context_bytes: Option<u64>,
    /// Questions that must and must not match, checked whenever the file is loaded.
    #[serde(default)]
    pub(crate) examples: Examples,
}

/// Examples of a rule.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Examples {
    /// Each must match the rule.
    #[serde(default, rename = "match")]
    pub(crate) matching: Vec<Example>,
    /// None may match the rule.
    #[serde(default, rename = "no_match")]
    pub(crate) other: Vec<Example>,
}

/// A question, as an example states it. What it leaves out is ordinary: a local tool held by the kernel modifies
/// one line of one regular file.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Example {
    /// The question; the first that the rule answers unless stated.
    pub(crate) action: Option<Action>,
    /// The path; none only for `land`.
    pub(crate) path: Option<String>,
    /// Kinds of the file.
    #[serde(default)]
    pub(crate) kinds: Vec<Kind>,
    /// Name of the provider.
    pub(crate) provider: Option<String>,
    /// Name of the model.
    pub(crate) model: Option<String>,
    /// Where the tool works.
    pub(crate) execution_mode: Option<ExecutionMode>,
    /// What holds the tool back.
    pub(crate) enforcement: Option<Enforcement>,
    /// It passed the check that the user named; false unless stated.
    pub(crate) checked: Option<bool>,
    /// The ref to be moved; `refs/heads/topic` unless stated.
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
    /// Paths in the whole change.
    pub(crate) files: Option<u64>,
    /// Paths deleted in the whole change.
    pub(crate) deleted: Option<u64>,
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

/// What is asked about a path, or about a change as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// May the file come to be?
    Create,
    /// May its bytes change?
    Modify,
    /// May it go?
    Delete,
    /// May it carry on another file's content under a new name? Asked beside `create`.
    Rename,
    /// May its executable bit change? Asked beside `modify` where both change.
    Chmod,
    /// May its text be sent to the tool?
    Read,
    /// May the change as a whole be written?
    Land,
}

impl Action {
    /// The word used in JSON, in rules and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Modify => "modify",
            Self::Delete => "delete",
            Self::Rename => "rename",
            Self::Chmod => "chmod",
            Self::Read => "read",
            Self::Land => "land",
        }
    }
}

/// What kind of file the result is (the base, for a deletion).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// Has no NUL byte near its beginning.
    Text,
    /// Has one.
    Binary,
    /// Can be started as a program.
    Executable,
    /// Can be started as a program and could not before.
    NewExecutable,
    /// A symbolic link; of one, only the deletion can be asked for.
    Symlink,
}

impl Kind {
    pub(crate) const ALL: [Self; 5] = [
        Self::Binary,
        Self::Executable,
        Self::NewExecutable,
        Self::Symlink,
        Self::Text,
    ];

    /// The word used in JSON, in rules and on the screen.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Binary => "binary",
            Self::Executable => "executable",
            Self::NewExecutable => "new-executable",
            Self::Symlink => "symlink",
        }
    }
}

/// What may be found in added text, or in a file that is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FindingKind {
    /// A credential.
    Secret,
    /// Direction-changing and tag characters: what is shown is not what is there.
    Bidi,
    /// Characters of no width.
    Invisible,
    /// NUL bytes.
    Nul,
    /// A value that looks random, of no known kind. A hint: digests and ids look like this, too.
    MaybeSecret,
    /// A test file that loses tests or assertions, or has more of them skipped.
    WeakensTests,
    /// For `land`: the change does nothing else.
    OnlyWeakensTests,
    /// The path lies in a folder that the result makes a git directory by what it holds.
    GitDirectory,
}

impl FindingKind {
    /// Every kind, in the order of their words.
    pub(crate) const ALL: [Self; 8] = [
        Self::Bidi,
        Self::GitDirectory,
        Self::Invisible,
        Self::MaybeSecret,
        Self::Nul,
        Self::OnlyWeakensTests,
        Self::Secret,
        Self::WeakensTests,
    ];

    /// The word used in JSON, in rules and on the screen.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Secret => "secret",
            Self::Bidi => "bidi",
            Self::Invisible => "invisible",
            Self::Nul => "nul",
            Self::MaybeSecret => "maybe-secret",
            Self::WeakensTests => "weakens-tests",
            Self::OnlyWeakensTests => "only-weakens-tests",
            Self::GitDirectory => "git-directory",
        }
    }
}

/// Reads a file.
pub(crate) fn parse(name: &str, text: &str) -> Result<PolicyFile, PolicyError> {
    let file: PolicyFile = toml::from_str(text).map_err(|error| syntax(name, text, &error))?;
    if *file.version.get_ref() != 1 {
        let (line, column) = place(text, file.version.span().start);
        return Err(PolicyError::Version {
            source_name: name.to_owned(),
            line,
            column,
            found: *file.version.get_ref(),
        });
    }
    Ok(file)
}

/// The line and column (1 is the first of both) of a byte offset.
pub(crate) fn place(text: &str, offset: usize) -> (u32, u32) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    (
        u32::try_from(line).unwrap_or(u32::MAX),
        u32::try_from(column).unwrap_or(u32::MAX),
    )
}

/// The lines of byte offsets that are asked in their order: each is counted on from the one before.
pub(crate) struct Lines<'t> {
    text: &'t str,
    at: usize,
    line: u32,
}

impl<'t> Lines<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        Self { text, at: 0, line: 1 }
    }

    /// The line of an offset, as [`place`] gives it.
    pub(crate) fn line(&mut self, offset: usize) -> u32 {
        let Some(between) = self.text.get(self.at..offset) else {
            return place(self.text, offset).0;
        };
        let count = between.bytes().filter(|byte| *byte == b'\n').count();
        self.at = offset;
        self.line = self.line.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        self.line
    }
}

fn syntax(name: &str, text: &str, error: &toml::de::Error) -> PolicyError {
    let (line, column) = place(text, error.span().map_or(0, |span| span.start));
    let message = in_words(error.message().lines().next().unwrap_or_default());
    let meant = did_you_mean(&message);
    PolicyError::Syntax {
        source_name: name.to_owned(),
        line,
        column,
        // The whole list helps only where no name of it is near.
        message: match (&meant, message.split_once(", expected one of ")) {
            (Some(_), Some((what, _))) => what.to_owned(),
            (Some(_) | None, _) => message.clone(),
        },
        hint: meant.or_else(|| remedy(&message).map(str::to_owned)),
    }
}

/// The parser's message without the names of this program's types.
fn in_words(message: &str) -> String {
    let words = [
        ("unknown variant", "unknown value"),
        ("expected u64", "expected a whole number of 0 or more"),
        ("expected u32", "expected a whole number of 0 or more"),
        ("expected a sequence", "expected a list in `[` and `]`"),
        ("expected struct Example", "expected a table in `{` and `}`"),
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

/// What to write instead, where the message alone does not tell a newcomer.
fn remedy(message: &str) -> Option<&'static str> {
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

/// From "unknown field `efect`, expected one of `id`, `effect`": the known name nearest to the unknown one.
fn did_you_mean(message: &str) -> Option<String> {
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
        // Short words are near each other by chance.
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
        let mut lines = Lines::of(text);
        // Offsets that go back, that are within a character and that are behind the end, too.
        for offset in [0, 1, 1, 3, 4, 5, 8, 2, 7, 99, 0] {
            assert_eq!(lines.line(offset), place(text, offset).0, "{offset}");
        }
    }
}
