//! The port of the index of texts.
//!
//! Owns: what the search for context asks of an index. Never: implements it.

use agentos_context::{IndexAnswer, TextSource, WordKey};

/// Index of a repository's texts, kept between runs.
///
/// It saves time and decides nothing: with it and without it a search finds the same files. What it returns is not trusted.
/// The search takes ids and contents of the files that it shows from the base, and asks policy about them.
pub trait ContextIndex {
    /// Loads paths and object ids of the files of a tree, as they were saved. `None` if they were not.
    fn load_files(&self, tree: &str) -> Option<Vec<(String, String)>>;

    /// Saves paths and object ids of the files of a tree, sorted by path.
    fn save_files(&self, tree: &str, files: &[(String, String)]);

    /// Loads which files of a tree policy withholds by their names. `scope` is a digest of the active rules. `None` if that was
    /// not saved.
    fn load_withheld(&self, tree: &str, scope: &str) -> Option<Vec<bool>>;

    /// Saves which files of a tree policy withholds by their names.
    fn save_withheld(&self, tree: &str, scope: &str, withheld: &[bool]);

    /// Counts the words in the texts of objects. Texts that are not in the index are read with `read`, which gets an object's
    /// position. `None` if the index cannot be used, or `read` returns `None`.
    fn count_words(
        &mut self,
        objects: &[&str],
        words: &[WordKey],
        read: &mut dyn FnMut(usize) -> Option<TextSource>,
    ) -> Option<IndexAnswer>;
}
