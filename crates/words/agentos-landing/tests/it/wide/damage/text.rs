//! Lines and blanks: context, indentation, line ends, escaping.
//!
//! Owns: these classes. Never: asks landing.

use super::super::edits::Hunk;
use super::super::write::{
    GIT, Style, bare, bare_new_file, colour, each_line, escaped, lines, numbered, of_patches, only_edits,
    only_lf, plain, rendered, respaced, runs, trailing_blanks,
};
use super::{Damage, Expect};

/// These classes.
pub const CLASSES: &[Damage] = &[
    ("ctx_0", Expect::Land, |random, case| {
        let mut files = case.files.clone();
        for file in &mut files {
            file.hunks = file.hunks.iter().flat_map(runs).collect();
        }
        let told = |hunk: &Hunk| hunk.lines.iter().any(|(mark, _)| *mark == '-');
        let all = only_edits(case) && files.iter().flat_map(|file| &file.hunks).all(told);
        let style = Style {
            header: |_, _| "@@ @@".to_owned(),
            ..GIT
        };
        all.then(|| rendered(random, &files, &style))
    }),
    ("ctx_lost_blank", Expect::Either, |random, case| {
        if !only_lf(case) || of_patches(case) {
            return None;
        }
        let diff = bare(random, case);
        Some(each_line(&diff, |line| {
            line.strip_prefix(' ').unwrap_or(line).to_owned()
        }))
    }),
    ("ctx_lost_blank_counted", Expect::Either, |random, case| {
        if !only_lf(case) || of_patches(case) {
            return None;
        }
        Some(each_line(&plain(random, case), |line| {
            line.strip_prefix(' ').unwrap_or(line).to_owned()
        }))
    }),
    ("ws_trailing_all", Expect::Either, |random, case| {
        if !only_lf(case) || trailing_blanks(case) {
            return None;
        }
        Some(each_line(&bare(random, case), |line| format!("{line}  ")))
    }),
    ("txt_json_string", Expect::Either, |random, case| {
        Some(serde_json::Value::String(plain(random, case)).to_string())
    }),
    ("ctx_lost_blank_empty", Expect::Land, |random, case| {
        if !only_lf(case) {
            return None;
        }
        let diff = plain(random, case);
        Some(each_line(&diff, |line| {
            if line == " " {
                String::new()
            } else {
                line.to_owned()
            }
        }))
    }),
    ("ctx_wrapped", Expect::Either, |random, case| {
        if !only_lf(case) {
            return None;
        }
        let diff = plain(random, case);
        Some(each_line(&diff, |line| match line.char_indices().nth(60) {
            Some((at, _)) if line.starts_with(' ') => {
                let (head, tail) = line.split_at(at);
                format!("{head}\n{tail}")
            }
            _ => line.to_owned(),
        }))
    }),
    ("ctx_elided", Expect::Land, |random, case| {
        // The middle of a long hunk left out.
        let files = lines(case, |mark, text, at, count| {
            if mark == ' ' && count > 12 && at == count / 2 {
                vec![(' ', "...".to_owned())]
            } else {
                vec![(mark, text.to_owned())]
            }
        });
        Some(rendered(
            random,
            &files,
            &Style {
                header: |_, _| "@@ @@".to_owned(),
                ..GIT
            },
        ))
    }),
    ("ctx_dropped_last", Expect::Land, |random, case| {
        let files = lines(case, |mark, text, at, count| {
            if mark == ' ' && at + 1 == count {
                vec![]
            } else {
                vec![(mark, text.to_owned())]
            }
        });
        Some(rendered(random, &files, &GIT))
    }),
    ("add_lost_indent", Expect::Either, |random, case| {
        // The mark took the place of a blank in removed and added lines.
        let files = lines(case, |mark, text, _, _| match mark {
            '+' | '-' => vec![(mark, text.strip_prefix(' ').unwrap_or(text).to_owned())],
            _ => vec![(mark, text.to_owned())],
        });
        let gone = case.files.iter().flat_map(|file| &file.hunks).all(|hunk| {
            hunk.lines
                .iter()
                .any(|(mark, text)| *mark == '-' && text.trim() != "" && text.starts_with(' '))
        });
        gone.then(|| rendered(random, &files, &GIT))
    }),
    ("ws_trailing_added", Expect::Land, |random, case| {
        // Blanks that the author added could be those of the damage.
        if trailing_blanks(case) {
            return None;
        }
        let files = lines(case, |mark, text, _, _| match mark {
            ' ' | '-' if !text.contains('\r') => vec![(mark, format!("{text}  "))],
            _ => vec![(mark, text.to_owned())],
        });
        Some(rendered(random, &files, &GIT))
    }),
    ("ws_trailing_lost", Expect::Either, |random, case| {
        if !only_lf(case) {
            return None;
        }
        if trailing_blanks(case) {
            return None;
        }
        let diff = plain(random, case);
        Some(each_line(&diff, |line| {
            line.trim_end_matches([' ', '\t']).to_owned()
        }))
    }),
    ("ws_tabs_as_spaces", Expect::Either, |random, case| {
        respaced(random, case, "\t", "    ")
    }),
    ("ws_spaces_as_tabs", Expect::Either, |random, case| {
        respaced(random, case, "    ", "\t")
    }),
    ("ws_mixed_tabs", Expect::Either, |random, case| {
        let files = lines(case, |mark, text, at, _| {
            vec![(
                mark,
                if at % 2 == 0 && mark == ' ' {
                    text.replace("    ", "\t")
                } else {
                    text.to_owned()
                },
            )]
        });
        Some(rendered(random, &files, &GIT))
    }),
    ("ws_reindented", Expect::Either, |random, case| {
        let files = lines(case, |mark, text, _, _| {
            vec![(
                mark,
                if text.is_empty() || mark == '\\' {
                    text.to_owned()
                } else {
                    format!("  {text}")
                },
            )]
        });
        only_edits(case).then(|| rendered(random, &files, &GIT))
    }),
    ("eol_crlf_answer", Expect::Land, |random, case| {
        only_lf(case).then(|| plain(random, case).replace('\n', "\r\n"))
    }),
    ("eol_cr_only", Expect::Either, |random, case| {
        only_lf(case).then(|| plain(random, case).replace('\n', "\r"))
    }),
    ("eof_note_lost", Expect::Either, |random, case| {
        if bare_new_file(case) {
            return None;
        }
        let files = lines(case, |mark, text, _, _| {
            if mark == '\\' {
                vec![]
            } else {
                vec![(mark, text.to_owned())]
            }
        });
        Some(rendered(random, &files, &GIT))
    }),
    ("eof_note_worded", Expect::Land, |random, case| {
        let files = lines(case, |mark, text, _, _| {
            vec![(
                mark,
                if mark == '\\' {
                    " No newline at EOF".to_owned()
                } else {
                    text.to_owned()
                },
            )]
        });
        Some(rendered(random, &files, &GIT))
    }),
    ("txt_html", Expect::Land, |random, case| {
        Some(escaped(&plain(random, case)))
    }),
    ("txt_html_partly", Expect::Either, |random, case| {
        let text = plain(random, case);
        // An entity of the text itself looks like one of the damage.
        let added = |line: &str| line.starts_with('+') && line.contains('&');
        (!text.lines().any(added)).then(|| text.replace('<', "&lt;").replace('>', "&gt;"))
    }),
    ("txt_html_context", Expect::Either, |random, case| {
        let files = lines(case, |mark, text, _, _| {
            vec![(
                mark,
                if mark == ' ' {
                    escaped(text)
                } else {
                    text.to_owned()
                },
            )]
        });
        Some(rendered(random, &files, &GIT))
    }),
    ("txt_colour", Expect::Land, |random, case| {
        if !only_lf(case) {
            return None;
        }
        Some(colour(&plain(random, case)))
    }),
    ("txt_numbered_bar", Expect::Either, |random, case| {
        if !only_edits(case) {
            return None;
        }
        let files = numbered(case, " | ");
        Some(rendered(random, &files, &GIT))
    }),
    ("txt_numbered_colon", Expect::Either, |random, case| {
        if !only_edits(case) {
            return None;
        }
        let files = numbered(case, ": ");
        Some(rendered(random, &files, &GIT))
    }),
    ("txt_numbered_context", Expect::Either, |random, case| {
        let mut files = numbered(case, " | ");
        for (mark, text) in files
            .iter_mut()
            .flat_map(|file| &mut file.hunks)
            .flat_map(|hunk| &mut hunk.lines)
        {
            if *mark == '+' {
                *text = text
                    .split_once(" | ")
                    .map(|(_, rest)| rest.to_owned())
                    .unwrap_or_default();
            }
        }
        Some(rendered(random, &files, &GIT))
    }),
    ("txt_smart_quotes", Expect::Either, |random, case| {
        let files = lines(case, |mark, text, _, _| {
            vec![(
                mark,
                if mark == '+' {
                    text.to_owned()
                } else {
                    text.replace('"', "\u{201d}").replace('\'', "\u{2019}")
                },
            )]
        });
        Some(rendered(random, &files, &GIT))
    }),
    ("txt_nbsp", Expect::Either, |random, case| {
        let files = lines(case, |mark, text, _, _| {
            vec![(
                mark,
                if mark == '+' {
                    text.to_owned()
                } else {
                    text.replace("  ", "\u{a0} ")
                },
            )]
        });
        Some(rendered(random, &files, &GIT))
    }),
];
