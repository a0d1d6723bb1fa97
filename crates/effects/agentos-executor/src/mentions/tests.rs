//! Which attribute files mention a word, and which may mention any.

use super::*;

#[test]
fn a_word_counts_wherever_it_stands() {
    let mut mentions = AttributeMentions::Only(Vec::new());
    assert!(!mentions.may_set("filter"));
    mentions.add_text(b"[attr]own filter=x");
    mentions.add_text(b"*.png binary");
    for (name, expected) in [
        ("filter", true),
        // By the macro that every git knows.
        ("text", true),
        ("eol", false),
        ("ident", false),
    ] {
        assert_eq!(mentions.may_set(name), expected, "{name}");
    }
    assert!(AttributeMentions::Anything.may_set("eol"));
}

#[test]
fn what_is_no_short_regular_file_may_say_anything() {
    let folder = tempfile::tempdir().unwrap();
    let long = folder.path().join("long");
    agentos_testkit::repo::write_file(&long, vec![b'#'; usize::try_from(LONGEST).unwrap() + 1]);
    for (path, expected) in [
        (folder.path().join("missing"), false),
        (long.join("below a file"), false),
        (folder.path().to_owned(), true),
        (long, true),
    ] {
        let mut mentions = AttributeMentions::Only(Vec::new());
        mentions.add_file(&path, LinkRule::Followed);
        assert_eq!(mentions.may_set("filter"), expected, "{}", path.display());
    }
}
