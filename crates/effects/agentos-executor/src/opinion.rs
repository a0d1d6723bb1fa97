//! Two independent opinions on the result, before anything visible is written.
//!
//! Owns: applying the approved diff's hunks through libgit2, and comparing the resulting tree with the change file by
//! file. Never: feeds libgit2 anything but text hunks of our own canonical diff, under neutral names: its patch
//! reader hangs on cut binary patches, drops modes and misreads some names.

use agentos_landing::{Change, FileChange};
use git2::{Diff, ObjectType, Odb, Oid, Repository, Tree};

use crate::rebuild::rebuild;
use crate::splice::{mode_bits, oid};
use crate::tree_diff::differences;
use crate::{ExecError, ReceiptFile};

/// Checks that the approved diff leads to the new content, and that the tree differs from the base by exactly the
/// change. What is tried is written to `memory`: [`in_memory`], or `git` where that keeps what is written in memory.
pub(crate) fn check(
    git: &Repository,
    memory: &Repository,
    base: &Tree<'_>,
    tree: Oid,
    change: &Change,
    files: &[ReceiptFile],
) -> Result<(), ExecError> {
    check_hunks(git, memory, change, files)?;
    check_tree(git, base, tree, files)
}

/// Files whose hunks libgit2 applies at a time. It keeps more than 600 bytes for each part of a diff until all of it is
/// applied; as few as this cost no time that can be measured.
const AT_ONCE: usize = 1024;

/// One file of a change, as the approved diff has it and as it is stored.
struct Part<'a> {
    section: Section<'a>,
    file: &'a ReceiptFile,
    state: &'a FileChange,
}

/// The approved diff, applied by libgit2 to the old content, must give the new content.
fn check_hunks(
    git: &Repository,
    memory: &Repository,
    change: &Change,
    files: &[ReceiptFile],
) -> Result<(), ExecError> {
    let sections = sections(change.canonical_diff());
    if sections.len() != files.len() {
        return Err(disagree("the diff does not have one part for each file"));
    }
    let parts = sections.into_iter().zip(files).zip(change.files());
    let parts: Vec<_> = parts
        .map(|((section, file), state)| Part { section, file, state })
        .collect();
    parts
        .chunks(AT_ONCE)
        .try_for_each(|parts| check_parts(git, memory, parts))
}

fn check_parts(git: &Repository, memory: &Repository, parts: &[Part<'_>]) -> Result<(), ExecError> {
    let failed = || ExecError::git("compare the result");
    let there = memory.odb().map_err(failed())?;
    let mut patch = Vec::new();
    let mut before = memory.treebuilder(None).map_err(failed())?;
    let mut expected = Vec::new();
    for (number, Part { section, file, state }) in parts.iter().enumerate() {
        let Some(hunks) = section.hunks else {
            check_without_hunks(section, file)?;
            continue;
        };
        if hunks.contains(&0) {
            check_by_hand(git, hunks, file)?;
            continue;
        }
        let name = format!("f{number}");
        patch.extend_from_slice(header(&name, file).as_bytes());
        patch.extend_from_slice(hunks);
        if let (Some(old), Some(state)) = (&file.old, &state.old) {
            let id = oid(&old.oid)?;
            if !there.exists(id) && memory.blob(&state.content).map_err(failed())? != id {
                return Err(disagree("the old content has another name than the base's"));
            }
            before.insert(&name, id, 0o100_644).map_err(failed())?;
        }
        expected.push((name, file.new.as_ref().map(|new| oid(&new.oid)).transpose()?));
    }
    if patch.is_empty() {
        return Ok(());
    }
    let before = before.write().and_then(|id| memory.find_tree(id));
    let before = before.map_err(failed())?;
    let applied = Diff::from_buffer(&patch).and_then(|diff| memory.apply_to_tree(&before, &diff, None));
    let applied = applied.map_err(|error| disagree(error.message()))?;
    for (name, id) in expected {
        let found = applied.get_path(name.as_ref(), 0).map(|entry| entry.id);
        if found != id {
            return Err(disagree("a hunk gives other content than the change"));
        }
    }
    Ok(())
}

/// A repository without a disk: what is tried here leaves nothing behind.
pub(crate) fn in_memory() -> Result<Repository, ExecError> {
    let made = Odb::new().and_then(|objects| {
        objects.add_new_mempack_backend(1)?;
        Repository::from_odb(objects)
    });
    made.map_err(ExecError::git("compare the result"))
}

/// libgit2 ends a line at a NUL: such hunks are applied by our own few lines instead.
fn check_by_hand(git: &Repository, hunks: &[u8], file: &ReceiptFile) -> Result<(), ExecError> {
    let failed = ExecError::git("compare the result");
    let old = match &file.old {
        Some(old) => git.find_blob(oid(&old.oid)?).map_err(failed)?.content().to_vec(),
        None => Vec::new(),
    };
    let rebuilt = rebuild(&old, hunks).ok_or_else(|| disagree("a hunk does not fit the old content"))?;
    let rebuilt =
        Oid::hash_object(ObjectType::Blob, &rebuilt).map_err(ExecError::git("compare the result"))?;
    let expected = match &file.new {
        Some(new) => oid(&new.oid)?,
        None => Oid::hash_object(ObjectType::Blob, b"").map_err(ExecError::git("compare the result"))?,
    };
    if rebuilt == expected {
        Ok(())
    } else {
        Err(disagree("a hunk gives other content than the change"))
    }
}

/// A part without text hunks: the content stays as it is, is empty, or is told as binary.
fn check_without_hunks(section: &Section<'_>, file: &ReceiptFile) -> Result<(), ExecError> {
    let empty = Oid::hash_object(ObjectType::Blob, b"").map_err(ExecError::git("compare the result"))?;
    let empty = empty.to_string();
    let content = |id: &Option<crate::FileId>| id.as_ref().map_or_else(|| empty.clone(), |id| id.oid.clone());
    if section.binary || content(&file.old) == content(&file.new) {
        return Ok(());
    }
    Err(disagree(
        "the diff shows no hunk for a file whose content changes",
    ))
}

/// The new tree must differ from the base by the files of the change and nothing else.
pub(crate) fn check_tree(
    git: &Repository,
    base: &Tree<'_>,
    tree: Oid,
    files: &[ReceiptFile],
) -> Result<(), ExecError> {
    let tree = git
        .find_tree(tree)
        .map_err(ExecError::git("compare the result"))?;
    let found = differences(git, base, &tree).map_err(ExecError::git("compare the result"))?;
    let mut expected = Vec::with_capacity(files.len());
    for file in files {
        let [old, new] = [&file.old, &file.new].map(|id| {
            id.as_ref()
                .map(|id| Ok::<_, ExecError>((oid(&id.oid)?, mode_bits(id.mode))))
                .transpose()
        });
        expected.push((file.path.as_str().as_bytes().to_vec(), old?, new?));
    }
    expected.sort();
    if found == expected {
        Ok(())
    } else {
        Err(disagree(
            "the resulting tree differs from the base by other files than the change",
        ))
    }
}

/// One file's part of the canonical diff.
struct Section<'a> {
    /// From the first `@@` to the end of the part.
    hunks: Option<&'a [u8]>,
    binary: bool,
}

/// Splits a canonical diff. No line of a hunk can begin with `diff --git `: each begins with a blank, a plus, a
/// minus or a backslash.
fn sections(diff: &[u8]) -> Vec<Section<'_>> {
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
        .map(section)
        .collect()
}

fn section(text: &[u8]) -> Section<'_> {
    let mut at = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b"@@ ") {
            return Section {
                hunks: text.get(at..),
                binary: false,
            };
        }
        if line.starts_with(b"GIT binary patch") || line.starts_with(b"Binary files ") {
            return Section {
                hunks: None,
                binary: true,
            };
        }
        at += line.len();
    }
    Section {
        hunks: None,
        binary: false,
    }
}

/// A header in the form that libgit2 reads right. Modes and names are compared elsewhere.
fn header(name: &str, file: &ReceiptFile) -> String {
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

pub(crate) fn disagree(detail: &str) -> ExecError {
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
            let error = check(&git, &in_memory().unwrap(), &base, tree, &change, files).err()?;
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
                said.starts_with("the two ways to compute the result do not agree: "),
                "{said}"
            );
        }
    }
}
