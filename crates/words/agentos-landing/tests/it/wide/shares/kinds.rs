//! Kinds of damage with the names and the shares of the public set, and mixes of them.
//!
//! Owns: the list. A kind returns false if it does not fit a case. Never: asks landing.

use super::super::edits::{Case, File, Hunk, Random};
use super::super::write::{blocks, envelope, sides, whole};
use super::clear::means_another_edit;
use super::cut;
use super::draft::{Draft, Index, Names, Numbers};

/// Damage to a draft.
pub type Damage = fn(&mut Random, &mut Draft) -> bool;

/// Kinds of damage to a unified diff: the name, the number of inputs in the public set, and the damage.
pub const KINDS: &[(&str, usize, Damage)] = &[
    ("clean", 4, |_, _| true),
    ("clean_full_index", 2, |_, draft| {
        set(&mut draft.index, Index::Full)
    }),
    ("cnt_missing", 2, |_, draft| {
        set(&mut draft.numbers, Numbers::NoCounts)
    }),
    ("cnt_off_small", 2, cnt_off_small),
    ("cnt_random", 2, cnt_random),
    ("ctx_0", 2, ctx_0),
    ("ctx_1", 2, ctx_1),
    ("ctx_missing_line", 2, cut::missing_line),
    ("ctx_missing_counted", 2, cut::missing_counted),
    ("ctx_paraphrase", 2, ctx_paraphrase),
    ("ctx_tail_cut", 2, cut::tail),
    ("ctx_tail_cut_last", 2, cut::last_tail),
    ("ctx_head_cut", 1, cut::head),
    ("answer_cut", 2, cut::answer),
    ("eol_crlf_patch", 2, eol_crlf_patch),
    ("hdr_fake_index", 2, |_, draft| set(&mut draft.index, Index::Fake)),
    ("hdr_no_devnull", 2, hdr_no_devnull),
    ("hdr_no_git", 2, |_, draft| set(&mut draft.git, false)),
    ("hdr_no_index", 2, |_, draft| {
        set(&mut draft.index, Index::Missing)
    }),
    ("hdr_no_prefix", 2, |_, draft| set(&mut draft.prefixes, ("", ""))),
    ("hdr_plusplus_only", 2, |_, draft| {
        set(&mut draft.names, Names::OnlyNew)
    }),
    ("hdr_timestamps", 2, |_, draft| {
        set(&mut draft.names, Names::Dated)
    }),
    ("hunks_shuffled", 2, hunks_shuffled),
    ("invented_removed", 2, invented_removed),
    ("ln_all_one", 2, |_, draft| lose(draft, Numbers::AllOne)),
    ("ln_bare", 2, |_, draft| lose(draft, Numbers::Bare)),
    ("ln_dots", 2, |_, draft| lose(draft, Numbers::Dots)),
    ("ln_off_far", 2, ln_off_far),
    ("ln_off_small", 2, ln_off_small),
    ("ln_placeholder", 2, |_, draft| lose(draft, Numbers::Placeholder)),
    ("ln_section_only", 2, |_, draft| lose(draft, Numbers::Section)),
    ("uni_ascii", 2, uni_ascii),
    ("uni_nbsp", 2, uni_nbsp),
    ("wrap_fence", 2, |_, draft| wrap(draft, fence)),
    ("wrap_indent", 2, |_, draft| {
        wrap(draft, |text| by_line(text, |line| format!("    {line}")))
    }),
    ("wrap_mail", 2, |_, draft| wrap(draft, mail)),
    ("wrap_no_final_newline", 2, |_, draft| {
        wrap(draft, |text| text.trim_end_matches('\n').to_owned())
    }),
    ("wrap_prose", 2, |_, draft| wrap(draft, prose)),
    ("ws_blank_ctx", 2, ws_blank_ctx),
    ("ws_inner", 2, ws_inner),
    ("ws_tabs_ctx", 2, |_, draft| ws_tabs(draft, " ")),
    ("ws_tabs_old", 2, |_, draft| ws_tabs(draft, " -")),
    ("mix_chat", 2, |_, draft| {
        draft.index = Index::Missing;
        wrap(draft, fence) && wrap(draft, prose)
    }),
    ("mix_crlf_fence", 2, |random, draft| {
        draft.index = Index::Missing;
        wrap(draft, fence) && eol_crlf_patch(random, draft)
    }),
    ("mix_order_counts", 2, |random, draft| {
        hunks_shuffled(random, draft) && cnt_off_small(random, draft)
    }),
    ("mix_sloppy", 2, |random, draft| {
        draft.git = false;
        lose(draft, Numbers::Bare) && ws_blank_ctx(random, draft) && wrap(draft, prose)
    }),
    ("mix_tabs_numbers", 2, |random, draft| {
        ws_tabs(draft, " ") && ln_off_far(random, draft)
    }),
    ("mix_terse", 2, |random, draft| {
        draft.git = false;
        let cut = random.one_in(3);
        ctx_1(random, draft) && cnt_off_small(random, draft) && (!cut || cut::tail(random, draft))
    }),
    ("mix_random", 4, mix_random),
    ("eol_crlf_file", 2, |_, draft| {
        respaced(draft, |_, text| text.trim_end_matches('\r').to_owned())
    }),
    ("eof_marker_lost", 2, eof_marker_lost),
    ("file_split", 2, file_split),
    ("file_duplicated", 2, |_, draft| {
        draft.files.extend(draft.files.clone());
        set(&mut draft.is_doubtful, true)
    }),
    ("hunk_duplicated", 2, hunk_duplicated),
    ("fmt_aider_udiff", 2, |_, draft| {
        (draft.git, draft.prefixes) = (false, ("", ""));
        lose(draft, Numbers::Dots) && wrap(draft, fence) && wrap(draft, prose)
    }),
];

/// Other dialects: the name, the number of inputs in the public set, the damage, and the writing of the damaged case.
pub const FORMS: &[(&str, usize, Damage, Writing)] = &[
    (
        "fmt_codex",
        2,
        |_, _| true,
        |case| envelope(case, |_| "@@\n".to_owned()),
    ),
    (
        "fmt_codex_chatty",
        2,
        |_, draft| wrap(draft, |text| text.to_owned()),
        |case| {
            let text = envelope(case, |_| "@@\n".to_owned())?;
            Some(prose(&format!("```\n{text}```\n")))
        },
    ),
    (
        "fmt_codex_ws",
        2,
        |_, draft| ws_tabs(draft, " "),
        |case| envelope(case, |_| "@@\n".to_owned()),
    ),
    ("fmt_search_replace", 2, |_, _| true, search_replace),
    ("fmt_sr_trailing_ws", 2, sr_trailing, search_replace),
    ("fmt_sr_outdent", 2, sr_outdent, search_replace),
    (
        "fmt_whole_file",
        2,
        |_, _| true,
        |case| whole(case, |path, new| format!("{path}\n```\n{new}```\n\n")),
    ),
];

/// Writes a damaged case in another dialect. Returns nothing if the dialect cannot show it.
pub type Writing = fn(&Case) -> Option<String>;

fn search_replace(case: &Case) -> Option<String> {
    let blocks = blocks(case, |path, old, new| {
        format!("{path}\n```\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n```\n\n")
    });
    Some(prose(&blocks?))
}

/// Lines of the file have blanks at the end, and the new ones do not.
fn sr_trailing(random: &mut Random, draft: &mut Draft) -> bool {
    let every = 1 + random.below(4);
    // A line that is moved may have its own blanks at the end.
    let ends = |(_, text): &(char, String)| text.ends_with([' ', '\t']);
    let any = draft.hunks().flat_map(|hunk| &hunk.lines).any(ends);
    draft.is_doubtful |= any;
    respaced(draft, |mark, text| match mark {
        '-' | ' ' if text.len() % every == 0 && !text.is_empty() => format!("{text}  "),
        _ => text.to_owned(),
    })
}

fn sr_outdent(_: &mut Random, draft: &mut Draft) -> bool {
    draft.is_doubtful = true;
    let deep = |(_, text): &(char, String)| text.is_empty() || text.starts_with("    ");
    let all = draft.hunks().flat_map(|hunk| &hunk.lines).all(deep);
    let out = |text: &str| by_line(text, |line| line.strip_prefix("    ").unwrap_or(line).to_owned());
    let elsewhere = |file: &File| {
        let text = file.old.clone().unwrap_or_default();
        file.hunks.iter().any(|hunk| text.contains(&out(&sides(hunk).0)))
    };
    // That text would be the right answer for another edit.
    let all = all && !draft.files.iter().any(elsewhere);
    all && respaced(draft, |_, text| {
        text.strip_prefix("    ").unwrap_or(text).to_owned()
    })
}

fn eof_marker_lost(_: &mut Random, draft: &mut Draft) -> bool {
    draft.index = Index::Missing;
    let ends = |text: &Option<String>| text.as_ref().map(|text| text.ends_with('\n'));
    draft.is_doubtful |= draft.files.iter().any(|file| ends(&file.old) != ends(&file.new));
    let noted = |hunk: &Hunk| hunk.lines.iter().any(|(mark, _)| *mark == '\\');
    let any = draft.hunks().any(noted);
    draft
        .hunks_mut()
        .for_each(|hunk| hunk.lines.retain(|(mark, _)| *mark != '\\'));
    any
}

/// Each hunk below a header of its own.
fn file_split(_: &mut Random, draft: &mut Draft) -> bool {
    let split = |file: &File| -> Vec<File> {
        let one = |hunk: &Hunk| File {
            hunks: vec![hunk.clone()],
            ..file.clone()
        };
        file.hunks.iter().map(one).collect()
    };
    let count = draft.files.len();
    draft.files = draft.files.iter().flat_map(split).collect();
    draft.only_edits() && draft.files.len() > count
}

fn hunk_duplicated(_: &mut Random, draft: &mut Draft) -> bool {
    draft.is_doubtful = true;
    let Some(file) = draft.files.first_mut() else {
        return false;
    };
    file.hunks.extend(file.hunks.first().cloned());
    draft.only_edits()
}

/// Some kinds that land, one after the other.
fn mix_random(random: &mut Random, draft: &mut Draft) -> bool {
    const NAMES: [&str; 16] = [
        "ctx_1",
        "ctx_tail_cut",
        "cnt_off_small",
        "cnt_random",
        "hdr_fake_index",
        "hdr_no_git",
        "hdr_no_index",
        "hdr_no_prefix",
        "hunks_shuffled",
        "ln_off_far",
        "ln_off_small",
        "wrap_fence",
        "wrap_prose",
        "ws_blank_ctx",
        "ws_tabs_ctx",
        "cnt_missing",
    ];
    let mut picked: Vec<&str> = (0..2 + random.below(3))
        .map(|_| NAMES[random.below(NAMES.len())])
        .collect();
    // Once each, and prose outside of a fence.
    picked.sort_unstable_by_key(|name| (*name == "wrap_prose", *name));
    picked.dedup();
    let mut any = false;
    for name in picked {
        let kind = KINDS.iter().find(|(kind, _, _)| *kind == name);
        let mut next = draft.clone();
        if kind.is_some_and(|(_, _, damage)| damage(random, &mut next)) {
            *draft = next;
            any = true;
        }
    }
    any && !means_another_edit(draft)
}

fn set<T>(place: &mut T, value: T) -> bool {
    *place = value;
    true
}

fn lose(draft: &mut Draft, numbers: Numbers) -> bool {
    draft.lose_numbers(numbers);
    true
}

fn wrap(draft: &mut Draft, by: fn(&str) -> String) -> bool {
    draft.wraps.push(by);
    // A fence or a mark of mail inside of the text would end it.
    let inside = |text: &String| text.contains("```") || text.contains('\r') || text == "--";
    !draft
        .hunks()
        .flat_map(|hunk| &hunk.lines)
        .any(|(_, text)| inside(text))
}

fn by_line(text: &str, change: impl Fn(&str) -> String) -> String {
    text.lines().map(|line| change(line) + "\n").collect()
}

fn fence(text: &str) -> String {
    format!("```diff\n{text}```\n")
}

fn prose(text: &str) -> String {
    format!(
        "I've looked at the code and the fix is straightforward. Below is the diff:\n\n{text}\nLet me know if it helps.\n"
    )
}

fn mail(text: &str) -> String {
    format!(
        "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\nSubject: [PATCH] x\n\n---\n{text}-- \n2.40.1\n\n"
    )
}

fn eol_crlf_patch(_: &mut Random, draft: &mut Draft) -> bool {
    wrap(draft, |text| text.replace('\n', "\r\n"))
}

fn hdr_no_devnull(_: &mut Random, draft: &mut Draft) -> bool {
    draft.names = Names::NoNull;
    draft.files.iter().any(|file| file.old.is_none())
}

fn cnt_off_small(random: &mut Random, draft: &mut Draft) -> bool {
    for hunk in draft.hunks_mut() {
        let mut off = |count: usize| (count + random.below(5)).saturating_sub(2).max(1);
        (hunk.old.1, hunk.new.1) = (off(hunk.old.1), off(hunk.new.1));
    }
    draft.only_edits()
}

fn cnt_random(random: &mut Random, draft: &mut Draft) -> bool {
    for hunk in draft.hunks_mut() {
        (hunk.old.1, hunk.new.1) = (1 + random.below(40), 1 + random.below(40));
    }
    draft.only_edits()
}

/// No context: each change by itself, with its own numbers.
fn ctx_0(_: &mut Random, draft: &mut Draft) -> bool {
    for file in &mut draft.files {
        file.hunks = file
            .hunks
            .iter()
            .flat_map(super::super::damage::bare_runs)
            .collect();
    }
    let inserts = draft.hunks().any(|hunk| hunk.old.1 == 0);
    draft.is_doubtful |= inserts;
    draft.only_edits()
}

fn ctx_1(_: &mut Random, draft: &mut Draft) -> bool {
    let inserts = cut::inserts_at_an_edge(draft);
    draft.files = super::super::damage::narrow(&draft.files, 1);
    // Numbers and one line of context at each side are what is left of an insertion.
    draft.is_doubtful |= inserts;
    true
}

/// A context line has two letters in the other order.
fn ctx_paraphrase(random: &mut Random, draft: &mut Draft) -> bool {
    draft.is_doubtful = true;
    let lines = draft.hunks_mut().flat_map(|hunk| &mut hunk.lines);
    let mut context: Vec<&mut String> = lines
        .filter(|(mark, text)| *mark == ' ' && text.trim().len() > 6 && text.is_ascii())
        .map(|(_, text)| text)
        .collect();
    let at = random.below(context.len());
    let Some(line) = context.get_mut(at) else {
        return false;
    };
    let mut bytes = line.clone().into_bytes();
    let at = bytes.len() - bytes.len() / 3 - 2;
    bytes.swap(at, at + 1);
    let changed = String::from_utf8(bytes).expect("ASCII");
    let differs = changed.split_whitespace().ne(line.split_whitespace());
    **line = changed;
    differs
}

/// A removed line that no file has.
fn invented_removed(random: &mut Random, draft: &mut Draft) -> bool {
    draft.is_doubtful = true;
    let count = draft.hunks().count();
    let Some(hunk) = draft.hunks_mut().nth(random.below(count)) else {
        return false;
    };
    let at = hunk
        .lines
        .iter()
        .position(|(mark, _)| *mark != ' ')
        .unwrap_or_default();
    hunk.lines.insert(
        at,
        ('-', format!("    invented_call_{}(", random.below(1_000_000))),
    );
    hunk.old.1 += 1;
    true
}

fn hunks_shuffled(_: &mut Random, draft: &mut Draft) -> bool {
    draft.files.iter_mut().for_each(|file| file.hunks.reverse());
    draft.is_shuffled = true;
    draft.files.iter().any(|file| file.hunks.len() > 1)
}

fn off_by(draft: &mut Draft, mut by: impl FnMut() -> usize) -> bool {
    draft.is_numbered = false;
    match super::super::edits::moved(draft.files.clone(), &mut by) {
        Some(files) => set(&mut draft.files, files),
        None => false,
    }
}

fn ln_off_far(random: &mut Random, draft: &mut Draft) -> bool {
    off_by(draft, || 200 + random.below(2_000))
}

fn ln_off_small(random: &mut Random, draft: &mut Draft) -> bool {
    off_by(draft, || 1 + random.below(4))
}

/// Typographic characters of the file are ASCII in the lines of the file.
fn uni_ascii(_: &mut Random, draft: &mut Draft) -> bool {
    let ascii = |text: &str| {
        let text = text.replace(['\u{201c}', '\u{201d}'], "\"");
        text.replace(['\u{2019}', '\u{2018}'], "'")
            .replace('\u{2013}', "-")
    };
    let added = |(mark, text): &(char, String)| *mark == '+' && ascii(text) != *text;
    let typographic = draft.hunks().flat_map(|hunk| &hunk.lines).any(added);
    draft.is_doubtful |= typographic;
    respaced(draft, |mark, text| match mark {
        '+' => text.to_owned(),
        _ => ascii(text),
    })
}

fn uni_nbsp(_: &mut Random, draft: &mut Draft) -> bool {
    respaced(draft, |mark, text| match mark {
        ' ' => text.replacen(" = ", " =\u{a0}", 1),
        _ => text.to_owned(),
    })
}

/// Empty context lines have no mark.
fn ws_blank_ctx(_: &mut Random, draft: &mut Draft) -> bool {
    draft.wraps.insert(0, |text| {
        by_line(text, |line| {
            if line == " " {
                String::new()
            } else {
                line.to_owned()
            }
        })
    });
    let any = draft
        .hunks()
        .flat_map(|hunk| &hunk.lines)
        .any(|(mark, text)| *mark == ' ' && text.is_empty());
    let crlf = draft
        .hunks()
        .flat_map(|hunk| &hunk.lines)
        .any(|(_, text)| text.contains('\r'));
    any && !crlf
}

fn ws_inner(_: &mut Random, draft: &mut Draft) -> bool {
    respaced(draft, |mark, text| match mark {
        ' ' => text.replacen(" = ", " =  ", 1),
        _ => text.to_owned(),
    })
}

/// Tabs of context lines, and of removed ones, as spaces. Doubtful where tabs between words were lost.
///
/// An added line that begins with spaces makes it another edit's text: one that adds the line with tabs, of which all became
/// spaces. Both edits have one and the same text, so no result is the right one.
fn ws_tabs(draft: &mut Draft, marks: &str) -> bool {
    let has = |is: &dyn Fn(char, &str) -> bool| {
        let mut lines = draft.hunks().flat_map(|hunk| &hunk.lines);
        lines.any(|(mark, text)| is(*mark, text))
    };
    if has(&|mark, text| mark == '+' && text.starts_with(' ')) {
        return false;
    }
    let inner = |text: &str| text.trim_matches([' ', '\t']).contains('\t');
    let any = has(&|mark, text| marks.contains(mark) && inner(text));
    draft.is_doubtful |= any;
    respaced(draft, |mark, text| match marks.contains(mark) {
        true => text.replace('\t', "    "),
        false => text.to_owned(),
    })
}

/// The lines written in another way. The numbers stay, but they prove no line that differs.
fn respaced(draft: &mut Draft, change: impl Fn(char, &str) -> String) -> bool {
    let before: Vec<Vec<(char, String)>> = draft.hunks().map(|hunk| hunk.lines.clone()).collect();
    draft.each_line(change);
    draft.is_respaced = true;
    let pairs = || draft.hunks().zip(&before);
    // A hunk in which an added line begins with blanks and no old line shows what became of them is not clear.
    draft.only_edits() && pairs().any(|(hunk, before)| hunk.lines != *before)
}
