//! Ways to write a case down: as a diff in any style, as blocks, as JSON, as an envelope, as whole files.
//!
//! Owns: the writing that classes of damage share. Never: decides what damage is done.

use super::edits::{Case, File, Hunk, Random};

/// How a diff is written down.
pub struct Style {
    pub git: bool,
    pub index: Option<&'static str>,
    pub old_prefix: &'static str,
    pub new_prefix: &'static str,
    pub names: bool,
    pub dev_null: bool,
    pub header: fn(&Hunk, &mut Random) -> String,
}

pub const GIT: Style = Style {
    git: true,
    index: None,
    old_prefix: "a/",
    new_prefix: "b/",
    names: true,
    dev_null: true,
    header: full_header,
};

pub fn full_header(hunk: &Hunk, _: &mut Random) -> String {
    let section = if hunk.section.is_empty() {
        String::new()
    } else {
        format!(" {}", hunk.section)
    };
    format!(
        "@@ -{},{} +{},{} @@{section}",
        hunk.old.0, hunk.old.1, hunk.new.0, hunk.new.1
    )
}

pub fn file(out: &mut String, file: &File, style: &Style, random: &mut Random) {
    let Style {
        old_prefix,
        new_prefix,
        ..
    } = style;
    let path = &file.path;
    if style.git {
        out.push_str(&format!("diff --git {old_prefix}{path} {new_prefix}{path}\n"));
        if style.dev_null && file.old.is_none() {
            out.push_str("new file mode 100644\n");
        }
        if style.dev_null && file.new.is_none() {
            out.push_str("deleted file mode 100644\n");
        }
    }
    if let Some(index) = style.index {
        out.push_str(&format!("{index}\n"));
    }
    if style.names {
        match &file.old {
            None if style.dev_null => out.push_str("--- /dev/null\n"),
            Some(_) | None => out.push_str(&format!("--- {old_prefix}{path}\n")),
        }
        match &file.new {
            None if style.dev_null => out.push_str("+++ /dev/null\n"),
            Some(_) | None => out.push_str(&format!("+++ {new_prefix}{path}\n")),
        }
    }
    for hunk in &file.hunks {
        out.push_str(&(style.header)(hunk, random));
        out.push('\n');
        for (mark, text) in &hunk.lines {
            out.push(*mark);
            out.push_str(text);
            out.push('\n');
        }
    }
}

pub fn rendered(random: &mut Random, files: &[File], style: &Style) -> String {
    let mut out = String::new();
    for one in files {
        file(&mut out, one, style, random);
    }
    out
}

pub fn plain(random: &mut Random, case: &Case) -> String {
    rendered(random, &case.files, &GIT)
}

pub fn bare(random: &mut Random, case: &Case) -> String {
    rendered(
        random,
        &case.files,
        &Style {
            header: |_, _| "@@ @@".to_owned(),
            ..GIT
        },
    )
}

/// Every line of every hunk through a function that knows its mark and its place in the hunk.
pub fn lines(
    case: &Case,
    mut each: impl FnMut(char, &str, usize, usize) -> Vec<(char, String)>,
) -> Vec<File> {
    let mut files = case.files.clone();
    for file in &mut files {
        for hunk in &mut file.hunks {
            let count = hunk.lines.len();
            hunk.lines = hunk
                .lines
                .iter()
                .enumerate()
                .flat_map(|(at, (mark, text))| each(*mark, text, at, count))
                .collect();
        }
    }
    files
}

pub fn fenced(diff: &str) -> String {
    format!("Here is the change:\n\n```diff\n{diff}```\n\nLet me know if it helps.\n")
}

/// Only edits of files that stay: other dialects have their own words for the rest.
pub fn only_edits(case: &Case) -> bool {
    case.files
        .iter()
        .all(|file| file.old.is_some() && file.new.is_some())
}

pub fn no_fence_inside(case: &Case) -> bool {
    case.files
        .iter()
        .flat_map(|file| &file.hunks)
        .flat_map(|hunk| &hunk.lines)
        .all(|(_, text)| !text.contains("```"))
}

/// No carriage returns: what the damage does to line ends would be damage of its own.
pub fn only_lf(case: &Case) -> bool {
    case.files
        .iter()
        .flat_map(|file| &file.hunks)
        .flat_map(|hunk| &hunk.lines)
        .all(|(_, text)| !text.contains('\r'))
}

pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

pub fn numbered(case: &Case, separator: &str) -> Vec<File> {
    let mut files = case.files.clone();
    for hunk in files.iter_mut().flat_map(|file| &mut file.hunks) {
        let mut number = hunk.old.0;
        for (mark, text) in &mut hunk.lines {
            if *mark == '\\' {
                continue;
            }
            *text = format!("{number:>4}{separator}{text}");
            if *mark != '+' {
                number += 1;
            }
        }
    }
    files
}

/// The changes of a hunk one by one, without context.
pub fn runs(hunk: &Hunk) -> Vec<Hunk> {
    hunk.lines
        .split(|(mark, _)| *mark == ' ')
        .filter(|run| !run.is_empty())
        .map(|run| Hunk {
            lines: run.to_vec(),
            ..hunk.clone()
        })
        .collect()
}

/// A new line ends in blanks: when these are lost, nothing tells.
pub fn trailing_blanks(case: &Case) -> bool {
    let hunks = || case.files.iter().flat_map(|file| &file.hunks);
    hunks()
        .flat_map(|hunk| &hunk.lines)
        .any(|(mark, text)| *mark == '+' && text.ends_with([' ', '\t']))
}

/// A new file has no final newline: without the note about it nothing tells.
pub fn bare_new_file(case: &Case) -> bool {
    let bare = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.ends_with('\n'));
    case.files
        .iter()
        .any(|file| file.old.is_none() && bare(&file.new))
}

/// One kind of blanks written as another in every line, where the old lines show it and no line has both.
pub fn respaced(random: &mut Random, case: &Case, from: &str, to: &str) -> Option<String> {
    let mut lines_of = case
        .files
        .iter()
        .flat_map(|file| &file.hunks)
        .flat_map(|hunk| &hunk.lines);
    let damage = |text: &str| text.replace(from, to);
    if !shown(case, damage) || lines_of.any(|(_, text)| text.contains(to)) {
        return None;
    }
    let files = lines(case, |mark, text, _, _| vec![(mark, damage(text))]);
    Some(rendered(random, &files, &GIT))
}

/// The files are diffs themselves.
pub fn of_patches(case: &Case) -> bool {
    let is_patch = |file: &File| file.path.contains("patch") || file.path.contains("diff");
    case.files.iter().any(is_patch)
}

/// Every hunk shows by its old lines what the damage did.
pub fn shown(case: &Case, damage: impl Fn(&str) -> String) -> bool {
    let hunks = || case.files.iter().flat_map(|file| &file.hunks);
    only_edits(case)
        && hunks().all(|hunk| {
            let old = hunk.lines.iter().filter(|(mark, _)| *mark != '+');
            let mut old = old.map(|(_, text)| text);
            old.any(|text| !text.trim().is_empty() && damage(text) != *text)
        })
}

pub fn colour(diff: &str) -> String {
    let paint = |line: &str| match line.chars().next() {
        Some('+') => format!("\u{1b}[32m{line}\u{1b}[m"),
        Some('-') => format!("\u{1b}[31m{line}\u{1b}[m"),
        Some('@') => format!("\u{1b}[36m{line}\u{1b}[m"),
        Some('d' | 'i' | 'n') => format!("\u{1b}[1m{line}\u{1b}[m"),
        Some(_) | None => line.to_owned(),
    };
    diff.lines().map(|line| paint(line) + "\n").collect()
}

pub fn each_line(diff: &str, change: impl Fn(&str) -> String) -> String {
    diff.lines().map(|line| change(line) + "\n").collect()
}

pub fn sides(hunk: &Hunk) -> (String, String) {
    let side = |out: char| -> String {
        hunk.lines
            .iter()
            .filter(|(mark, _)| *mark != out && *mark != '\\')
            .map(|(_, text)| format!("{text}\n"))
            .collect()
    };
    (side('+'), side('-'))
}

pub fn blocks(case: &Case, write: impl Fn(&str, &str, &str) -> String) -> Option<String> {
    (only_edits(case) && only_lf(case) && no_fence_inside(case)).then(|| {
        case.files
            .iter()
            .flat_map(|file| file.hunks.iter().map(move |hunk| (file, hunk)))
            .map(|(file, hunk)| {
                let (old, new) = sides(hunk);
                write(&file.path, &old, &new)
            })
            .collect()
    })
}

pub fn json(case: &Case) -> Option<serde_json::Value> {
    (only_edits(case) && only_lf(case)).then(|| {
        let edits: Vec<serde_json::Value> = case
            .files
            .iter()
            .flat_map(|file| file.hunks.iter().map(move |hunk| (file, hunk)))
            .map(|(file, hunk)| {
                let (old, new) = sides(hunk);
                serde_json::json!({"path": file.path, "search": old, "replace": new})
            })
            .collect();
        serde_json::json!({ "edits": edits })
    })
}

pub fn envelope(case: &Case, at: impl Fn(&Hunk) -> String) -> Option<String> {
    (only_lf(case) && !bare_new_file(case)).then(|| {
        let mut out = "*** Begin Patch\n".to_owned();
        for file in &case.files {
            match (&file.old, &file.new) {
                (None, Some(new)) => {
                    out.push_str(&format!("*** Add File: {}\n", file.path));
                    out.extend(new.lines().map(|line| format!("+{line}\n")));
                }
                (Some(_), None) => out.push_str(&format!("*** Delete File: {}\n", file.path)),
                (_, _) => {
                    out.push_str(&format!("*** Update File: {}\n", file.path));
                    for hunk in &file.hunks {
                        out.push_str(&at(hunk));
                        out.extend(
                            hunk.lines
                                .iter()
                                .filter(|(mark, _)| *mark != '\\')
                                .map(|(mark, text)| format!("{mark}{text}\n")),
                        );
                    }
                }
            }
        }
        out.push_str("*** End Patch\n");
        out
    })
}

pub fn whole(case: &Case, write: impl Fn(&str, &str) -> String) -> Option<String> {
    let good = case.files.iter().all(|file| {
        file.new
            .as_ref()
            .is_some_and(|new| new.ends_with('\n') && !new.contains("```"))
    });
    (good && only_lf(case)).then(|| {
        case.files
            .iter()
            .map(|file| write(&file.path, file.new.as_deref().unwrap_or_default()))
            .collect()
    })
}
