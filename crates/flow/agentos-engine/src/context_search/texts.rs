//! The files of the base and their words, for the ranking: from the index, or read from the base.
//!
//! Owns: which files are ranked, which of them by their texts, and the size of what is shown. Never: depends on the task for that, so that an index serves
//! every task; opens a file that policy withholds by its name.

use agentos_context::{FileId, FileText, IndexAnswer, PickedFile, TextSource};
use agentos_landing::BaseError;
use agentos_policy::Effect;

use super::ContextSearch;
use crate::base_files::{read_ignore, walk_files};
use crate::context::unreadable_base;
use crate::named_files::LARGEST_FILE;
use crate::ports::{ContextIndex, EffectError};

/// Most bytes of text that are ranked. Files beyond it are ranked by their paths and their history. A limit of size and not of
/// time, so that a busy machine chooses the same files.
const MOST_BYTES: u64 = 2 << 30;
/// Number of files from which an index is used: fewer are read in some milliseconds.
const FEW_FILES: usize = 500;

impl ContextSearch<'_> {
    /// Ranks every file of the base by its path, except those that are left out.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub(super) fn list_files(&mut self, tree: &str) -> Result<(), EffectError> {
        let saved = self.index.as_ref().and_then(|index| index.load_files(tree));
        let files = match saved {
            Some(files) => files,
            None => {
                let mut files = Vec::new();
                walk_files(self.base, &read_ignore(self.base)?, |path, object| {
                    files.push((path, object))
                })?;
                files.sort_unstable();
                match &self.index {
                    Some(index) if files.len() > FEW_FILES => index.save_files(tree, &files),
                    Some(_) | None => self.index = None,
                }
                files
            }
        };
        for (path, object) in files {
            self.add_file(path, object);
        }
        self.listed = self.files.len();
        Ok(())
    }

    /// Counts the words of the texts for the ranking.
    ///
    /// # Errors
    /// If a text cannot be read.
    pub(super) fn count_texts(&mut self, tree: &str) -> Result<(), EffectError> {
        let order = self.ranker.stable_order();
        // Named files that the search leaves out are no part of the list that the index knows.
        let (listed, others): (Vec<FileId>, Vec<FileId>) =
            order.into_iter().partition(|id| id.position() < self.listed);
        let mut left = MOST_BYTES;
        self.read_texts(&others, &mut left)?;
        if let Some(mut index) = self.index.take()
            && let Some(counted) = self.ask_index(index.as_mut(), tree, &listed)?
        {
            self.add_counted(&counted, left);
            self.read += self.listed;
            return Ok(());
        }
        self.read_texts(&listed, &mut left)
    }

    /// Reads the texts of so many files, the best by path first.
    ///
    /// # Errors
    /// If a text cannot be read.
    pub(super) fn read_first(&mut self, most: usize) -> Result<(), EffectError> {
        let mut order = self.ranker.reading_order();
        order.truncate(most);
        self.read_texts(&order, &mut { MOST_BYTES })
    }

    /// Asks the index for the words of the files that policy does not withhold by their names. `None` if it cannot answer.
    fn ask_index(
        &self,
        index: &mut dyn ContextIndex,
        tree: &str,
        listed: &[FileId],
    ) -> Result<Option<CountedFiles>, EffectError> {
        let scope = self.policy.read_scope(self.facts);
        let saved = index.load_withheld(tree, &scope);
        let withheld = saved
            .filter(|withheld| withheld.len() == self.listed)
            .unwrap_or_else(|| {
                let paths = self.files.iter().take(self.listed);
                let withheld: Vec<bool> = paths.map(|(path, _)| !self.may_open(path)).collect();
                index.save_withheld(tree, &scope, &withheld);
                withheld
            });
        let is_open = |id: &&FileId| withheld.get(id.position()) == Some(&false);
        let files: Vec<FileId> = listed.iter().filter(is_open).copied().collect();
        let objects = files.iter().filter_map(|id| self.files.get(id.position()));
        let objects: Vec<&str> = objects.map(|(_, object)| object.as_str()).collect();
        let mut failed = None;
        let answer = index.count_words(&objects, &self.ranker.word_keys(), &mut |at| {
            let source = self.read_source(objects.get(at)?);
            source.map_err(|error| failed = Some(error)).ok()
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(answer.map(|answer| CountedFiles { files, answer })),
        }
    }

    /// Passes the answer of the index to the ranking: for the files whose texts would have been read without an index.
    fn add_counted(&mut self, counted: &CountedFiles, mut left: u64) {
        let mut is_read = vec![false; counted.files.len()];
        let texts = counted.files.iter().zip(&counted.answer.texts);
        for ((file, text), is_read) in texts.zip(&mut is_read) {
            if left == 0 {
                break;
            }
            left = left.saturating_sub(text.bytes);
            if let Some(length) = text.length {
                self.ranker.set_length(*file, length);
                *is_read = true;
            }
        }
        for (word, uses) in counted.answer.uses.iter().enumerate() {
            for found in uses {
                if is_read.get(found.object) == Some(&true)
                    && let Some(file) = counted.files.get(found.object)
                {
                    self.ranker.add_count(*file, word, found.count);
                }
            }
        }
    }

    /// Reads texts of at most so many bytes.
    fn read_texts(&mut self, files: &[FileId], left: &mut u64) -> Result<(), EffectError> {
        for file in files {
            if *left == 0 {
                break;
            }
            let Some((path, object)) = self.files.get(file.position()) else {
                continue;
            };
            self.read += 1;
            // A file that must not be shown is not even opened.
            if !self.may_open(path) {
                continue;
            }
            match self.read_source(object)? {
                TextSource::Unknown => {}
                TextSource::TooLarge(bytes) => *left = left.saturating_sub(bytes),
                TextSource::Bytes(bytes) => {
                    *left = left.saturating_sub(bytes.len() as u64);
                    if std::str::from_utf8(&bytes).is_ok() {
                        self.ranker.add_text(*file, &bytes);
                    }
                }
            }
        }
        Ok(())
    }

    fn may_open(&self, path: &str) -> bool {
        self.policy.decide_read(path, b"", self.facts).effect() == Effect::Allow
    }

    fn read_source(&self, object: &str) -> Result<TextSource, EffectError> {
        // A large file is not read only to be left out.
        if let Some(bytes) = self
            .base
            .size(object)
            .filter(|bytes| *bytes > LARGEST_FILE as u64)
        {
            return Ok(TextSource::TooLarge(bytes));
        }
        match self.base.read(object) {
            Ok(bytes) if bytes.len() > LARGEST_FILE => Ok(TextSource::TooLarge(bytes.len() as u64)),
            Ok(bytes) => Ok(TextSource::Bytes(bytes)),
            // The search reads many files that the task is not about. In a partial clone those are not worth a fetch.
            Err(BaseError::NotFetched { .. }) => Ok(TextSource::Unknown),
            Err(error @ BaseError::Unreadable(_)) => Err(unreadable_base(&error)),
        }
    }
}

/// Counts the bytes of the lines of a text that are shown.
pub(super) fn count_shown(file: &PickedFile, source: &FileText) -> u64 {
    if file.ranges.is_empty() {
        return source.text.len() as u64;
    }
    let shown = file
        .ranges
        .iter()
        .map(|range| source.shape.slice_lines(&source.text, range.first, range.last));
    shown.map(|lines| lines.len() as u64).sum()
}

/// Files and the words of the task in their texts.
struct CountedFiles {
    /// Files that may be opened, in the order of reading.
    files: Vec<FileId>,
    /// Answer about these files.
    answer: IndexAnswer,
}
