//! A damaged index is refused by name, and no byte of one is a crash.

use agentos_index::{IndexError, IndexFile};
use agentos_testkit::repo::read_file;
use sha1::{Digest, Sha1};

use super::support::{entry, example, small, written};

#[test]
fn an_index_that_cannot_be_trusted_is_refused_by_name() {
    let sum = |content: &[u8]| [content, Sha1::digest(content).as_slice()].concat();
    let whole = read_file(&example("2").path().join(".git/index"));
    let content = &whole[..whole.len() - 20];
    let with = |at: usize, bytes: &[u8]| {
        let mut content = content.to_vec();
        content[at..at + bytes.len()].copy_from_slice(bytes);
        sum(&content)
    };
    for (bytes, fault) in [
        (Vec::new(), IndexError::Truncated),
        (b"DIRC".to_vec(), IndexError::Truncated),
        (whole[..whole.len() - 1].to_vec(), IndexError::ChecksumMismatch),
        (with(4, &[0, 0, 0, 5]), IndexError::UnsupportedVersion),
        (with(0, b"CRID"), IndexError::UnsupportedVersion),
        (sum(&content[..40]), IndexError::Truncated),
        (with(12 + 62, b"zz"), IndexError::InvalidName),
        (with(12 + 62, b"z"), IndexError::WrongOrder),
        (sum(&[content, b"link\0\0\0\0"].concat()), IndexError::SplitIndex),
        (
            sum(&[content, b"xtra\0\0\0\0"].concat()),
            IndexError::UnknownExtension(*b"xtra"),
        ),
        (sum(&[content, b"XTRA\0\0\0\x09"].concat()), IndexError::Truncated),
    ] {
        assert_eq!(IndexFile::parse(bytes).err(), Some(fault));
    }
}

#[test]
fn a_checksum_that_git_left_out_is_written() {
    let whole = read_file(&example("2").path().join(".git/index"));
    let content = &whole[..whole.len() - 20];
    let index = IndexFile::parse([content, &[0; 20]].concat()).unwrap();
    assert!(written(&index) == whole);
}

#[test]
fn of_the_extensions_only_trees_and_resolved_conflicts_stay() {
    let sum = |content: &[u8]| [content, Sha1::digest(content).as_slice()].concat();
    let whole = read_file(&small("2").path().join(".git/index"));
    let content = &whole[..whole.len() - 20];
    let resolved = b"REUC\0\0\0\x03abc";
    let others = b"UNTR\0\0\0\x01xEOIE\0\0\0\0";
    let index = IndexFile::parse(sum(&[content, resolved, others].concat())).unwrap();
    assert!(written(&index) == sum(&[content, resolved].concat()));
}

#[test]
fn no_byte_of_an_index_makes_a_crash() {
    for version in ["2", "4"] {
        let whole = read_file(&small(version).path().join(".git/index"));
        let content = &whole[..whole.len() - 20];
        for at in 0..content.len() {
            for byte in [0, 0x0f, 0x40, 0x7f, 0x80, 0xff] {
                let mut spoiled = content.to_vec();
                spoiled[at] = byte;
                spoiled.extend_from_slice(&[0; 20]);
                if let Ok(mut index) = IndexFile::parse(spoiled) {
                    index.replace_entries(["dir/a"].into_iter(), &[entry("dir/b", &"1".repeat(40))]);
                    index.invalidate_trees(["dir/a", "dir/b"].into_iter());
                    IndexFile::parse(written(&index)).unwrap();
                }
            }
        }
    }
}
