//! Files that earlier turns of a session read, when somebody else is about to be sent its messages.
//!
//! Owns: which of them policy keeps from the new reader. Never: shows a text.

use std::path::Path;

use agentos_context::IgnorePatterns;
use agentos_engine::base_files::walk_files;
use agentos_engine::ports::{EffectError, Repository as _};
use agentos_policy::{Effect, ToolFacts};

use super::base_reader::open_port;
use crate::host::Host;
use crate::options::SessionOptions;
use crate::proposals::ModelFacts;

/// Finds the first file, by its path, that one of `earlier` may read and one of `readers` may not, and that is named in the results of
/// tools. Returns it with the name of that reader. `None` if there is no such file.
///
/// # Errors
/// If the repository cannot be read.
pub(crate) fn find_unshared_file(
    host: &Host,
    folder: &Path,
    (earlier, readers): (&[ModelFacts], &[ModelFacts]),
    results: &[String],
) -> Result<Option<(String, String)>, EffectError> {
    let host = host.clone().with_repository(Some(folder.to_owned()));
    let port = open_port(&host, &SessionOptions::default())?;
    let target = port.target()?;
    let base = port.base(&target)?;
    let active = port.policy(&target)?;
    let facts = |models: &[ModelFacts]| -> Vec<ToolFacts> {
        let with_target = |model: &ModelFacts| ToolFacts {
            target_ref: Some(target.refname.clone()),
            ..model.tool_facts()
        };
        models.iter().map(with_target).collect()
    };
    let (earlier, readers) = (facts(earlier), facts(readers));
    let may_read = |path: &str, text: &[u8], reader: &ToolFacts| {
        active.set.decide_read(path, text, reader).effect() == Effect::Allow
    };
    // A rule about texts, such as for secrets, may name no file at all.
    for text in results {
        if let Some(reader) = readers
            .iter()
            .find(|reader| !may_read("result", text.as_bytes(), reader))
        {
            return Ok(Some(("a result of a tool".to_owned(), reader.provider.clone())));
        }
    }
    let mut found: Option<(String, String)> = None;
    walk_files(base.as_ref(), &IgnorePatterns::default(), |path, _| {
        let Some(reader) = readers.iter().find(|reader| !may_read(&path, b"", reader)) else {
            return;
        };
        // Nobody was shown a file that all were kept from; its name alone can be in a list.
        let was_read = earlier.iter().any(|model| may_read(&path, b"", model));
        let is_first = found.as_ref().is_none_or(|(first, _)| path < *first);
        if was_read && is_first && results.iter().any(|text| text.contains(path.as_str())) {
            found = Some((path, reader.provider.clone()));
        }
    })?;
    Ok(found)
}
