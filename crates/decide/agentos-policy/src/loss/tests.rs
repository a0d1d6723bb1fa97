//! The table of losses, and the work that hostile changes cost.

use std::sync::Arc;

use agentos_landing::FileMode;

use super::*;

fn numbered(from: usize, to: usize) -> String {
    (from..to).map(|n| format!("line {n}\n")).collect()
}

fn text(content: &str) -> Option<FileState> {
    Some(FileState::regular(content.as_bytes()))
}

type Edit = (&'static str, Option<FileState>, Option<FileState>);

fn count(edits: Vec<Edit>) -> ChangeLosses {
    let states = edits
        .into_iter()
        .map(|(path, old, new)| (RepoPath::new(path).unwrap(), old, new));
    ChangeLosses::count(&Change::new(states.collect()).unwrap())
}

/// Returns, for each file, `lost/old` lines and the share in percent, and the names of the lost files.
fn words(edits: Vec<Edit>) -> String {
    let losses = count(edits);
    let of = |loss: &FileLoss| {
        let mark = if loss.is_lost { " gone" } else { "" };
        format!(
            "{}/{} {}%{mark}",
            loss.lost_lines,
            loss.old_lines,
            loss.lost_percent()
        )
    };
    let files: Vec<String> = losses.files.iter().map(of).collect();
    let sum = losses.sum_lines();
    format!(
        "{}; net {}, gone {}",
        files.join(", "),
        sum.net_removed(),
        losses.lost_files()
    )
}

#[test]
fn text_that_moves_is_no_loss() {
    let (ten, low, high) = (numbered(0, 10), numbered(0, 5), numbered(5, 10));
    let reversed: String = ten.lines().rev().map(|line| format!("{line}\n")).collect();
    let indented: String = ten.lines().map(|line| format!("\t{line}\r\n")).collect();
    let cases: Vec<(&str, Vec<Edit>)> = vec![
        (
            "a line is removed",
            vec![("a", text(&ten), text(&numbered(1, 10)))],
        ),
        (
            "all lines are replaced",
            vec![("a", text(&ten), text(&numbered(20, 30)))],
        ),
        (
            "lines move inside the file",
            vec![("a", text(&ten), text(&reversed))],
        ),
        ("lines are indented", vec![("a", text(&ten), text(&indented))]),
        (
            "lines move to a new file",
            vec![("a", text(&ten), text(&low)), ("b", None, text(&high))],
        ),
        ("a file is deleted", vec![("a", text(&ten), None)]),
        ("a file is emptied", vec![("a", text(&ten), text("\n"))]),
        (
            "a file is renamed",
            vec![("a", text(&ten), None), ("b", None, text(&ten))],
        ),
        (
            "a file is renamed and cut",
            vec![("a", text(&ten), None), ("b", None, text(&numbered(0, 7)))],
        ),
        (
            "a file is split",
            vec![
                ("a", text(&ten), None),
                ("b", None, text(&low)),
                ("c", None, text(&high)),
            ],
        ),
        (
            "one of two equal files is renamed",
            vec![
                ("a", text(&ten), None),
                ("b", text(&ten), None),
                ("c", None, text(&ten)),
            ],
        ),
        (
            "a line is added as often as it is removed",
            vec![("a", text("x\nx\nx\n"), text("y\n")), ("b", None, text("x\n"))],
        ),
        ("an empty file is deleted", vec![("a", text(""), None)]),
        (
            "a file without a last line feed",
            vec![("a", text("x\ny"), text("x\ny\n"))],
        ),
        ("text becomes binary", vec![("a", text(&ten), text("a\0b"))]),
        ("binary data is deleted", vec![("a", text("a\0b"), None)]),
        (
            "binary data is renamed",
            vec![("a", text("a\0b"), None), ("b", None, text("a\0b"))],
        ),
        (
            "only the mode changes",
            vec![(
                "a",
                text(&ten),
                Some(FileState {
                    mode: FileMode::Executable,
                    content: Arc::from(ten.as_bytes()),
                }),
            )],
        ),
        (
            "content looks like a header",
            vec![("a", text("diff --git a/x b/x\n@@ -1 +1 @@\n"), text("-- a\n"))],
        ),
    ];
    let table: String = cases
        .into_iter()
        .map(|(what, edits)| format!("{what}: {}\n", words(edits)))
        .collect();
    insta::assert_snapshot!(table, @r"
    a line is removed: 1/10 10%; net 1, gone 0
    all lines are replaced: 10/10 100%; net 0, gone 0
    lines move inside the file: 0/10 0%; net 0, gone 0
    lines are indented: 0/10 0%; net 0, gone 0
    lines move to a new file: 0/10 0%, 0/0 0%; net 0, gone 0
    a file is deleted: 10/10 100% gone; net 10, gone 1
    a file is emptied: 10/10 100% gone; net 9, gone 1
    a file is renamed: 0/10 0%, 0/0 0%; net 0, gone 0
    a file is renamed and cut: 3/10 30%, 0/0 0%; net 3, gone 0
    a file is split: 0/10 0%, 0/0 0%, 0/0 0%; net 0, gone 0
    one of two equal files is renamed: 0/10 0%, 10/10 100% gone, 0/0 0%; net 10, gone 1
    a line is added as often as it is removed: 2/3 67%, 0/0 0%; net 1, gone 0
    an empty file is deleted: 0/0 0%; net 0, gone 0
    a file without a last line feed: 0/2 0%; net 0, gone 0
    text becomes binary: 10/10 100%; net 10, gone 0
    binary data is deleted: 0/0 0% gone; net 0, gone 1
    binary data is renamed: 0/0 0%, 0/0 0%; net 0, gone 0
    only the mode changes: 0/10 0%; net 0, gone 0
    content looks like a header: 2/2 100%; net 1, gone 0
    ");
}

#[test]
fn a_loss_names_the_files_that_lose_most() {
    let edits = vec![
        ("a", text(&numbered(0, 9)), None),
        ("b", text(&numbered(100, 104)), None),
        ("c", text(&numbered(200, 250)), text(&numbered(200, 220))),
        ("d", text(&numbered(300, 301)), None),
        ("e", text(&numbered(400, 402)), None),
    ];
    let states = edits
        .into_iter()
        .map(|(path, old, new)| (RepoPath::new(path).unwrap(), old, new));
    let change = Change::new(states.collect()).unwrap();
    let named = ChangeLosses::count(&change).name_largest(&change);
    assert_eq!(named.gone, ["a", "b", "d"]);
    assert_eq!(named.shorter, ["c (30)", "a (9)", "b (4)"]);
}
