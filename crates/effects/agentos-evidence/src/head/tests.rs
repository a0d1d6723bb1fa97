//! The head file, written over whatever lies in its place.

use super::*;

#[test]
fn every_head_has_the_same_length() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head.json");
    for seq in [0, 1, 99, u64::MAX] {
        let head = TapeHead::new(seq, &format!("sha256:{}", "f".repeat(64)));
        write(&path, &head).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 128, "{seq}");
        assert_eq!(read(&path).unwrap(), HeadFile::Says(head));
    }
}

#[test]
fn a_head_of_another_length_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head.json");
    let head = TapeHead::new(7, "sha256:0");
    for there in ["", "{}", &"x".repeat(4096)] {
        agentos_testkit::repo::write_file(&path, there);
        write(&path, &head).unwrap();
        assert_eq!(read(&path).unwrap(), HeadFile::Says(head.clone()), "{there:.9}");
    }
}

#[cfg(unix)]
#[test]
fn a_copy_made_of_links_keeps_its_head() {
    let folder = tempfile::tempdir().unwrap();
    let [path, copy] = ["head.json", "copy.json"].map(|name| folder.path().join(name));
    let [first, second] = [7, 8].map(|seq| TapeHead::new(seq, "sha256:0"));
    write(&path, &first).unwrap();
    agentos_testkit::repo::make_hard_link(&path, &copy);
    write(&path, &second).unwrap();
    assert_eq!(read(&copy).unwrap(), HeadFile::Says(first));
    assert_eq!(read(&path).unwrap(), HeadFile::Says(second));
}

#[cfg(unix)]
#[test]
fn a_head_that_cannot_be_written_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head.json");
    write(&path, &TapeHead::new(7, "sha256:0")).unwrap();
    agentos_testkit::repo::set_mode(&path, 0o444);
    let head = TapeHead::new(8, "sha256:0");
    write(&path, &head).unwrap();
    assert_eq!(read(&path).unwrap(), HeadFile::Says(head));
}
