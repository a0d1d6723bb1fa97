//! The same edits in the other dialects, well and badly written.
//!
//! Owns: these classes. Never: asks landing.

use super::super::edits::File;
use super::super::write::{
    GIT, blocks, each_line, envelope, escaped, json, no_fence_inside, only_edits, only_lf, rendered, sides,
    whole,
};
use super::{Damage, Expect};

/// These classes.
pub const CLASSES: &[Damage] = &[
    ("sr", Expect::Land, |_, case| {
        blocks(case, |path, old, new| {
            format!("{path}\n```\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n```\n\n")
        })
    }),
    ("sr_depth", Expect::Either, |_, case| {
        blocks(case, |path, old, new| {
            format!("{path}\n```\n<<<<<<< SEARCH\n{old}======\n{new}>>>>>> REPLACE\n```\n\n")
        })
    }),
    ("sr_in_fence", Expect::Land, |_, case| {
        blocks(case, |path, old, new| {
            format!("```rust\n{path}\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n```\n\n")
        })
    }),
    ("sr_outdented", Expect::Either, |_, case| {
        let deep = |(_, text): &(char, String)| text.is_empty() || text.starts_with("    ");
        let hunks = || case.files.iter().flat_map(|file| &file.hunks);
        if !hunks().all(|hunk| hunk.lines.iter().all(deep)) {
            return None;
        }
        let out = |text: &str| each_line(text, |line| line.strip_prefix("    ").unwrap_or(line).to_owned());
        let elsewhere = |file: &File| {
            let text = file.old.clone().unwrap_or_default();
            file.hunks.iter().any(|hunk| text.contains(&out(&sides(hunk).0)))
        };
        if case.files.iter().any(elsewhere) {
            return None;
        }
        blocks(case, |path, old, new| {
            format!(
                "{path}\n<<<<<<< SEARCH\n{}=======\n{}>>>>>>> REPLACE\n\n",
                out(old),
                out(new)
            )
        })
    }),
    ("sr_html", Expect::Land, |_, case| {
        blocks(case, |path, old, new| {
            escaped(&format!(
                "{path}\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n\n"
            ))
        })
    }),
    ("json", Expect::Land, |_, case| Some(json(case)?.to_string())),
    ("json_fenced", Expect::Land, |_, case| {
        no_fence_inside(case).then(|| {
            Some(format!(
                "Sure.\n\n```json\n{}\n```\n",
                serde_json::to_string_pretty(&json(case)?).expect("json")
            ))
        })?
    }),
    ("json_raw_newlines", Expect::Either, |_, case| {
        Some(json(case)?.to_string().replace("\\n", "\n"))
    }),
    ("json_trailing_comma", Expect::Either, |_, case| {
        let text = json(case)?.to_string();
        // A text with these brackets would be changed, too.
        (text.matches("}]").count() == 1).then(|| text.replace("}]", "},]"))
    }),
    ("json_double_escaped", Expect::Either, |_, case| {
        Some(json(case)?.to_string().replace("\\n", "\\\\n"))
    }),
    ("json_prose", Expect::Either, |_, case| {
        Some(format!("Here are the edits:\n{}\nDone.\n", json(case)?))
    }),
    ("envelope", Expect::Land, |_, case| {
        envelope(case, |_| "@@\n".to_owned())
    }),
    ("envelope_section", Expect::Land, |_, case| {
        envelope(case, |hunk| format!("@@ {}\n", hunk.section))
    }),
    ("envelope_numbers", Expect::Land, |_, case| {
        envelope(case, |hunk| {
            format!(
                "@@ -{},{} +{},{} @@\n",
                hunk.old.0, hunk.old.1, hunk.new.0, hunk.new.1
            )
        })
    }),
    ("envelope_no_end", Expect::Either, |_, case| {
        Some(envelope(case, |_| "@@\n".to_owned())?.replace("*** End Patch\n", ""))
    }),
    ("envelope_fenced", Expect::Land, |_, case| {
        no_fence_inside(case).then(|| {
            Some(format!(
                "Here:\n```\n{}```\n",
                envelope(case, |_| "@@\n".to_owned())?
            ))
        })?
    }),
    ("whole", Expect::Land, |_, case| {
        whole(case, |path, new| format!("`{path}`\n```\n{new}```\n\n"))
    }),
    ("whole_crlf", Expect::Either, |_, case| {
        Some(whole(case, |path, new| format!("`{path}`\n```\n{new}```\n\n"))?.replace('\n', "\r\n"))
    }),
    ("whole_bom", Expect::Either, |_, case| {
        if !only_edits(case)
            || case
                .files
                .iter()
                .any(|file| file.new.as_ref().is_some_and(|new| new.starts_with('\u{feff}')))
        {
            return None;
        }
        whole(case, |path, new| format!("`{path}`\n```\n\u{feff}{new}```\n\n"))
    }),
    ("whole_before_after", Expect::Either, |_, case| {
        let text = whole(case, |path, new| format!("`{path}`\n\nAfter:\n```\n{new}```\n\n"))?;
        let first = case.files.first()?;
        let old = first.old.as_ref()?;
        (!old.contains("```")).then(|| format!("`{}`\n\nBefore:\n```\n{old}```\n{text}", first.path))
    }),
    ("mixed_dialects", Expect::Either, |random, case| {
        let (first, rest) = case.files.split_first()?;
        let good = !rest.is_empty() && only_edits(case) && only_lf(case) && no_fence_inside(case);
        good.then(|| {
            let mut out = rendered(random, rest, &GIT);
            for hunk in &first.hunks {
                let (old, new) = sides(hunk);
                out.push_str(&format!(
                    "\n{}\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n",
                    first.path
                ));
            }
            out
        })
    }),
];
