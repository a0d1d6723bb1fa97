//! Computes the result a second time in an independent way, before anything visible is written.
//!
//! Owns: applying the approved diff's hunks by libgit2 and its binary data by our own strict reader, and comparing the
//! resulting tree with the change file by file. Never: passes anything to libgit2 but text hunks of our own canonical diff,
//! under neutral names: its patch reader does not return for some truncated binary patches, ignores modes and misreads some
//! names.
//!
//! A person and the policy approve the canonical diff, and landing writes whole contents. An error in the code that made
//! the diff from the contents would therefore land something else than was approved.

use agentos_landing::{Change, FileChange};
use git2::{Diff, Odb, Oid, Repository, Tree};

use crate::rebuild::read_stored;
use crate::splice::{mode_bits, parse_oid};
use crate::tree_diff::list_differences;
use crate::{ExecError, ReceiptFile, blob_id};

/// Checks that the approved diff leads to the new content, and that the tree differs from the base by exactly the change.
/// Objects of the check are written to `memory`: a repository of [`memory_repository`], or `git` itself if it keeps new objects in
/// memory.
///
/// # Errors
/// [`ExecError::SecondOpinion`] if the results differ; other errors as libgit2 reports them.
pub(crate) fn check_result(
    git: &Repository,
    memory: &Repository,
    base: &Tree<'_>,
    tree: Oid,
    change: &Change,
    files: &[ReceiptFile],
) -> Result<(), ExecError> {
    check_hunks(memory, change, files)?;
    check_tree(git, base, tree, files)
}

/// Number of files whose hunks libgit2 applies in one call. It keeps more than 600 bytes for each file of a diff until all
/// of it is applied; calls of this size take no measurable additional time.
const AT_ONCE: usize = 1024;

/// File of a change: its part of the approved diff, its ids, and its content.
struct ChangePart<'a> {
    section: DiffSection<'a>,
    file: &'a ReceiptFile,
    state: &'a FileChange,
}

/// Checks that the approved diff, applied by libgit2 to the old content, gives the new content.
///
/// # Errors
/// When it does not, or libgit2 fails.
fn check_hunks(memory: &Repository, change: &Change, files: &[ReceiptFile]) -> Result<(), ExecError> {
    let sections = split_sections(change.canonical_diff());
    if sections.len() != files.len() {
        return Err(opinions_differ("the diff does not have one part for each file"));
    }
    // The canonical diff has its parts in the order of the change's files.
    let parts = sections.into_iter().zip(files).zip(change.files());
    let parts: Vec<_> = parts
        .map(|((section, file), state)| ChangePart { section, file, state })
        .collect();
    parts
        .chunks(AT_ONCE)
        .try_for_each(|parts| check_parts(memory, parts))
}

fn check_parts(memory: &Repository, parts: &[ChangePart<'_>]) -> Result<(), ExecError> {
    let failed = || ExecError::git("compare the result");
    let there = memory.odb().map_err(failed())?;
    // All files are put into one folder under the names f0, f1 and so on, so that libgit2 reads no name of the change.
    let mut patch = Vec::new();
    let mut before = memory.treebuilder(None).map_err(failed())?;
    let mut expected = Vec::new();
    for (number, ChangePart { section, file, state }) in parts.iter().enumerate() {
        let hunks = match section {
            DiffSection::Hunks(hunks) => hunks,
            DiffSection::Binary(data) => {
                check_binary(data, file)?;
                continue;
            }
            DiffSection::Header => {
                check_without_hunks(file)?;
                continue;
            }
        };
        let name = format!("f{number}");
        patch.extend_from_slice(section_header(&name, file).as_bytes());
        patch.extend_from_slice(hunks);
        if let (Some(old), Some(state)) = (&file.old, &state.old) {
            let id = parse_oid(&old.oid)?;
            // The diff is applied to the base's content, so the content in the change must be that of the base.
            if !there.exists(id) && memory.blob(&state.content).map_err(failed())? != id {
                return Err(opinions_differ(
                    "the old content has another name than the base's",
                ));
            }
            before.insert(&name, id, 0o100_644).map_err(failed())?;
        }
        expected.push((
            name,
            file.new.as_ref().map(|new| parse_oid(&new.oid)).transpose()?,
        ));
    }
    if patch.is_empty() {
        return Ok(());
    }
    let before = before.write().and_then(|id| memory.find_tree(id));
    let before = before.map_err(failed())?;
    let applied = Diff::from_buffer(&patch).and_then(|diff| memory.apply_to_tree(&before, &diff, None));
    let applied = applied.map_err(|error| opinions_differ(error.message()))?;
    // A deleted file has no id, and must not be found.
    for (name, id) in expected {
        let found = applied.get_path(name.as_ref(), 0).map(|entry| entry.id);
        if found != id {
            return Err(opinions_differ("a hunk gives other content than the change"));
        }
    }
    Ok(())
}

/// Makes a repository that keeps its objects in memory, so that the check leaves no files.
///
/// # Errors
/// When libgit2 cannot make one.
pub(crate) fn memory_repository() -> Result<Repository, ExecError> {
    let made = Odb::new().and_then(|objects| {
        objects.add_new_mempack_backend(1)?;
        Repository::from_odb(objects)
    });
    made.map_err(ExecError::git("compare the result"))
}

/// Checks binary data: both directions must hold exactly the content of their side.
///
/// # Errors
/// When they do not, or the data is not in the form of the canonical diff.
fn check_binary(data: &[u8], file: &ReceiptFile) -> Result<(), ExecError> {
    let contents = read_stored(data).ok_or_else(|| opinions_differ("binary data cannot be read"))?;
    let sides = [&file.new, &file.old];
    for (content, side) in contents.iter().zip(sides) {
        let found = blob_id::compute_id(content)?;
        let expected = match side {
            Some(side) => parse_oid(&side.oid)?,
            None => blob_id::compute_id(b"")?,
        };
        if found != expected {
            return Err(opinions_differ("binary data holds other content than the change"));
        }
    }
    Ok(())
}

/// Checks a part without hunks and data: the content must be unchanged or empty.
///
/// # Errors
/// When the content changes and the diff does not show it.
fn check_without_hunks(file: &ReceiptFile) -> Result<(), ExecError> {
    let empty = blob_id::compute_id(b"")?.to_string();
    // An empty file has no line, so neither its creation nor its deletion has a hunk.
    let content = |id: &Option<crate::FileId>| id.as_ref().map_or_else(|| empty.clone(), |id| id.oid.clone());
    if content(&file.old) == content(&file.new) {
        return Ok(());
    }
    Err(opinions_differ(
        "the diff shows no hunk for a file whose content changes",
    ))
}

/// Checks that the new tree differs from the base by the files of the change and nothing else.
///
/// # Errors
/// When it does not, or a tree cannot be read.
pub(crate) fn check_tree(
    git: &Repository,
    base: &Tree<'_>,
    tree: Oid,
    files: &[ReceiptFile],
) -> Result<(), ExecError> {
    let tree = git
        .find_tree(tree)
        .map_err(ExecError::git("compare the result"))?;
    let found = list_differences(git, base, &tree).map_err(ExecError::git("compare the result"))?;
    let mut expected = Vec::with_capacity(files.len());
    for file in files {
        let [old, new] = [&file.old, &file.new].map(|id| {
            id.as_ref()
                .map(|id| Ok::<_, ExecError>((parse_oid(&id.oid)?, mode_bits(id.mode))))
                .transpose()
        });
        expected.push((file.path.as_str().as_bytes().to_vec(), old?, new?));
    }
    expected.sort();
    if found == expected {
        Ok(())
    } else {
        Err(opinions_differ(
            "the resulting tree differs from the base by other files than the change",
        ))
    }
}

/// Part of the canonical diff about one file.
enum DiffSection<'a> {
    /// Text from the first `@@` to the end of the part.
    Hunks(&'a [u8]),
    /// Text behind `GIT binary patch` to the end of the part.
    Binary(&'a [u8]),
    /// The header alone.
    Header,
}

/// Splits a canonical diff into the parts of its files. No line of a hunk can begin with `diff --git `, since each begins
/// with a blank, a plus, a minus or a backslash.
fn split_sections(diff: &[u8]) -> Vec<DiffSection<'_>> {
    let mut starts = Vec::new();
    let mut at = 0;
    for line in diff.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b"diff --git ") {
            starts.push(at);
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([diff.len()]);
    starts
        .iter()
        .zip(ends)
        .filter_map(|(start, end)| diff.get(*start..end))
        .map(parse_section)
        .collect()
}

fn parse_section(text: &[u8]) -> DiffSection<'_> {
    let mut at = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b"@@ ") {
            return DiffSection::Hunks(text.get(at..).unwrap_or_default());
        }
        at += line.len();
        if line == b"GIT binary patch\n" {
            return DiffSection::Binary(text.get(at..).unwrap_or_default());
        }
    }
    DiffSection::Header
}

/// Builds the header of a file's part in a form that libgit2 reads correctly. Modes and names are compared by
/// [`check_tree`].
fn section_header(name: &str, file: &ReceiptFile) -> String {
    let (kind, from, to) = match (&file.old, &file.new) {
        (None, _) => (
            "new file mode 100644\n",
            "/dev/null".to_owned(),
            format!("b/{name}"),
        ),
        (Some(_), None) => (
            "deleted file mode 100644\n",
            format!("a/{name}"),
            "/dev/null".to_owned(),
        ),
        (Some(_), Some(_)) => (
            "index 1111111..2222222 100644\n",
            format!("a/{name}"),
            format!("b/{name}"),
        ),
    };
    format!("diff --git a/{name} b/{name}\n{kind}--- {from}\n+++ {to}\n")
}

pub(crate) fn opinions_differ(detail: &str) -> ExecError {
    ExecError::SecondOpinion(detail.to_owned())
}

#[cfg(test)]
mod tests {
    use agentos_landing::{FileMode, FileState, RepoPath};

    use super::*;
    use crate::FileId;

    #[test]
    fn a_result_that_is_not_the_approved_change_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let git = Repository::init(folder.path()).unwrap();
        let tree_with = |files: &[(&str, Oid)]| {
            let mut builder = git.treebuilder(None).unwrap();
            for (name, id) in files {
                builder.insert(name, *id, 0o100_644).unwrap();
            }
            builder.write().unwrap()
        };
        let path = || RepoPath::new("a.txt").unwrap();
        let new = FileState::regular(b"a\n");
        let change = Change::new(vec![(path(), None, Some(new))]).unwrap();
        let [right, wrong] = [&b"a\n"[..], b"b\n"].map(|content| git.blob(content).unwrap());
        let told = |id: Oid| ReceiptFile {
            path: path(),
            old: None,
            new: Some(FileId {
                oid: id.to_string(),
                mode: FileMode::Regular,
            }),
        };
        let base = git.find_tree(tree_with(&[])).unwrap();
        let judged = |tree: Oid, files: &[ReceiptFile]| {
            let error =
                check_result(&git, &memory_repository().unwrap(), &base, tree, &change, files).err()?;
            assert_eq!(error.code(), "second-opinion", "{error}");
            Some(error.to_string())
        };
        let good = tree_with(&[("a.txt", right)]);
        assert_eq!(judged(good, &[told(right)]), None);
        let more = tree_with(&[("a.txt", right), ("b.txt", right)]);
        for (tree, files) in [
            (base.id(), vec![told(right)]),
            (more, vec![told(right)]),
            (tree_with(&[("a.txt", wrong)]), vec![told(right)]),
            (tree_with(&[("a.txt", wrong)]), vec![told(wrong)]),
            (good, Vec::new()),
        ] {
            let said = judged(tree, &files).unwrap();
            assert!(
                said.starts_with("two independent computations of the result differ: "),
                "{said}"
            );
        }
    }
}
