//! A folder that git takes for a repository by what it holds, however it came to hold it.

use agentos_landing::{Change, FileState, RepoPath, ResultFacts};
use proptest::prelude::*;

use crate::memory::Memory;

/// Files of an embedded repository, as `(path, content)`; the first part of each path is replaced in the tests.
const PARTS: [(&str, &str); 5] = [
    ("docs/HEAD", "ref: refs/heads/main\n"),
    ("docs/objects/info/x", "x\n"),
    ("docs/refs/heads/x", "x\n"),
    ("docs/config", "[core]\n\tbare = false\n"),
    ("docs/guide.md", "# Guide\n"),
];

fn change(edits: &[(&str, Option<&str>, Option<&str>)]) -> Change {
    let state = |text: &str| FileState::regular(text.as_bytes());
    let edits = edits.iter().map(|(path, old, new)| {
        let path = RepoPath::new(path).unwrap();
        (path, old.map(state), new.map(state))
    });
    Change::new(edits.collect()).unwrap()
}

fn created(paths: &[&str]) -> Change {
    let edits: Vec<_> = paths.iter().map(|path| (*path, None, Some("x\n"))).collect();
    change(&edits)
}

fn base(paths: &[&str]) -> Memory {
    let files: Vec<_> = paths.iter().map(|path| (*path, b"x\n".as_slice())).collect();
    Memory::of(&files)
}

/// The paths that lie in a git directory of the result.
fn flagged(change: &Change, base: &Memory) -> Vec<String> {
    let facts = ResultFacts::read(change, base).unwrap();
    let paths = facts.git_directory_paths().iter();
    paths.map(|path| path.as_str().to_owned()).collect()
}

#[test]
fn a_folder_is_a_git_directory_by_head_and_objects_and_refs_or_by_head_and_commondir() {
    let cases: [(&[&str], &[&str], bool); 14] = [
        (&[], &["d/HEAD", "d/objects/x", "d/refs/x"], true),
        (&[], &["d/HEAD", "d/commondir"], true),
        (&[], &["d/HEAD", "d/objects", "d/refs"], true),
        (&[], &["a/b/c/HEAD", "a/b/c/objects/x", "a/b/c/refs/x"], true),
        (&[], &["d/head", "d/Objects/x", "d/REFS/x"], true),
        (&[], &["d/HEAD", "d/objects/x"], false),
        (&[], &["d/HEAD", "d/refs/x"], false),
        (&[], &["d/objects/x", "d/refs/x"], false),
        (&[], &["d/HEAD", "e/objects/x", "f/refs/x"], false),
        (&[], &["d/HEAD/x", "d/objects/x", "d/refs/x"], false),
        (&[], &["d/HEAD.md", "d/objects.rs", "d/refs.rs"], false),
        // Another folder of the base, which some file system takes for the same.
        (&["D/HEAD"], &["d/objects/x", "d/refs/x"], true),
        (&["d/HEAD", "d/objects/x"], &["d/refs/x"], true),
        (&["d/HEAD", "d/objects/x"], &["e/refs/x"], false),
    ];
    for (there, made, expected) in cases {
        let found = flagged(&created(made), &base(there));
        assert_eq!(!found.is_empty(), expected, "{there:?} {made:?} {found:?}");
    }
}

#[test]
fn each_file_of_an_existing_one_is_as_gits_own() {
    let bare = base(&[
        "t/x.git/HEAD",
        "t/x.git/objects/a",
        "t/x.git/refs/b",
        "t/x.git/config",
        "src/a.rs",
    ]);
    let paths = [
        "t/x.git/config",
        "t/x.git/hooks/post-checkout",
        "t/x.git/info/attributes",
        "t/x.git/config.worktree",
        "t/x.git/readme",
        "t/x.git/deep/down/guide.md",
    ];
    for path in paths {
        let edit = change(&[(path, None, Some("y\n")), ("src/a.rs", Some("x\n"), Some("y\n"))]);
        assert_eq!(flagged(&edit, &bare), [path]);
    }
    assert!(flagged(&created(&["t/guide.md", "src/b.rs"]), &bare).is_empty());
}

#[test]
fn the_whole_may_be_deleted_and_no_part_of_what_stays_one() {
    let files = ["d/HEAD", "d/objects/a", "d/refs/b", "d/config"];
    let bare = base(&files);
    let gone = files.map(|path| (path, Some("x\n"), None));
    assert!(flagged(&change(&gone), &bare).is_empty());
    assert_eq!(flagged(&change(&[gone[3]]), &bare), ["d/config"]);
    // What is moved away leaves none behind, and what is moved in makes one.
    let moved = change(&[("d/HEAD", Some("x\n"), None), ("e/HEAD", None, Some("x\n"))]);
    assert!(flagged(&moved, &bare).is_empty());
    let there = base(&["d/HEAD", "e/objects/a", "e/refs/b"]);
    assert_eq!(flagged(&moved, &there), ["e/HEAD"]);
}

/// Git looks for `.git` in a folder before it asks whether the folder is one itself, so the top counts only once `.git` is
/// gone: in an archive, a container or another repository. Ordinary files beside git's names stay ordinary there.
#[test]
fn at_the_top_gits_own_names_count_and_no_others() {
    let made = created(&["HEAD", "objects/x", "refs/x", "config", "src/a.rs"]);
    assert_eq!(
        flagged(&made, &base(&[])),
        ["HEAD", "config", "objects/x", "refs/x"]
    );
    let there = base(&["HEAD", "objects/x", "refs/x", "src/a.rs"]);
    let edit = change(&[("src/a.rs", Some("x\n"), Some("y\n"))]);
    assert!(flagged(&edit, &there).is_empty());
    assert_eq!(flagged(&created(&["config"]), &there), ["config"]);
}

/// Every order of five changes of one file each: at the latest the one that completes the folder is found, and the ones
/// after it.
#[test]
fn one_file_at_a_time_in_every_order() {
    let mut orders = Vec::new();
    permute(&mut vec![0, 1, 2, 3, 4], 0, &mut orders);
    assert_eq!(orders.len(), 120);
    for order in orders {
        let (mut there, mut made_of) = (Memory::of(&[]), 0);
        for part in order {
            let (path, content) = PARTS[part];
            made_of += usize::from(part < 3);
            let found = flagged(&change(&[(path, None, Some(content))]), &there);
            assert_eq!(!found.is_empty(), made_of == 3, "{path}");
            there.put(path, "100644", content.as_bytes());
        }
    }
}

fn permute(items: &mut Vec<usize>, from: usize, orders: &mut Vec<Vec<usize>>) {
    if from == items.len() {
        orders.push(items.clone());
    }
    for at in from..items.len() {
        items.swap(from, at);
        permute(items, from + 1, orders);
        items.swap(from, at);
    }
}

proptest! {
    /// However the files of a repository, in any folder and among others, are spread over changes: the result is never one
    /// without a change having been found.
    #[test]
    fn no_split_goes_unseen(
        folder in "[a-c](/[a-c]){0,2}",
        commondir in any::<bool>(),
        runs in prop::collection::vec(0..4_usize, 4),
        upper in prop::collection::vec(any::<bool>(), 4),
    ) {
        let names: &[&str] = if commondir {
            &["HEAD", "commondir", "config", "readme"]
        } else {
            &["HEAD", "objects/p/x", "refs/x", "readme"]
        };
        let parts = names.iter().zip(&upper).map(|(name, upper)| {
            let name = if *upper { name.to_uppercase() } else { (*name).to_owned() };
            format!("{folder}/{name}")
        });
        let parts: Vec<String> = parts.collect();
        let (mut there, mut found) = (Memory::of(&[]), false);
        for run in 0..4 {
            let now: Vec<&str> = parts.iter().zip(&runs).filter(|(_, at)| **at == run).map(|(part, _)| part.as_str()).collect();
            if now.is_empty() {
                continue;
            }
            found |= !flagged(&created(&now), &there).is_empty();
            now.iter().for_each(|path| there.put(path, "100644", b"x\n"));
        }
        prop_assert!(found, "{parts:?} {runs:?}");
    }
}
