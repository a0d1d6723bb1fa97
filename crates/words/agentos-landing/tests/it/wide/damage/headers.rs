//! Line numbers, counts, headers, hunks, and what stands around a diff.
//!
//! Owns: these classes. Never: asks landing.

use super::super::edits::moved;
use super::super::write::{
    GIT, Style, bare, each_line, fenced, file, lines, no_fence_inside, of_patches, only_edits, only_lf,
    plain, rendered, trailing_blanks,
};
use super::{Damage, Expect};

/// These classes.
pub const CLASSES: &[Damage] = &[
    ("clean", Expect::Land, |random, case| Some(plain(random, case))),
    ("clean_fenced", Expect::Land, |random, case| {
        no_fence_inside(case).then(|| fenced(&plain(random, case)))
    }),
    ("ln_off", Expect::Land, |random, case| {
        let files = moved(case.files.clone(), || 1 + random.below(9))?;
        Some(rendered(random, &files, &GIT))
    }),
    ("ln_all_one", Expect::Land, |random, case| {
        Some(rendered(
            random,
            &case.files,
            &Style {
                header: |hunk, _| format!("@@ -1,{} +1,{} @@", hunk.old.1, hunk.new.1),
                ..GIT
            },
        ))
    }),
    ("ln_bare", Expect::Land, |random, case| Some(bare(random, case))),
    ("ln_section", Expect::Land, |random, case| {
        Some(rendered(
            random,
            &case.files,
            &Style {
                header: |hunk, _| format!("@@ {} @@", hunk.section),
                ..GIT
            },
        ))
    }),
    ("ln_section_after", Expect::Land, |random, case| {
        Some(rendered(
            random,
            &case.files,
            &Style {
                header: |hunk, _| format!("@@ ... @@ {}", hunk.section),
                ..GIT
            },
        ))
    }),
    ("ln_one_number", Expect::Land, |random, case| {
        Some(rendered(
            random,
            &case.files,
            &Style {
                header: |hunk, _| format!("@@ -{} @@", hunk.old.0),
                ..GIT
            },
        ))
    }),
    ("ln_naked_number", Expect::Land, |random, case| {
        Some(rendered(
            random,
            &case.files,
            &Style {
                header: |hunk, _| format!("@@ {} @@", hunk.old.0),
                ..GIT
            },
        ))
    }),
    ("ln_words", Expect::Land, |random, case| {
        Some(rendered(
            random,
            &case.files,
            &Style {
                header: |hunk, _| format!("@@ lines {}-{} @@", hunk.old.0, hunk.old.0 + hunk.old.1),
                ..GIT
            },
        ))
    }),
    ("ln_only_at", Expect::Land, |random, case| {
        Some(rendered(
            random,
            &case.files,
            &Style {
                header: |_, _| "@@".to_owned(),
                ..GIT
            },
        ))
    }),
    ("ln_unclosed", Expect::Land, |random, case| {
        Some(rendered(
            random,
            &case.files,
            &Style {
                header: |hunk, _| format!("@@ -{},{} +{},{}", hunk.old.0, hunk.old.1, hunk.new.0, hunk.new.1),
                ..GIT
            },
        ))
    }),
    ("cnt_random", Expect::Land, |random, case| {
        Some(rendered(
            random,
            &case.files,
            &Style {
                header: |hunk, random| {
                    format!(
                        "@@ -{},{} +{},{} @@",
                        hunk.old.0,
                        random.below(20),
                        hunk.new.0,
                        random.below(20)
                    )
                },
                ..GIT
            },
        ))
    }),
    ("cnt_missing", Expect::Land, |random, case| {
        Some(rendered(
            random,
            &case.files,
            &Style {
                header: |hunk, _| format!("@@ -{} +{} @@", hunk.old.0, hunk.new.0),
                ..GIT
            },
        ))
    }),
    ("cnt_one_more_blank", Expect::Land, |random, case| {
        // A blank context line too many at the end of each hunk, and counted.
        let files = lines(case, |mark, text, at, count| {
            let mut out = vec![(mark, text.to_owned())];
            if at + 1 == count && mark == ' ' {
                out.push((' ', String::new()));
            }
            out
        });
        Some(rendered(random, &files, &GIT))
    }),
    ("hdr_no_git", Expect::Land, |random, case| {
        Some(rendered(random, &case.files, &Style { git: false, ..GIT }))
    }),
    ("hdr_no_prefix", Expect::Land, |random, case| {
        Some(rendered(
            random,
            &case.files,
            &Style {
                git: false,
                old_prefix: "",
                new_prefix: "",
                ..GIT
            },
        ))
    }),
    ("hdr_only_git", Expect::Land, |random, case| {
        only_edits(case).then(|| rendered(random, &case.files, &Style { names: false, ..GIT }))
    }),
    ("hdr_old_new_prefix", Expect::Either, |random, case| {
        if !only_edits(case) {
            return None;
        }
        Some(rendered(
            random,
            &case.files,
            &Style {
                git: false,
                old_prefix: "old/",
                new_prefix: "new/",
                ..GIT
            },
        ))
    }),
    ("hdr_index_cut", Expect::Land, |random, case| {
        Some(rendered(
            random,
            &case.files,
            &Style {
                index: Some("index 83db48f..."),
                ..GIT
            },
        ))
    }),
    ("hdr_index_odd", Expect::Land, |random, case| {
        Some(rendered(
            random,
            &case.files,
            &Style {
                index: Some("index abc..def 100644"),
                ..GIT
            },
        ))
    }),
    ("hdr_no_devnull", Expect::Land, |random, case| {
        if case.files.iter().any(|file| file.new.is_none()) {
            return None;
        }
        Some(rendered(
            random,
            &case.files,
            &Style {
                dev_null: false,
                git: false,
                ..GIT
            },
        ))
    }),
    ("hdr_one_bad", Expect::Either, |random, case| {
        let mut files = case.files.clone();
        let last = files.pop()?;
        (!files.is_empty()).then(|| {
            let mut out = rendered(random, &files, &GIT);
            file(
                &mut out,
                &last,
                &Style {
                    git: false,
                    old_prefix: "",
                    new_prefix: "",
                    index: Some("Index: x"),
                    ..GIT
                },
                random,
            );
            out
        })
    }),
    ("wrap_quote", Expect::Land, |random, case| {
        only_lf(case).then(|| each_line(&plain(random, case), |line| format!("> {line}")))
    }),
    ("wrap_quote_trimmed", Expect::Either, |random, case| {
        if trailing_blanks(case) {
            return None;
        }
        only_lf(case).then(|| {
            each_line(&plain(random, case), |line| {
                format!("> {line}").trim_end().to_owned()
            })
        })
    }),
    ("wrap_list", Expect::Land, |random, case| {
        (only_lf(case) && no_fence_inside(case)).then(|| {
            let diff = each_line(&plain(random, case), |line| format!("   {line}"));
            format!("1. Apply this:\n\n   ```diff\n{diff}   ```\n\n2. Run the tests.\n")
        })
    }),
    ("wrap_indent", Expect::Land, |random, case| {
        only_lf(case).then(|| each_line(&plain(random, case), |line| format!("    {line}")))
    }),
    ("wrap_fence_in_fence", Expect::Either, |random, case| {
        no_fence_inside(case).then(|| {
            format!(
                "````markdown\nThe change:\n\n```diff\n{}```\n````\n",
                plain(random, case)
            )
        })
    }),
    ("wrap_tilde", Expect::Land, |random, case| {
        no_fence_inside(case).then(|| format!("Patch:\n~~~diff\n{}~~~\n", plain(random, case)))
    }),
    ("wrap_fence_unclosed", Expect::Either, |random, case| {
        no_fence_inside(case).then(|| format!("```diff\n{}", plain(random, case)))
    }),
    ("wrap_heredoc", Expect::Either, |random, case| {
        no_fence_inside(case).then(|| {
            format!(
                "```bash\ncat > x.patch <<'EOF'\n{}EOF\ngit apply x.patch\n```\n",
                plain(random, case)
            )
        })
    }),
    ("wrap_heredoc_apply", Expect::Either, |random, case| {
        no_fence_inside(case).then(|| format!("```sh\ngit apply <<'EOF'\n{}EOF\n```\n", plain(random, case)))
    }),
    ("hdr_note", Expect::Either, |random, case| {
        if !only_edits(case) || !only_lf(case) {
            return None;
        }
        let diff = rendered(
            random,
            &case.files,
            &Style {
                git: false,
                old_prefix: "",
                new_prefix: "",
                ..GIT
            },
        );
        let note = |line: &str| match (line.starts_with("--- "), line.starts_with("+++ ")) {
            (true, _) => format!("{line} (original)"),
            (_, true) => format!("{line} (modified)"),
            (false, false) => line.to_owned(),
        };
        (!of_patches(case)).then(|| each_line(&diff, note))
    }),
    ("hdr_only_title", Expect::Either, |random, case| {
        if !only_edits(case) || !no_fence_inside(case) {
            return None;
        }
        let part = |random: &mut super::super::edits::Random, file: &super::super::edits::File| {
            let diff = rendered(random, std::slice::from_ref(file), &GIT);
            let body: String = diff
                .split_inclusive('\n')
                .skip_while(|line| !line.starts_with("@@"))
                .collect();
            format!("`{}`:\n```diff\n{body}```\n\n", file.path)
        };
        Some(case.files.iter().map(|file| part(random, file)).collect())
    }),
    ("wrap_before_quoted", Expect::Either, |random, case| {
        if of_patches(case) {
            return None;
        }
        no_fence_inside(case).then(|| {
            let before = case
                .files
                .first()
                .and_then(|file| file.old.clone())
                .unwrap_or_default();
            let before: String = before.lines().take(12).map(|line| format!("{line}\n")).collect();
            (!before.contains("```")).then(|| {
                format!(
                    "Before:\n```\n{before}```\nThe change:\n```diff\n{}```\n",
                    plain(random, case)
                )
            })
        })?
    }),
    ("wrap_think", Expect::Either, |random, case| {
        only_lf(case).then(|| {
            format!(
                "<think>\nI should change the file.\n</think>\n\n{}",
                plain(random, case)
            )
        })
    }),
    ("wrap_xml", Expect::Either, |random, case| {
        only_lf(case).then(|| format!("<patch>\n{}</patch>\n", plain(random, case)))
    }),
    ("wrap_mail", Expect::Land, |random, case| {
        only_lf(case).then(|| {
            format!(
                "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\nFrom: A <a@example.org>\nSubject: [PATCH] x\n\nText.\n---\n a | 2 +-\n\n{}-- \n2.40.1\n\n",
                plain(random, case)
            )
        })
    }),
    ("hunks_shuffled", Expect::Land, |random, case| {
        let mut files = case.files.clone();
        for file in &mut files {
            file.hunks.reverse();
        }
        Some(rendered(random, &files, &GIT))
    }),
    ("hunks_doubled", Expect::Either, |random, case| {
        let mut files = case.files.clone();
        for file in &mut files {
            let first = file.hunks.first()?.clone();
            file.hunks.push(first);
        }
        Some(rendered(random, &files, &GIT))
    }),
    ("answer_twice", Expect::Either, |random, case| {
        no_fence_inside(case).then(|| {
            let diff = plain(random, case);
            format!("```diff\n{diff}```\n\nIn full:\n\n```diff\n{diff}```\n")
        })
    }),
    ("del_short_body", Expect::Either, |random, case| {
        let mut files = case.files.clone();
        let mut any = false;
        for file in files.iter_mut().filter(|file| file.new.is_none()) {
            any = true;
            file.hunks.first_mut()?.lines.truncate(3);
        }
        any.then(|| rendered(random, &files, &GIT))
    }),
    ("del_no_body", Expect::Either, |random, case| {
        let mut files = case.files.clone();
        let mut any = false;
        for file in files.iter_mut().filter(|file| file.new.is_none()) {
            any = true;
            file.hunks.clear();
        }
        any.then(|| rendered(random, &files, &GIT))
    }),
];
