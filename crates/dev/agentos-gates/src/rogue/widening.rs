//! Repositories that name files of the user's: each source of such names, for a check, a hook, a tool and a toolbox.
//!
//! Owns: making the repositories of `scripts/rogue/widening.toml`, and judging what their programs read. Never: lands a change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;

use super::basics::write_file;
use super::ground::{self, Ground, make_folders, make_link, set_mode};
use super::runs::{AttemptVerdict, FIRST_FOLDERS, LANDING, ProductRunner, TOOL};
use super::suite::{self, AttemptRow};
use super::table;
use crate::child::FinishedCall;
use crate::error::GateError;
use crate::witness;

/// Name of the user's profile of the toolbox that looks.
const TOOLBOX: &str = "rogue-look";
/// Folder of the private project, in the user's home.
const PROJECT: &str = "work/private";
/// Folder of the user's credentials of a cloud, in the home.
const CACHE: &str = ".aws/sso/cache";
/// Last line of a program that looked.
const LOOKED: &[u8] = b"looked-around";

/// A source of names, as in the table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NameSource {
    id: String,
    what: String,
    #[serde(default)]
    words: String,
    #[serde(default = "all_verbs")]
    verbs: Vec<Verb>,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    links: BTreeMap<String, String>,
    #[serde(default)]
    git_files: BTreeMap<String, String>,
    #[serde(default)]
    git_links: BTreeMap<String, String>,
    #[serde(default)]
    git: Vec<Vec<String>>,
    #[serde(default)]
    path: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    started: Option<String>,
    #[serde(default)]
    named: Vec<String>,
    #[serde(default)]
    held_back: Vec<Verb>,
    needs: Option<String>,
}

/// A program that looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Verb {
    /// `run --check`.
    Check,
    /// `run --run-hooks`.
    Hook,
    /// A tool, started by the name of the system's Python.
    Tool,
    /// A toolbox of the user's.
    Toolbox,
    /// A tool, started by a name that the repository chose.
    Started,
}

fn all_verbs() -> Vec<Verb> {
    vec![Verb::Check, Verb::Hook, Verb::Tool, Verb::Toolbox]
}

impl Verb {
    /// Returns the last part of the name of an attempt.
    fn name(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Hook => "hook",
            Self::Tool => "tool",
            Self::Toolbox => "toolbox",
            Self::Started => "started",
        }
    }
}

impl NameSource {
    /// Lists the programs that are tried.
    fn tried_verbs(&self) -> Vec<Verb> {
        let started = self.started.is_some().then_some(Verb::Started);
        self.verbs.iter().copied().chain(started).collect()
    }

    fn attempt_name(&self, verb: Verb) -> String {
        format!("widening-{}-{}", self.id, verb.name())
    }
}

/// Writes the user's private project, credentials and profile of the toolbox. Called before anything outside is measured.
pub(super) fn lay_out(ground: &Ground, python: &Path, profiles: &Path) -> Result<(), GateError> {
    let (home, secret) = (ground.home(), format!("{}\n", ground.marker));
    let project = home.join(PROJECT);
    // Starts what looks, with whatever words before it a first line or a link brings. The loop ends with these words, and the program
    // of the last line is not this one.
    let program = format!(
        "#!/bin/sh\n# {secret}for word; do [ \"$word\" != {0} ] || break; shift; done\n[ $# -gt 0 ] || set -- {0} look.py\nexec \"$@\"\n",
        python.display()
    );
    let hook = format!("#!/bin/sh\n# {secret}exec {} look.py\n", python.display());
    // The project looks like an environment and an installation of Python, and has packages, all of which are shown if the user
    // starts a program of it.
    for (path, text, mode) in [
        ("bin/deploy", &program, 0o755),
        ("bin/python", &program, 0o755),
        ("bin/pre-commit", &hook, 0o755),
        ("bin/commit-msg", &hook, 0o755),
        ("lib/python3/os.py", &secret, 0o644),
        ("node_modules/own/index.js", &program, 0o755),
        ("node_modules/.bin/own", &program, 0o755),
        ("notes.txt", &secret, 0o644),
        ("pyvenv.cfg", &secret, 0o644),
    ] {
        write_below(&project, path, text)?;
        set_mode(&project.join(path), mode)?;
    }
    witness::run_git(&project, &["init", "--quiet", "--initial-branch=main"], None)?;
    witness::run_git(&project, &["add", "-A", "-f"], None)?;
    witness::run_git(&project, &["commit", "--quiet", "-m", "private"], None)?;
    write_below(&home.join(CACHE), "token.json", &secret)?;
    let folder = ground.top_folder().join("widening");
    make_folders(&folder)?;
    suite::copy_looking(&folder)?;
    let places = Placeholders::find(ground, python, Path::new(""))?;
    write_file(&folder.join("look.json"), &places.configure_looking(&[], &[]))?;
    let profile = json!({
        "provider": TOOLBOX, "name": TOOLBOX, "adapter": "toolbox", "timeout_seconds": 60,
        "program": {"command": python, "args": [folder.join("look.py"), "--toolbox", folder.join("look.json")]},
    });
    write_file(&profiles.join(format!("{TOOLBOX}.json")), &profile.to_string())
}

/// Meaning of the names in braces of the table.
struct Placeholders {
    values: Vec<(&'static str, String)>,
    secrets: Vec<String>,
    object: String,
}

impl Placeholders {
    fn find(ground: &Ground, python: &Path, repository: &Path) -> Result<Self, GateError> {
        let (home, project) = (ground.home(), ground.home().join(PROJECT));
        let text = |path: PathBuf| path.display().to_string();
        let object = witness::run_git(&project, &["rev-parse", "HEAD:notes.txt"], None)?;
        let commit = witness::run_git(&project, &["rev-parse", "HEAD"], None)?;
        let (key, cache) = (text(home.join(".ssh/id_rogue")), text(home.join(CACHE)));
        let secrets = vec![
            key.clone(),
            text(home.join(CACHE).join("token.json")),
            text(project.join("notes.txt")),
        ];
        let values = vec![
            ("{cache}", cache),
            ("{commit}", commit.trim().to_owned()),
            ("{home}", text(home)),
            ("{key}", key),
            ("{program}", text(project.join("bin/deploy"))),
            ("{project}", text(project)),
            ("{python}", text(python.to_owned())),
            ("{repo}", text(repository.to_owned())),
        ];
        Ok(Self {
            values,
            secrets,
            object: object.trim().to_owned(),
        })
    }

    fn fill(&self, text: &str) -> String {
        let all = self.values.iter();
        all.fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    /// Returns the configuration of `look.py`.
    fn configure_looking(&self, named: &[String], variables: &[&String]) -> String {
        let named: Vec<String> = named.iter().map(|name| self.fill(name)).collect();
        json!({
            "hint": "kept-apart", "secrets": self.secrets, "objects": [self.object], "names": named, "variables": variables,
        })
        .to_string()
    }
}

impl ProductRunner<'_> {
    /// Tries every source with every program.
    pub(super) fn widening_runs(&self) -> Result<Vec<AttemptVerdict>, GateError> {
        let mut all = Vec::new();
        for source in table::name_sources()? {
            let repository = self.make_widening(&source)?;
            for verb in source.tried_verbs() {
                all.push(self.try_source(&source, verb, &repository)?);
            }
        }
        Ok(all)
    }

    /// Makes the repository of a source.
    fn make_widening(&self, source: &NameSource) -> Result<PathBuf, GateError> {
        let ground = self.ground;
        let repository = ground.top_folder().join("widening").join(&source.id);
        let places = Placeholders::find(ground, self.python, &repository)?;
        let git = repository.join(".git");
        make_folders(&repository)?;
        suite::copy_looking(&repository)?;
        let variables: Vec<&String> = source.env.keys().collect();
        let config = places.configure_looking(&source.named, &variables);
        write_file(&repository.join("look.json"), &config)?;
        write_all(&repository, &source.files, &source.links, &places)?;
        witness::run_git(
            &repository,
            &["init", "--quiet", "--template=", "--initial-branch=main"],
            None,
        )?;
        witness::run_git(&repository, &["add", "-A", "-f"], None)?;
        witness::run_git(&repository, &["commit", "--quiet", "-m", "names"], None)?;
        write_all(&git, &source.git_files, &source.git_links, &places)?;
        for command in &source.git {
            let words: Vec<String> = command.iter().map(|word| places.fill(word)).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            witness::run_git(&repository, &words, None)?;
        }
        let hook = git.join("hooks/pre-commit");
        if git.join("hooks").symlink_metadata().is_err() {
            let text = format!("#!/bin/sh\nexec {} look.py\n", self.python.display());
            write_below(&git, "hooks/pre-commit", &text)?;
        }
        if hook.symlink_metadata().is_ok_and(|about| about.is_file()) && !git.join("hooks").is_symlink() {
            set_mode(&hook, 0o755)?;
        }
        ground::open_below(&repository, ground.owner_id()?)?;
        Ok(repository)
    }

    /// Runs one program in the repository of a source, and judges what it read.
    fn try_source(
        &self,
        source: &NameSource,
        verb: Verb,
        repository: &Path,
    ) -> Result<AttemptVerdict, GateError> {
        let kept = repository.join(".git/agentos");
        ground::remove_below(&kept);
        let python = self.python.display().to_string();
        let check = format!("{python} look.py {}", source.words);
        let harmless = ["--", "sh", "-c", "echo x >honest"];
        let looks = ["--", python.as_str(), "look.py", "--answer"];
        let started = source.started.as_deref().unwrap_or_default();
        let args = match verb {
            Verb::Check => [&LANDING[..], &["--attempts", "1", "--check", &check], &harmless].concat(),
            Verb::Hook => [&LANDING[..], &["--run-hooks"], &harmless].concat(),
            Verb::Tool => [&TOOL[..], &looks].concat(),
            Verb::Started => [&TOOL[..], &["--", started], &looks[1..]].concat(),
            Verb::Toolbox => vec!["tool", "trust", TOOLBOX, "--json"],
        };
        let mut command = self.command_in(repository, None, &args);
        let folders = source
            .path
            .iter()
            .map(|folder| repository.join(folder).display().to_string());
        command.env(FIRST_FOLDERS, folders.collect::<Vec<_>>().join(":"));
        let here = repository.display().to_string();
        command.envs(
            source
                .env
                .iter()
                .map(|(name, value)| (name, value.replace("{repo}", &here))),
        );
        let ended = FinishedCall::run(&mut command, "", None)?;
        let printed = [ended.stdout.as_bytes(), ended.stderr.as_bytes()].concat();
        let holds = |text: &[u8]| -> Result<bool, GateError> {
            let is_printed = printed.windows(text.len()).any(|window| window == text);
            Ok(is_printed || !witness::files_containing(&kept, text)?.is_empty())
        };
        let (has_read, has_looked) = (holds(self.ground.marker.as_bytes())?, holds(LOOKED)?);
        // A program that did not look proves nothing, unless the product refused to start it.
        let is_idle = !has_looked && !source.held_back.contains(&verb);
        let said = match (has_read, is_idle) {
            (true, _) => "a file of the user's was read".to_owned(),
            (false, true) => format!(
                "the program did not look: {} {}",
                ended.summarize_end(),
                ended.stderr
            ),
            (false, false) => format!("looked: {has_looked}, {}", ended.summarize_end()),
        };
        let row = AttemptRow {
            attempt: source.attempt_name(verb),
            kind: "widening".to_owned(),
            what: source.what.clone(),
            needs: source.needs.clone(),
            judged: "outside".to_owned(),
            scene: "widening".to_owned(),
        };
        Ok(AttemptVerdict {
            row,
            succeeded: has_read || is_idle,
            said,
        })
    }
}

/// Writes the files and links of a source below a folder.
fn write_all(
    folder: &Path,
    files: &BTreeMap<String, String>,
    links: &BTreeMap<String, String>,
    places: &Placeholders,
) -> Result<(), GateError> {
    for (path, text) in files {
        write_below(folder, path, &places.fill(text))?;
        if path.contains("bin/") {
            set_mode(&folder.join(path), 0o755)?;
        }
    }
    for (path, to) in links {
        let place = folder.join(path);
        make_folders(place.parent().unwrap_or(folder))?;
        make_link(Path::new(&places.fill(to)), &place)?;
    }
    Ok(())
}

/// Writes a file and the folders above it.
fn write_below(folder: &Path, path: &str, text: &str) -> Result<(), GateError> {
    let place = folder.join(path);
    make_folders(place.parent().unwrap_or(folder))?;
    write_file(&place, text)
}
