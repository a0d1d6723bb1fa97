//! The landing corpus through the built program: every input in a real repository, judged by the tree id alone.

use std::collections::BTreeMap;
use std::path::Path;

use agentos_testkit::landing::{Corpus, Expect};
use agentos_testkit::repo::write_file;

use crate::support::agentos;

#[test]
fn the_landing_corpus_through_the_program() {
    let corpus = Corpus::read().unwrap();
    let mut counts: BTreeMap<(String, &str), usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for base in corpus.bases() {
        let repo = corpus.repository(base);
        let head = repo.git(&["rev-parse", "HEAD"]);
        for input in corpus.inputs(base) {
            let patch = repo.outside().join("input.txt");
            write_file(
                &patch,
                input
                    .text
                    .replace("{{OUTER}}", &repo.outside().display().to_string()),
            );
            let branch = format!(
                "case-{}",
                input.id.replace(|c: char| !c.is_ascii_alphanumeric(), "-")
            );
            let output = agentos()
                .in_dir(repo.path())
                .run(&[
                    "apply",
                    patch.to_str().unwrap(),
                    "--yes",
                    "-q",
                    "--branch",
                    &branch,
                ])
                .unwrap();
            let made = repo.git_ok(&["rev-parse", "-q", "--verify", &format!("refs/heads/{branch}")]);
            let tree = if made {
                repo.git(&["rev-parse", &format!("{branch}^{{tree}}")])
            } else {
                String::new()
            };
            let result = match (output.code, input.expect) {
                (Some(0), Expect::Land | Expect::Either) if tree == input.expected_tree => "exact",
                (Some(code), _) if code != 0 && code != 1 && !made => "refused",
                _ => "wrong",
            };
            if result == "wrong" {
                wrong.push(format!("{}: {output}", input.id));
            }
            *counts.entry((input.class.clone(), result)).or_default() += 1;
            assert!(outside_is_clean(repo.outside()), "{}", input.id);
        }
        assert_eq!(repo.git(&["rev-parse", "HEAD"]), head);
        assert_eq!(repo.status(), "");
    }
    assert_eq!(wrong, Vec::<String>::new());
    let exact_clean: usize = counts
        .iter()
        .filter(|((class, result), _)| class.starts_with("clean") && *result == "exact")
        .map(|(_, n)| n)
        .sum();
    assert_eq!(
        exact_clean,
        corpus.count(|class| class.starts_with("clean")),
        "{counts:?}"
    );
}

fn outside_is_clean(outside: &Path) -> bool {
    let mut names: Vec<String> = std::fs::read_dir(outside)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.retain(|name| name != "input.txt");
    names.len() == 1
}
