//! Texts in memory, and what an index says of them.

use std::fmt::Write as _;
use std::sync::Arc;

use agentos_context::{FileRanker, IndexAnswer, RankedFile, TaskQuery, TextSource};
use agentos_search::TextIndex;

/// Path and content of a file.
pub(crate) type TestFile = (String, Vec<u8>);

/// Returns an id that equal contents share, in the form of git's.
pub(crate) fn object_of(content: &[u8]) -> String {
    let mut id = String::new();
    for part in 0..3_u8 {
        let hash = agentos_context::hash_bytes(&[&[part], content].concat());
        let _ = write!(id, "{hash:016x}");
    }
    id.truncate(40);
    id
}

/// Asks an index for the words of a task. The contents that it reads are counted in the answer.
pub(crate) fn ask(index: &mut TextIndex, task: &str, files: &[TestFile]) -> Option<IndexAnswer> {
    let query = TaskQuery::from_task(task);
    let ranker = FileRanker::new(&query);
    let objects: Vec<String> = files.iter().map(|(_, content)| object_of(content)).collect();
    let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
    index.count_words(&objects, &ranker.word_keys(), &mut |at| {
        let (_, content) = files.get(at)?;
        Some(TextSource::Bytes(Arc::from(content.as_slice())))
    })
}

/// Ranks files by their texts, without an index.
pub(crate) fn rank_texts(task: &str, files: &[TestFile]) -> Vec<RankedFile> {
    let query = TaskQuery::from_task(task);
    let mut ranker = FileRanker::new(&query);
    for (path, content) in files {
        let id = ranker.add_path(path);
        if std::str::from_utf8(content).is_ok() {
            ranker.add_text(id, content);
        }
    }
    ranker.rank_files()
}

/// Ranks files by an answer of the index.
pub(crate) fn rank_answer(task: &str, files: &[TestFile], answer: &IndexAnswer) -> Vec<RankedFile> {
    let query = TaskQuery::from_task(task);
    let mut ranker = FileRanker::new(&query);
    let ids: Vec<_> = files.iter().map(|(path, _)| ranker.add_path(path)).collect();
    for (id, text) in ids.iter().zip(&answer.texts) {
        if let Some(length) = text.length {
            ranker.set_length(*id, length);
        }
    }
    for (word, uses) in answer.uses.iter().enumerate() {
        for found in uses {
            ranker.add_count(ids[found.object], word, found.count);
        }
    }
    ranker.rank_files()
}

/// Makes files of about so many words each.
pub(crate) fn make_files(count: usize, words: usize) -> Vec<TestFile> {
    let text = |file: usize| {
        let words = (0..words).map(|word| format!("word{}_{}", (file * 7 + word * 3) % 97, word % 11));
        format!("{} number{file}", words.collect::<Vec<_>>().join(" ")).into_bytes()
    };
    (0..count)
        .map(|file| (format!("src/part{}/file{file}.rs", file % 5), text(file)))
        .collect()
}

/// Names of the files in a folder that begin like this.
pub(crate) fn list_names(folder: &std::path::Path, beginning: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(beginning)).collect();
    names.sort();
    names
}
