//! Any content lands byte for byte: the second opinion agrees with every honest change.

use agentos_executor::TargetSpec;
use agentos_landing::FileState;
use agentos_testkit::repo::TestRepo;

use crate::support::{land, land_clean};

const CONTENTS: [&[u8]; 16] = [
    b"",
    b"\n",
    b"a",
    b"a\n",
    b"\n\n\n",
    b"a\r\nb\r\n",
    b"a\rb\rc",
    b"a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\n",
    b"a\nb\nX\nd\ne\nf\ng\nh\ni\nj\nk\nY",
    b"\xef\xbb\xbfbom\n",
    b"\xff\xfe\x80 not text\n",
    b"nul \0 inside\n",
    b"-- \n--- a/x\n+++ b/x\n@@ -1 +1 @@\n",
    b"diff --git a/f b/f\ndeleted file mode 100644\n",
    b"\\ No newline at end of file",
    b"GIT binary patch\nliteral 6\nzcmZQ\n",
];

/// Policy lets nobody add a NUL; one that is there can be taken away.
fn may_be_added(content: &[u8]) -> bool {
    !content.contains(&0)
}

#[test]
fn every_content_can_follow_every_other() {
    let repo = TestRepo::new();
    let paths: Vec<String> = (0..CONTENTS.len())
        .map(|number| format!("f{number:02}"))
        .collect();
    for (path, content) in paths.iter().zip(CONTENTS) {
        repo.write(path, content);
    }
    repo.commit_all("all");
    for shift in 1..CONTENTS.len() {
        let shifted = CONTENTS.iter().cycle().skip(shift);
        let edits: Vec<_> = paths
            .iter()
            .zip(shifted)
            .filter(|(_, content)| may_be_added(content))
            .map(|(path, content)| (path.as_str(), Some(FileState::regular(content))))
            .collect();
        let receipt = land(&repo, &TargetSpec::AtHead, &edits).unwrap();
        assert_eq!(receipt.files.len(), edits.len());
    }
}

#[test]
fn every_content_can_come_and_go() {
    let repo = TestRepo::new();
    repo.write("zero", b"nul \0 inside\n");
    repo.commit_all("zero");
    let contents: Vec<_> = CONTENTS
        .into_iter()
        .filter(|content| may_be_added(content))
        .collect();
    let paths: Vec<String> = (0..contents.len())
        .map(|number| format!("dir with blank/é{number:02} 'q'"))
        .collect();
    let new = contents.iter().map(|content| Some(FileState::regular(content)));
    let edits: Vec<_> = paths.iter().map(String::as_str).zip(new).collect();
    land_clean(&repo, &edits);
    for (path, content) in paths.iter().zip(contents) {
        assert_eq!(repo.read(path), content);
    }
    let gone = paths.iter().map(String::as_str).chain(["zero"]);
    let gone: Vec<_> = gone.map(|path| (path, None)).collect();
    land_clean(&repo, &gone);
}
