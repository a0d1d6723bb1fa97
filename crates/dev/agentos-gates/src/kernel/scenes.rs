//! The cases of `cases.toml`: a call of the program in a repository, and the expected effect.
//!
//! Owns: preparing a scene, filling in its texts, and judging each case. Never: contains a case.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentos_verdict::Check;
use serde::Deserialize;

use super::GateChecks;
use super::ground::{FIX, Ground, WORKFLOW};
use crate::error::GateError;
use crate::witness;

// Compiled in, so that the program `gate` judges with the cases of its own build from any folder.
const CASES: &str = include_str!("../../cases.toml");

#[derive(Deserialize)]
struct SceneTable {
    texts: BTreeMap<String, String>,
    scene: Vec<Scene>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Scene {
    gate: String,
    args: Vec<String>,
    files: BTreeMap<String, String>,
    commit: bool,
    dirty: BTreeMap<String, String>,
    fresh: bool,
    codes: Vec<i32>,
    lands: ExpectedLanding,
    cases: Vec<SceneCase>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct SceneCase {
    id: String,
    name: Option<String>,
    more: Vec<String>,
    input: String,
    inputs: Vec<String>,
    file: Option<String>,
    codes: Option<Vec<i32>>,
    class: Option<String>,
    lands: Option<ExpectedLanding>,
}

/// The expected effect on the repository.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ExpectedLanding {
    #[default]
    No,
    Yes,
    /// Landing and refusing are both correct.
    Either,
}

/// Prepares every scene of the gate and makes its cases.
pub(super) fn play_scenes(ground: &Ground, checks: &mut GateChecks<'_>) -> Result<(), GateError> {
    let SceneTable { texts, scene } = toml::from_str(CASES)?;
    let stage = SceneStage { ground, texts };
    for scene in scene.iter().filter(|scene| scene.gate == checks.gate.name) {
        let mut repository = stage.set_up(scene)?;
        for case in scene.cases.iter().flat_map(split_case) {
            // A case that lands changes the repository for the next one. The others share one repository,
            // because creating it takes several calls of git.
            if scene.fresh {
                repository = stage.set_up(scene)?;
            }
            stage.play_case(scene, &case, &repository, checks)?;
        }
        // The scenes share one home, so the files of a scene must not stay in it.
        let homes = scene.dirty.keys().filter(|file| file.starts_with("home/"));
        homes
            .map(|file| stage.resolve_path(file, &repository))
            .try_for_each(|file| remove(&file))?;
    }
    Ok(())
}

/// Splits a case with several inputs into one numbered case for each.
fn split_case(case: &SceneCase) -> Vec<SceneCase> {
    if case.inputs.is_empty() {
        return vec![case.clone()];
    }
    let numbered = |(number, input): (usize, &String)| SceneCase {
        id: format!("{}-{number}", case.id),
        inputs: vec![input.clone()],
        ..case.clone()
    };
    case.inputs.iter().enumerate().map(numbered).collect()
}

fn remove(file: &Path) -> Result<(), GateError> {
    std::fs::remove_file(file).map_err(GateError::file(file))
}

struct SceneStage<'a> {
    ground: &'a Ground,
    texts: BTreeMap<String, String>,
}

impl SceneStage<'_> {
    fn set_up(&self, scene: &Scene) -> Result<PathBuf, GateError> {
        let repository = self.ground.make_repository()?;
        self.write(&scene.files, &repository)?;
        if scene.commit {
            witness::commit_all(&repository, "files of the scene")?;
        }
        self.write(&scene.dirty, &repository)?;
        Ok(repository)
    }

    fn write(&self, files: &BTreeMap<String, String>, repository: &Path) -> Result<(), GateError> {
        let mut files = files.iter();
        files.try_for_each(|(file, text)| {
            self.ground
                .write_file(&self.resolve_path(file, repository), self.fill_text(text))
        })
    }

    fn play_case(
        &self,
        scene: &Scene,
        case: &SceneCase,
        repository: &Path,
        checks: &mut GateChecks<'_>,
    ) -> Result<(), GateError> {
        let ground = self.ground;
        let numbered = case.inputs.first().map(|input| self.fill_text(input));
        let file = case.file.as_ref().map(|file| self.resolve_path(file, repository));
        let input = match (&file, numbered) {
            (Some(file), Some(text)) => {
                ground.write_file(file, text)?;
                self.fill_text(&case.input)
            }
            (None, Some(text)) => text,
            (_, None) => self.fill_text(&case.input),
        };
        let args: Vec<String> = scene
            .args
            .iter()
            .chain(&case.more)
            .map(|arg| self.fill_text(arg))
            .collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let (ended, changed) =
            ground.changed_by(repository, || ground.call_with_input(repository, &args, &input))?;
        file.as_deref().map_or(Ok(()), remove)?;
        let codes = case.codes.as_ref().unwrap_or(&scene.codes);
        let is_class = case
            .class
            .as_ref()
            .is_none_or(|class| ended.text_at("code") == class);
        let is_as_found = match case.lands.unwrap_or(scene.lands) {
            ExpectedLanding::No => changed.is_empty(),
            // Both are required: the report could claim a landing that git does not show.
            ExpectedLanding::Yes => !changed.is_empty() && ended.text_at("outcome") == "landed",
            ExpectedLanding::Either => changed.is_empty() == (ended.code != Some(0)),
        };
        let is_code = ended.code.is_some_and(|code| codes.contains(&code));
        let held = is_code && is_class && is_as_found && !ended.has_crashed();
        let name = case.name.clone().unwrap_or_else(|| checks.name(&case.id));
        let said = format!("{}; changed: {}", ended.describe_end(), changed.join(", "));
        checks.made.push(Check::new(&case.id, &name, held, said));
        Ok(())
    }

    /// Returns the path of a file of a scene.
    fn resolve_path(&self, file: &str, repository: &Path) -> PathBuf {
        match file.split_once('/') {
            Some(("repository", rest)) => repository.join(rest),
            _ => self.ground.scratch().join(file.trim_start_matches("scratch/")),
        }
    }

    /// Replaces the placeholders of a text.
    fn fill_text(&self, text: &str) -> String {
        // In two parts, so that no text of this repository looks like a token.
        let token = ["ghp_", "A1b2C3d4E5f6G7h8J9k0L1m2N3o4P5q6R7s8"].concat();
        // Deep enough to overflow the stack of a parser that recurses without a limit; serde_json refuses
        // beyond 128 levels.
        let deep = "[".repeat(5_000) + &"]".repeat(5_000);
        let scratch = self.ground.scratch().display().to_string();
        let given = [
            ("fix", FIX),
            ("workflow", WORKFLOW),
            ("token", &token),
            ("deep", &deep),
            ("scratch", &scratch),
        ];
        let written = self
            .texts
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()));
        let plain = given
            .into_iter()
            .chain(written)
            .fold(text.to_owned(), |text, (name, meaning)| {
                text.replace(&format!("{{{name}}}"), meaning.trim_start_matches('\n'))
            });
        let with_fixes = fill_placeholder(&plain, "{fix ", |path| FIX.replace("src/lib.rs", path));
        fill_placeholder(&with_fixes, "{new ", new_file)
    }
}

/// Replaces the first placeholder that has this beginning and ends with a brace.
fn fill_placeholder(text: &str, beginning: &str, meaning: impl Fn(&str) -> String) -> String {
    match text
        .split_once(beginning)
        .and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        Some((before, (inner, after))) => format!("{before}{}{after}", meaning(inner)),
        None => text.to_owned(),
    }
}

/// Returns a diff that creates a file of one line, from `path|line|mode`; without a mode it is a plain file.
fn new_file(of: &str) -> String {
    let mut parts = of.split('|');
    let mut next = || parts.next().unwrap_or_default();
    let (path, line, mode) = (next(), next(), next());
    let mode = if mode.is_empty() { "100644" } else { mode };
    format!(
        "diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}\n"
    )
}

/// Checks that no hostile answer wrote a file outside the repository.
pub(super) fn nothing_escaped(ground: &Ground, checks: &mut GateChecks<'_>) -> Result<(), GateError> {
    let places = [
        ground.scratch().join("escaped.txt"),
        "/tmp/agentos-gate-escaped.txt".into(),
    ];
    checks.add_check("HOSTILE-outside", places.iter().all(|place| !place.exists()), "");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_of_a_gate_and_named() {
        let table: SceneTable = toml::from_str(CASES).unwrap();
        let gates = agentos_verdict::load_gates().unwrap();
        for scene in &table.scene {
            let gate = gates.iter().find(|gate| gate.name == scene.gate).unwrap();
            let checks = GateChecks {
                gate,
                made: Vec::new(),
            };
            for case in scene.cases.iter().flat_map(split_case) {
                let name = case.name.unwrap_or_else(|| checks.name(&case.id));
                assert_ne!(name, case.id, "`{}` has no name", case.id);
            }
        }
    }

    #[test]
    fn the_checks_of_the_tables_are_as_many_as_ever() {
        let table: SceneTable = toml::from_str(CASES).unwrap();
        let count = |gate: &str| {
            let scenes = table.scene.iter().filter(|scene| scene.gate == gate);
            scenes.flat_map(|scene| &scene.cases).flat_map(split_case).count()
        };
        let gates = [
            "tl_r1_negative_diffs",
            "tl_r1_power_boundary",
            "type_robustness",
            "policy_not_widened",
            "hostile_inputs",
        ];
        assert_eq!(gates.map(count), [9, 5, 25, 12, 25]);
    }

    #[test]
    fn placeholders_are_replaced() {
        assert_eq!(
            new_file("a|b|120000"),
            "diff --git a/a b/a\nnew file mode 120000\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+b\n"
        );
        assert_eq!(fill_placeholder("x{new a}y", "{new ", str::to_uppercase), "xAy");
        assert_eq!(
            fill_placeholder("{\"edits\":[1]}", "{new ", str::to_uppercase),
            "{\"edits\":[1]}"
        );
    }
}
