//! What is lost or bent in part: context lines, blanks at one side, the file's own characters, and what was applied
//! before.
//!
//! Owns: these classes. Never: asks landing.

use std::collections::BTreeMap;

use super::super::edits::{Case, File, Hunk, Random, fits_at, moved};
use super::super::write::{
    GIT, Style, bare, bare_new_file, blocks, json, lines, only_edits, only_lf, rendered, trailing_blanks,
    whole,
};
use super::{Damage, Expect};
use crate::memory::Memory;

/// These classes.
pub const CLASSES: &[Damage] = &[
    ("ctx_lost_any", Expect::Either, |random, case| {
        let files = without_one(random, case);
        Some(rendered(random, &files, &GIT))
    }),
    ("ctx_lost_any_bare", Expect::Either, |random, case| {
        let files = without_one(random, case);
        // Without counts and with context at one side only, what is left is a right answer of its own.
        let is_context = |line: Option<&(char, String)>| line.is_some_and(|line| line.0 == ' ');
        let mut hunks = files.iter().flat_map(|file| &file.hunks);
        let kept = hunks.all(|hunk| is_context(hunk.lines.first()) && is_context(hunk.lines.last()));
        kept.then(|| rendered(random, &files, &bare_style()))
    }),
    ("ctx_below_only", Expect::Either, |random, case| {
        let files = one_sided(case, true)?;
        Some(rendered(random, &files, &bare_style()))
    }),
    ("ctx_above_only", Expect::Either, |random, case| {
        let files = one_sided(case, false)?;
        Some(rendered(random, &files, &bare_style()))
    }),
    ("ctx_0_shifted", Expect::Either, |random, case| {
        let mut files = case.files.clone();
        for file in &mut files {
            file.hunks = file.hunks.iter().flat_map(bare_runs).collect();
        }
        let off = random.below(7);
        for hunk in files.iter_mut().flat_map(|file| &mut file.hunks) {
            hunk.old.0 += off;
            hunk.new.0 += off;
        }
        only_edits(case).then(|| rendered(random, &files, &GIT))
    }),
    ("ctx_0_counted", Expect::Either, |random, case| {
        let mut files = case.files.clone();
        for file in &mut files {
            file.hunks = file.hunks.iter().flat_map(bare_runs).collect();
        }
        only_edits(case).then(|| rendered(random, &files, &GIT))
    }),
    ("ctx_1_bare", Expect::Either, |random, case| {
        let files = narrow(&case.files, 1);
        Some(rendered(random, &files, &bare_style()))
    }),
    ("ctx_1_all_one", Expect::Either, |random, case| {
        let files = narrow(&case.files, 1);
        let fits = |file: &File| (0..file.hunks.len()).any(|at| fits_at(file, at, 1));
        let style = Style {
            header: |hunk, _| format!("@@ -1,{} +1,{} @@", hunk.old.1, hunk.new.1),
            ..GIT
        };
        (!files.iter().any(fits)).then(|| rendered(random, &files, &style))
    }),
    ("ln_far_off", Expect::Either, |random, case| {
        let files = moved(narrow(&case.files, 1), || random.below(60))?;
        Some(rendered(random, &files, &GIT))
    }),
    ("txt_plain_quotes", Expect::Either, |random, case| {
        // The file has typographic characters, and the answer has ASCII in the lines of the file.
        let ascii = |text: &str| {
            text.replace(['\u{201c}', '\u{201d}'], "\"")
                .replace('\u{2019}', "'")
                .replace('\u{2013}', "-")
        };
        let mut all = case
            .files
            .iter()
            .flat_map(|file| &file.hunks)
            .flat_map(|hunk| &hunk.lines);
        if all.any(|(mark, text)| *mark == '+' && ascii(text) != *text) {
            return None;
        }
        let files = lines(case, |mark, text, _, _| vec![(mark, ascii(text))]);
        Some(rendered(random, &files, &GIT))
    }),
    ("ws_outdented", Expect::Either, |random, case| {
        let files = outdented(case, false)?;
        Some(rendered(random, &files, &GIT))
    }),
    ("ws_outdented_empty", Expect::Either, |random, case| {
        let files = outdented(case, true)?;
        Some(rendered(random, &files, &bare_style()))
    }),
    ("ws_trailing_some", Expect::Either, |random, case| {
        if trailing_blanks(case) {
            return None;
        }
        let mut number = random.below(3);
        let files = lines(case, |mark, text, _, _| {
            number += 1;
            let text = match number % 3 {
                0 if !text.contains('\r') && mark != '\\' => format!("{text}  "),
                _ => text.to_owned(),
            };
            vec![(mark, text)]
        });
        tells(case, &files).then(|| rendered(random, &files, &GIT))
    }),
    ("ws_trailing_uniform", Expect::Either, |random, case| {
        let files = lines(case, |mark, text, _, _| match mark {
            '\\' => vec![(mark, text.to_owned())],
            _ => vec![(mark, format!("{text} "))],
        });
        (only_lf(case) && !trailing_blanks(case)).then(|| rendered(random, &files, &GIT))
    }),
    ("ws_tabs_4_any", Expect::Either, |random, case| {
        if adds_spaces(case) {
            return None;
        }
        let files = lines(case, |mark, text, _, _| vec![(mark, text.replace('\t', "    "))]);
        (only_edits(case) && tells(case, &files)).then(|| rendered(random, &files, &GIT))
    }),
    ("ws_tabs_8_any", Expect::Either, |random, case| {
        if adds_spaces(case) {
            return None;
        }
        let files = lines(case, |mark, text, _, _| {
            vec![(mark, text.replace('\t', "        "))]
        });
        (only_edits(case) && tells(case, &files)).then(|| rendered(random, &files, &bare_style()))
    }),
    ("ws_blank_lines_emptied", Expect::Either, |random, case| {
        let files = lines(case, |mark, text, _, _| match text.trim_matches([' ', '\t']) {
            "" => vec![(mark, String::new())],
            _ => vec![(mark, text.to_owned())],
        });
        let told = |(mark, text): &(char, String)| *mark == '+' && text.trim().is_empty() && !text.is_empty();
        let mut all = case
            .files
            .iter()
            .flat_map(|file| &file.hunks)
            .flat_map(|hunk| &hunk.lines);
        (!all.any(told)).then(|| rendered(random, &files, &GIT))
    }),
    ("sr_outdented_any", Expect::Either, |_, case| {
        let case = &Case {
            files: outdented(case, false)?,
            ..no_case()
        };
        blocks(case, search_replace)
    }),
    ("sr_outdented_empty", Expect::Either, |_, case| {
        let case = &Case {
            files: outdented(case, true)?,
            ..no_case()
        };
        blocks(case, search_replace)
    }),
    ("sr_trailing", Expect::Either, |_, case| {
        if trailing_blanks(case) {
            return None;
        }
        let files = lines(case, |mark, text, _, _| vec![(mark, format!("{text}  "))]);
        blocks(&Case { files, ..no_case() }, search_replace)
    }),
    ("sr_trailing_some", Expect::Either, |random, case| {
        if trailing_blanks(case) {
            return None;
        }
        let mut number = random.below(4);
        let files = lines(case, |mark, text, _, _| {
            number += 1;
            vec![(
                mark,
                if number % 4 == 0 {
                    format!("{text} ")
                } else {
                    text.to_owned()
                },
            )]
        });
        if !tells(case, &files) {
            return None;
        }
        blocks(&Case { files, ..no_case() }, search_replace)
    }),
    ("sr_no_mark", Expect::Either, |_, case| {
        // The byte order mark is not shown to a model.
        let files = lines(case, |mark, text, _, _| {
            vec![(mark, text.replace('\u{feff}', ""))]
        });
        blocks(&Case { files, ..no_case() }, search_replace)
    }),
    ("sr_elided", Expect::Either, |_, case| {
        let files = lines(case, |mark, text, at, count| match mark {
            ' ' if count > 9 && at == count / 2 => vec![(' ', "...".to_owned())],
            ' ' if count > 9 && at == count / 2 + 1 => vec![],
            _ => vec![(mark, text.to_owned())],
        });
        blocks(&Case { files, ..no_case() }, search_replace)
    }),
    ("sr_narrow", Expect::Either, |_, case| {
        blocks(
            &Case {
                files: narrow(&case.files, 1),
                ..no_case()
            },
            search_replace,
        )
    }),
    ("json_narrow", Expect::Either, |_, case| {
        Some(
            json(&Case {
                files: narrow(&case.files, 1),
                ..no_case()
            })?
            .to_string(),
        )
    }),
    ("whole_no_mark", Expect::Either, |_, case| {
        if !only_edits(case) {
            return None;
        }
        whole(case, |path, new| {
            format!("`{path}`\n```\n{}```\n\n", new.replace('\u{feff}', ""))
        })
    }),
    ("whole_cut_newline", Expect::Either, |_, case| {
        let text = whole(case, |path, new| format!("`{path}`\n```\n{new}```\n\n"))?;
        Some(text.trim_end().to_owned())
    }),
    ("eof_note_lost_bare", Expect::Either, |random, case| {
        if bare_new_file(case) || changes_final_newline(case) {
            return None;
        }
        let files = lines(case, |mark, text, _, _| match mark {
            '\\' => vec![],
            _ => vec![(mark, text.to_owned())],
        });
        Some(rendered(random, &files, &bare_style()))
    }),
    ("half_reversed", Expect::Either, |random, case| {
        // One hunk of several has other text in its context, so that it fits nowhere: nothing may land.
        let mut files = case.files.clone();
        let mut hunks: Vec<&mut Hunk> = files.iter_mut().flat_map(|file| &mut file.hunks).collect();
        let at = random.below(hunks.len());
        let hunk = hunks.get_mut(at)?;
        let line = hunk
            .lines
            .iter_mut()
            .find(|(mark, text)| *mark != '+' && text.trim().len() > 3)?;
        line.1.push_str(" // not in the file");
        Some(rendered(random, &files, &GIT))
    }),
    ("bare", Expect::Either, |random, case| Some(bare(random, case))),
];

fn bare_style() -> Style {
    Style {
        header: |_, _| "@@ @@".to_owned(),
        ..GIT
    }
}

/// What a case needs to be written again with other files.
fn no_case() -> Case {
    Case {
        diff: Vec::new(),
        base: Memory::default(),
        expected: BTreeMap::new(),
        files: Vec::new(),
    }
}

fn search_replace(path: &str, old: &str, new: &str) -> String {
    format!("{path}\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n\n")
}

/// One context line of each hunk is left out.
fn without_one(random: &mut Random, case: &Case) -> Vec<File> {
    let mut files = case.files.clone();
    for hunk in files.iter_mut().flat_map(|file| &mut file.hunks) {
        let context: Vec<usize> = (0..hunk.lines.len())
            .filter(|at| hunk.lines[*at].0 == ' ')
            .collect();
        if let Some(at) = context.get(random.below(context.len())) {
            hunk.lines.remove(*at);
        }
    }
    files
}

/// Context is left above the changes only, or below. `None` if the file has the lines of a result already, as where a copy of
/// lines is put beside them: then nothing in such a text shows that it was not applied before.
fn one_sided(case: &Case, below: bool) -> Option<Vec<File>> {
    let mut files = case.files.clone();
    for hunk in files.iter_mut().flat_map(|file| &mut file.hunks) {
        let lines = &mut hunk.lines;
        if below {
            let lead = lines.iter().take_while(|(mark, _)| *mark == ' ').count();
            lines.drain(..lead);
        } else {
            let trail = lines.iter().rev().take_while(|(mark, _)| *mark == ' ').count();
            lines.truncate(lines.len() - trail);
        }
    }
    (!files.iter().any(shows_what_is_there)).then_some(files)
}

/// The lines that a hunk leaves are in the old file, one below the other.
pub fn shows_what_is_there(file: &File) -> bool {
    let old: Vec<&str> = file.old.as_deref().unwrap_or_default().lines().collect();
    file.hunks.iter().any(|hunk| {
        let left: Vec<&str> = hunk
            .lines
            .iter()
            .filter(|(mark, _)| matches!(mark, ' ' | '+'))
            .map(|(_, text)| text.as_str())
            .collect();
        !left.is_empty() && old.windows(left.len()).any(|window| window == left)
    })
}

/// An added line is indented by spaces: in a file with tabs, that is the author's choice.
fn adds_spaces(case: &Case) -> bool {
    let mut lines = case
        .files
        .iter()
        .flat_map(|file| &file.hunks)
        .flat_map(|hunk| &hunk.lines);
    lines.any(|(mark, text)| *mark == '+' && text.contains("    "))
}

/// Every hunk with a changed added line shows the change in an old line, too.
fn tells(case: &Case, files: &[File]) -> bool {
    let hunks = |files: &[File]| -> Vec<Hunk> { files.iter().flat_map(|file| file.hunks.clone()).collect() };
    hunks(&case.files).iter().zip(hunks(files)).all(|(right, hunk)| {
        let differs = |added: bool| {
            let mut pairs = right.lines.iter().zip(&hunk.lines);
            pairs.any(|(right, line)| {
                let says = added || !right.1.trim().is_empty();
                (line.0 == '+') == added && says && right.1 != line.1
            })
        };
        !differs(true) || differs(false)
    })
}

/// At most this many lines of context at each side of a hunk.
pub fn narrow(files: &[File], most: usize) -> Vec<File> {
    let mut files = files.to_vec();
    for hunk in files.iter_mut().flat_map(|file| &mut file.hunks) {
        let lead = hunk.lines.iter().take_while(|(mark, _)| *mark == ' ').count();
        let drop = lead.saturating_sub(most);
        hunk.lines.drain(..drop);
        hunk.old.0 += drop;
        hunk.new.0 += drop;
        let trail = hunk
            .lines
            .iter()
            .rev()
            .take_while(|(mark, _)| *mark == ' ')
            .count();
        let keep = hunk.lines.len() - trail.saturating_sub(most);
        hunk.lines.truncate(keep);
        let count = |out: char| {
            hunk.lines
                .iter()
                .filter(|(mark, _)| *mark != out && *mark != '\\')
                .count()
        };
        (hunk.old.1, hunk.new.1) = (count('+'), count('-'));
    }
    files
}

/// The changes of a hunk one by one, each with its own numbers, as `git diff -U0` writes them.
pub fn bare_runs(hunk: &Hunk) -> Vec<Hunk> {
    let (mut old, mut new) = (hunk.old.0, hunk.new.0);
    let mut out: Vec<Hunk> = Vec::new();
    let mut open = false;
    for (mark, text) in &hunk.lines {
        if *mark == ' ' {
            open = false;
            (old, new) = (old + 1, new + 1);
            continue;
        }
        if !open {
            out.push(Hunk {
                old: (old, 0),
                new: (new, 0),
                section: String::new(),
                lines: Vec::new(),
            });
            open = true;
        }
        if let Some(run) = out.last_mut() {
            run.lines.push((*mark, text.clone()));
            run.old.1 += usize::from(*mark == '-');
            run.new.1 += usize::from(*mark == '+');
        }
        old += usize::from(*mark == '-');
        new += usize::from(*mark == '+');
    }
    for run in &mut out {
        // An empty side states the line before it.
        run.old.0 -= usize::from(run.old.1 == 0 && run.old.0 > 0);
        run.new.0 -= usize::from(run.new.1 == 0 && run.new.0 > 0);
    }
    out
}

/// Each hunk without the indentation that all its lines share. `empty` also empties its lines of blanks.
fn outdented(case: &Case, empty: bool) -> Option<Vec<File>> {
    if !only_edits(case) {
        return None;
    }
    let mut files = case.files.clone();
    let mut any = false;
    for hunk in files.iter_mut().flat_map(|file| &mut file.hunks) {
        let said = hunk
            .lines
            .iter()
            .filter(|(mark, text)| *mark != '\\' && !text.trim().is_empty());
        let depth = |text: &str| text.len() - text.trim_start_matches(' ').len();
        let shared = said.map(|(_, text)| depth(text)).min().unwrap_or_default();
        any |= shared > 0;
        for (mark, text) in &mut hunk.lines {
            let blank = text.trim_matches([' ', '\t']).is_empty();
            *text = match (*mark, blank) {
                ('\\', _) => continue,
                // Without a shift, nothing would show that such a line lost its blanks.
                (_, true) if empty && shared > 0 => String::new(),
                _ => text.get(shared.min(depth(text))..).unwrap_or_default().to_owned(),
            };
        }
    }
    any.then_some(files)
}

/// The file gains or loses its final newline.
fn changes_final_newline(case: &Case) -> bool {
    let ends = |text: &Option<String>| text.as_ref().map(|text| text.ends_with('\n'));
    case.files.iter().any(|file| ends(&file.old) != ends(&file.new))
}
