//! Files that a user names: paths, lines of them, folders, patterns and names of definitions, found in the base.
//!
//! Owns: what each of them means, and the error if it means nothing. Never: chooses what is shown of a file, or opens a file
//! that policy withholds from the tool.
//!
//! A path that the base has as it is typed always means that file, also if it looks like a pattern or ends like lines.

use std::collections::BTreeSet;

use agentos_context::{LineRange, PathPattern, SymbolName, list_definitions, nearest_names};
use agentos_landing::{Base, BaseError, EntryKind};
use agentos_policy::{Effect, PolicySet, ToolFacts};
use agentos_tool::Adapter;

use crate::Cause;
use crate::base_files::{read_ignore, walk_files};
use crate::context::{RequestedFile, text_of, unreadable_base};
use crate::ports::{Clock, EffectError, Repository};
use crate::tool_facts::reading_facts;

/// Largest file that is ranked by its text. A larger one is data, or too large for a model.
pub(crate) const LARGEST_FILE: usize = 1 << 20;

/// Maximum number of definitions of one name that are shown. A name that is defined more often says too little.
const MOST_DEFINITIONS: usize = 20;
/// Most bytes that are read to find names that are similar to one that nothing has.
const MOST_NEAR_BYTES: usize = 64 << 20;

/// Files as a user names them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedRequest {
    /// Paths, folders and patterns.
    pub paths: Vec<NamedPath>,
    /// Names of definitions.
    pub symbols: Vec<String>,
}

/// Path, folder or pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPath {
    /// The text as the user typed it, for messages.
    pub typed: String,
    /// Path from the top of the repository. Empty for the top itself.
    pub path: String,
}

/// Files that a request means.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedFiles {
    /// Files that are named one by one, or that have a named definition.
    pub files: Vec<RequestedFile>,
    /// Files of folders and patterns.
    pub matched: Vec<MatchedFiles>,
    /// Definitions that are left out because their name has too many.
    pub omitted: Vec<OmittedDefinitions>,
}

/// Files of one folder or pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedFiles {
    /// The folder or pattern as the user typed it.
    pub typed: String,
    /// Paths in their order.
    pub paths: Vec<String>,
}

/// Name with more definitions than are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OmittedDefinitions {
    /// The name.
    pub symbol: String,
    /// Number of its definitions.
    pub found: usize,
    /// Number of those that are requested.
    pub kept: usize,
}

impl NamedRequest {
    /// Returns true if nothing is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.symbols.is_empty()
    }
}

impl NamedFiles {
    /// Returns the paths of all folders and patterns, each once, without the files that are named one by one.
    #[must_use]
    pub fn matched_paths(&self) -> Vec<String> {
        let all: BTreeSet<&String> = self.matched.iter().flat_map(|matched| &matched.paths).collect();
        let is_named = |path: &&String| self.files.iter().any(|file| file.path == **path);
        all.into_iter().filter(|path| !is_named(path)).cloned().collect()
    }

    /// Adds lines of a file, or the whole file if there are none. Named twice, once whole shows it whole, and two ranges are
    /// both shown.
    fn add_file(&mut self, path: String, lines: &[(u64, u64)]) {
        match self.files.iter_mut().find(|file| file.path == path) {
            Some(known) if lines.is_empty() || known.lines.is_empty() => known.lines.clear(),
            Some(known) => {
                known.lines.extend(lines);
                known.lines.sort_unstable();
            }
            None => self.files.push(RequestedFile {
                path,
                lines: lines.to_vec(),
            }),
        }
    }
}

/// Finds the files that a request means.
///
/// # Errors
/// If a file, a line or a definition is not in the base, a pattern matches nothing, or the base cannot be read.
pub fn find_named(
    repo: &dyn Repository,
    clock: &dyn Clock,
    adapter: &dyn Adapter,
    model: Option<&str>,
    request: &NamedRequest,
) -> Result<NamedFiles, EffectError> {
    if request.is_empty() {
        return Ok(NamedFiles::default());
    }
    let target = repo.target()?;
    let base = repo.base(&target)?;
    let policy = repo.policy(&target)?;
    let finder = NamedFinder {
        base: base.as_ref(),
        policy: &policy.set,
        facts: ToolFacts {
            target_ref: Some(target.refname.clone()),
            ..reading_facts(adapter, model, &policy.set, clock.now())
        },
    };
    let mut found = NamedFiles::default();
    for named in &request.paths {
        finder.find_path(named, &mut found)?;
    }
    for symbol in &request.symbols {
        finder.find_symbol(symbol, &mut found)?;
    }
    Ok(found)
}

/// Splits `src/a.rs:10-80` into the path and the lines. `None` if the text has no lines.
fn split_lines(typed: &str) -> Option<(&str, u64, u64)> {
    let (path, lines) = typed.rsplit_once(':')?;
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    Some((path, first.parse().ok()?, last.parse().ok()?))
}

/// Makes the error of a file that is not there.
fn no_file(message: String) -> EffectError {
    EffectError::new(Cause::Usage, "no-such-file", message)
}

/// Base in which the files are found.
struct NamedFinder<'a> {
    base: &'a dyn Base,
    policy: &'a PolicySet,
    facts: ToolFacts,
}

impl NamedFinder<'_> {
    fn find_path(&self, named: &NamedPath, found: &mut NamedFiles) -> Result<(), EffectError> {
        let kind = match named.path.as_str() {
            "" => Some(EntryKind::Directory),
            path => self.kind_of(path)?,
        };
        match kind {
            Some(EntryKind::Directory) => {
                let pattern = PathPattern::below_folder(&named.path);
                return self.find_matches(named, &pattern, found);
            }
            // Reading it for the task reports a link, and bytes that are no text.
            Some(EntryKind::File(_) | EntryKind::Symlink | EntryKind::Gitlink) => {
                found.add_file(named.path.clone(), &[]);
                return Ok(());
            }
            None => {}
        }
        if let Some((path, first, last)) = split_lines(&named.path)
            && matches!(self.kind_of(path)?, Some(EntryKind::File(_)))
        {
            self.check_lines(&named.typed, path, first, last)?;
            found.add_file(path.to_owned(), &[(first, last)]);
            return Ok(());
        }
        if PathPattern::is_pattern(&named.path) {
            return self.find_matches(named, &PathPattern::parse(&named.path), found);
        }
        Err(self.missing_file(named)?)
    }

    /// Returns the kind of an entry of the base. `None` if it has none of that path.
    fn kind_of(&self, path: &str) -> Result<Option<EntryKind>, EffectError> {
        let entry = self.base.entry(path).map_err(|error| unreadable_base(&error))?;
        Ok(entry.map(|entry| entry.kind))
    }

    /// Checks that a file has the lines that are named. The last one may be beyond its end: that means the rest of the file.
    fn check_lines(&self, typed: &str, path: &str, first: u64, last: u64) -> Result<(), EffectError> {
        if first == 0 || first > last {
            let message = format!("`{typed}` names no lines");
            return Err(EffectError::new(Cause::Usage, "no-such-lines", message)
                .hint("lines are counted from 1, and the first one comes first, as in `PATH:10-80`"));
        }
        if !self.may_read(path, b"") {
            // Policy withholds the file: how long it is must not be found out here.
            return Ok(());
        }
        let (_, text) = text_of(path, self.base)?;
        let lines = text.lines().count() as u64;
        if first <= lines {
            return Ok(());
        }
        let message = format!("`{path}` has {lines} lines, so `{typed}` shows none of it");
        Err(EffectError::new(Cause::Usage, "no-such-lines", message)
            .hint("name lines that the last commit has, or the whole file"))
    }

    fn find_matches(
        &self,
        named: &NamedPath,
        pattern: &PathPattern,
        found: &mut NamedFiles,
    ) -> Result<(), EffectError> {
        let mut paths = Vec::new();
        self.walk(|path, _| {
            if pattern.matches_path(&path) {
                paths.push(path);
            }
        })?;
        paths.sort_unstable();
        if paths.is_empty() {
            return Err(no_file(format!("`{}` matches no committed file", named.typed))
                .hint("`*` and `?` match inside a name, and `**` any folders; files of `.agentosignore` are left out"));
        }
        found.matched.push(MatchedFiles {
            typed: named.typed.clone(),
            paths,
        });
        Ok(())
    }

    /// Visits the files of the base that a search may show.
    fn walk(&self, visit: impl FnMut(String, String)) -> Result<(), EffectError> {
        walk_files(self.base, &read_ignore(self.base)?, visit)
    }

    fn may_read(&self, path: &str, text: &[u8]) -> bool {
        self.policy.decide_read(path, text, &self.facts).effect() == Effect::Allow
    }

    /// Makes the error of a path that the base does not have, with files of the same name.
    fn missing_file(&self, named: &NamedPath) -> Result<EffectError, EffectError> {
        let path = split_lines(&named.path).map_or(named.path.as_str(), |(path, _, _)| path);
        let name = path.rsplit('/').next().unwrap_or(path);
        let (mut same, mut names) = (Vec::new(), BTreeSet::new());
        self.walk(|path, _| {
            let known = path.rsplit('/').next().unwrap_or(&path);
            if known == name {
                same.push(path);
            } else {
                names.insert(path);
            }
        })?;
        same.sort_unstable();
        same.truncate(3);
        let near = match same.is_empty() {
            true => nearest_names(path, names.iter().map(String::as_str)),
            false => same.iter().map(String::as_str).collect(),
        };
        let message = format!(
            "`{}` is not in the commit that the change would be made on",
            named.typed
        );
        Ok(no_file(message).hint(match near.is_empty() {
            true => "name a committed file; paths are relative to the folder you are in".to_owned(),
            false => format!("did you mean {}?", list_names(&near)),
        }))
    }

    /// Reads the text of a file that the tool may see. `None` if it may not, or the file is no text or too large.
    fn read_text(&self, path: &str, object: &str) -> Result<Option<String>, EffectError> {
        if !self.may_read(path, b"") {
            return Ok(None);
        }
        let bytes = match self.base.read(object) {
            Ok(bytes) => bytes,
            // In a partial clone, the other files are not worth a fetch.
            Err(BaseError::NotFetched { .. }) => return Ok(None),
            Err(error @ BaseError::Unreadable(_)) => return Err(unreadable_base(&error)),
        };
        let is_text = bytes.len() <= LARGEST_FILE && !bytes.contains(&0);
        Ok(is_text.then(|| String::from_utf8(bytes.to_vec()).ok()).flatten())
    }

    fn find_symbol(&self, typed: &str, found: &mut NamedFiles) -> Result<(), EffectError> {
        let Some(symbol) = SymbolName::parse(typed) else {
            let message = format!("`{typed}` is not the name of a definition");
            return Err(EffectError::new(Cause::Usage, "no-such-symbol", message)
                .hint("name one function, type or constant, such as `open` or `Shop::open`"));
        };
        let mut files = Vec::new();
        self.walk(|path, object| files.push((path, object)))?;
        files.sort_unstable();
        let mut definitions: Vec<(String, LineRange)> = Vec::new();
        for (path, object) in &files {
            let text = self.read_text(path, object)?;
            // Most files do not even contain the name, and need not be cut.
            let Some(text) = text.filter(|text| text.contains(symbol.last_part())) else {
                continue;
            };
            let ranges = symbol.find_in(path, &text);
            definitions.extend(ranges.into_iter().map(|range| (path.clone(), range)));
        }
        if definitions.is_empty() {
            return Err(self.missing_symbol(typed, &symbol, &files)?);
        }
        if definitions.len() > MOST_DEFINITIONS {
            found.omitted.push(OmittedDefinitions {
                symbol: typed.to_owned(),
                found: definitions.len(),
                kept: MOST_DEFINITIONS,
            });
        }
        for (path, range) in definitions.into_iter().take(MOST_DEFINITIONS) {
            found.add_file(path, &[(range.first as u64, range.last as u64)]);
        }
        Ok(())
    }

    /// Makes the error of a name that nothing has, with similar names.
    fn missing_symbol(
        &self,
        typed: &str,
        symbol: &SymbolName,
        files: &[(String, String)],
    ) -> Result<EffectError, EffectError> {
        let mut names = BTreeSet::new();
        let mut left = MOST_NEAR_BYTES;
        for (path, object) in files {
            let Some(text) = self.read_text(path, object)? else {
                continue;
            };
            left = left.saturating_sub(text.len());
            names.extend(list_definitions(path, &text).into_iter().map(|known| known.name));
            if left == 0 {
                break;
            }
        }
        let near = nearest_names(symbol.last_part(), names.iter().map(String::as_str));
        let message = format!("no file of the base defines `{typed}`");
        Ok(
            EffectError::new(Cause::Usage, "no-such-symbol", message).hint(match near.is_empty() {
                true => "name a function, type or constant as its definition spells it".to_owned(),
                false => format!("did you mean {}?", list_names(&near)),
            }),
        )
    }
}

fn list_names(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(" or ")
}

#[cfg(test)]
mod tests;
