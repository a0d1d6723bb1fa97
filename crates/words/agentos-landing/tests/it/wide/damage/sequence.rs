//! One edit in two steps: the second part of the answer is made for what the first leaves.
//!
//! Owns: these classes. Never: asks landing.

use super::super::edits::{Case, in_two};
use super::super::write::{GIT, Style, fenced, no_fence_inside, only_edits, only_lf, rendered, sides};
use super::{Damage, Expect};

/// These classes.
pub const CLASSES: &[Damage] = &[
    ("seq_plain", Expect::Either, |random, case| {
        let steps = in_two(random, case)?;
        Some(steps.iter().map(|files| rendered(random, files, &GIT)).collect())
    }),
    ("seq_bare", Expect::Either, |random, case| {
        let bare = Style {
            header: |_, _| "@@ @@".to_owned(),
            ..GIT
        };
        let steps = in_two(random, case)?;
        Some(steps.iter().map(|files| rendered(random, files, &bare)).collect())
    }),
    ("seq_fences", Expect::Either, |random, case| {
        let steps = in_two(random, case).filter(|_| no_fence_inside(case))?;
        Some(
            steps
                .iter()
                .map(|files| fenced(&rendered(random, files, &GIT)))
                .collect(),
        )
    }),
    ("seq_mails", Expect::Land, |random, case| {
        let steps = in_two(random, case).filter(|_| only_lf(case))?;
        let mail = |diff: String| {
            format!(
                "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\nSubject: [PATCH] x\n\n---\n{diff}-- \n2.40.1\n\n"
            )
        };
        Some(
            steps
                .iter()
                .map(|files| mail(rendered(random, files, &GIT)))
                .collect(),
        )
    }),
    ("seq_blocks", Expect::Either, |random, case| {
        let steps = in_two(random, case).filter(|_| plain(case))?;
        let hunks = steps
            .iter()
            .flatten()
            .flat_map(|file| file.hunks.iter().map(move |hunk| (file, hunk)));
        let blocks = hunks.map(|(file, hunk)| {
            let (old, new) = sides(hunk);
            format!(
                "{}\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n\n",
                file.path
            )
        });
        Some(blocks.collect())
    }),
    ("seq_one_header", Expect::Either, |random, case| {
        let [mut first, second] = in_two(random, case)?;
        for (file, more) in first.iter_mut().zip(second) {
            file.hunks.extend(more.hunks);
        }
        Some(rendered(random, &first, &GIT))
    }),
];

/// Edits of files that blocks can show.
fn plain(case: &Case) -> bool {
    only_edits(case) && only_lf(case) && no_fence_inside(case)
}
