//! The user's own models: adding, removing and importing them.
//!
//! Owns: the changes of the file, and the reports about them. Never: takes an entry from a repository.

use std::path::{Path, PathBuf};

use agentos_api::NextStep;
use agentos_catalog::{EntryFault, ModelRegistry, SkippedEntry, TableForm, UserModel, read_table};
use agentos_chain::hash_bytes;
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_profile::nearest_word;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Providers;
use crate::known_tools::read_tools;
use crate::user_model_file::{InFile as _, LARGEST_FILE, find_file, read_models, save_models};
use agentos_ground::error::usage_error;
use agentos_ground::files;

/// The output of `agentos models add|remove --json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ChangedModel {
    /// Version of this shape: 1.
    pub version: u32,
    /// File of the user's models.
    pub file: String,
    /// Entry that was added or removed.
    pub model: UserModel,
    /// True if the entry took the place of another one.
    pub replaced: bool,
    /// True if there is a provider that reaches the model.
    pub has_provider: bool,
}

/// The output of `agentos models import --json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ImportReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// File of the user's models.
    pub file: String,
    /// Form of the imported table.
    pub form: TableForm,
    /// Name and SHA-256 of the imported file, which its entries state as their source.
    pub source: String,
    /// Ids of the entries that were taken.
    pub taken: Vec<String>,
    /// Entries with a mistake, which were not taken.
    pub skipped: Vec<SkippedEntry>,
    /// Number of entries for other uses than conversations, such as embeddings.
    pub other_kinds: usize,
}

impl Providers<'_> {
    /// Returns the path of the file of the user's models, which may not exist yet.
    ///
    /// # Errors
    /// If there is no home folder.
    pub fn models_path(self) -> Result<PathBuf, EffectError> {
        find_file(self.ground.environment()).ok_or_else(|| {
            EffectError::new(Cause::Usage, "no-home", "there is no home folder for settings")
                .hint("set `HOME`")
        })
    }

    /// Adds a model to the user's own, in place of one with the same id.
    ///
    /// # Errors
    /// If the entry cannot be used, or the file cannot be read or written.
    pub fn add_model(self, model: UserModel) -> Result<ChangedModel, EffectError> {
        let (path, mut registry) = self.open_models()?;
        let replaced = registry
            .register(model.clone())
            .map_err(|fault| bad_entry(&model.id, &fault))?;
        save_models(&path, &registry)?;
        self.report_change(&path, model, replaced.is_some())
    }

    /// Removes a model from the user's own.
    ///
    /// # Errors
    /// If there is none with this id, or the file cannot be read or written.
    pub fn remove_model(self, id: &str) -> Result<ChangedModel, EffectError> {
        let (path, mut registry) = self.open_models()?;
        let Some(model) = registry.unregister(id) else {
            let own: Vec<&str> = registry.iter_models().map(|model| model.id.as_str()).collect();
            let message = format!("`{id}` is not a model that you added");
            let error = EffectError::new(Cause::Usage, "model-not-added", message);
            return Err(match nearest_word(id, own.into_iter()) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.suggest_steps([NextStep::ListModels]),
            });
        };
        save_models(&path, &registry)?;
        self.report_change(&path, model, false)
    }

    /// Adds the models of a table: a file of this program, of models.dev or of LiteLLM. Entries with a mistake are skipped.
    ///
    /// # Errors
    /// If the table cannot be read or has none of these forms, or the file of the user's models cannot be read or written.
    pub fn import_models(self, table: &Path, provider: Option<&str>) -> Result<ImportReport, EffectError> {
        let environment = self.ground.environment();
        let text = files::read_text_file(environment, table, LARGEST_FILE)?;
        let shown = environment.shorten_path(&environment.cwd.join(table));
        let name = table.file_name().unwrap_or(table.as_os_str()).to_string_lossy();
        let source = format!("{name} {}", hash_bytes(text.as_bytes()));
        let read = read_table(&text, &source).map_err(|error| {
            EffectError::from_error(Cause::Usage, "bad-models", &error).in_message(&shown)
        })?;
        let (path, mut registry) = self.open_models()?;
        let mut skipped = read.skipped;
        let mut taken = Vec::new();
        let is_wanted = |model: &UserModel| provider.is_none_or(|provider| model.served_by() == provider);
        for model in read.models.into_iter().filter(is_wanted) {
            let id = model.id.clone();
            match registry.register(model) {
                Ok(_) => taken.push(id),
                Err(fault) => skipped.push(SkippedEntry {
                    entry: id,
                    reason: fault.to_string(),
                }),
            }
        }
        // A file that was not there before is not made for nothing.
        if !taken.is_empty() {
            save_models(&path, &registry)?;
        }
        taken.sort();
        taken.dedup();
        Ok(ImportReport {
            version: 1,
            file: environment.shorten_below_home(&path),
            form: read.form,
            source,
            taken,
            skipped,
            other_kinds: read.other_kinds,
        })
    }

    /// Returns the ids of the models that the user added.
    ///
    /// # Errors
    /// If the file of the user's models contains a mistake, or other users can write to it.
    pub fn own_model_ids(self) -> Result<Vec<String>, EffectError> {
        let registry = read_models(self.ground.environment())?;
        Ok(registry.iter_models().map(|model| model.id.clone()).collect())
    }

    fn open_models(self) -> Result<(PathBuf, ModelRegistry), EffectError> {
        Ok((self.models_path()?, read_models(self.ground.environment())?))
    }

    fn report_change(
        self,
        path: &Path,
        model: UserModel,
        replaced: bool,
    ) -> Result<ChangedModel, EffectError> {
        Ok(ChangedModel {
            version: 1,
            file: self.ground.environment().shorten_below_home(path),
            has_provider: read_tools(self.ground)?.has_profile(model.served_by()),
            model,
            replaced,
        })
    }
}

fn bad_entry(id: &str, fault: &EntryFault) -> EffectError {
    usage_error(format!("model `{id}`: {fault}"))
}
