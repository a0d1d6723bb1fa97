//! An answer before it is written down: hunks, headers and wrappers that kinds of damage change one after the other.
//!
//! Owns: the writing. Never: decides what is damaged.

use super::super::edits::{Case, File, Hunk, Random};
use crate::memory::blob_id;

/// The `index` line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Index {
    Missing,
    Short,
    Full,
    Fake,
}

/// The lines `---` and `+++`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Names {
    Both,
    OnlyNew,
    Dated,
    NoNull,
}

/// What stands between the marks `@@`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    Full,
    NoCounts,
    AllOne,
    Bare,
    Dots,
    Placeholder,
    Section,
}

#[derive(Clone)]
pub struct Draft {
    pub files: Vec<File>,
    pub git: bool,
    pub index: Index,
    pub names: Names,
    pub prefixes: (&'static str, &'static str),
    pub numbers: Numbers,
    /// The stated lines are those of the base.
    pub is_numbered: bool,
    /// Lines of the base are written in another way.
    pub is_respaced: bool,
    /// The hunks are not in the order of the file.
    pub is_shuffled: bool,
    /// Nothing in the text shows one right result.
    pub is_doubtful: bool,
    /// What is done to the text at the end, in this order.
    pub wraps: Vec<fn(&str) -> String>,
}

impl Draft {
    pub fn of(case: &Case) -> Self {
        Self {
            files: case.files.clone(),
            git: true,
            index: Index::Short,
            names: Names::Both,
            prefixes: ("a/", "b/"),
            numbers: Numbers::Full,
            is_numbered: true,
            is_respaced: false,
            is_shuffled: false,
            is_doubtful: false,
            wraps: Vec::new(),
        }
    }

    pub fn hunks(&self) -> impl Iterator<Item = &Hunk> {
        self.files.iter().flat_map(|file| &file.hunks)
    }

    pub fn hunks_mut(&mut self) -> impl Iterator<Item = &mut Hunk> {
        self.files.iter_mut().flat_map(|file| &mut file.hunks)
    }

    /// Every line through a function; a note about the final newline stays as it is.
    pub fn each_line(&mut self, change: impl Fn(char, &str) -> String) {
        for (mark, text) in self.hunks_mut().flat_map(|hunk| &mut hunk.lines) {
            if *mark != '\\' {
                *text = change(*mark, text);
            }
        }
    }

    pub fn only_edits(&self) -> bool {
        self.files
            .iter()
            .all(|file| file.old.is_some() && file.new.is_some())
    }

    /// The stated lines say nothing.
    pub fn lose_numbers(&mut self, numbers: Numbers) {
        self.numbers = numbers;
        self.is_numbered = false;
    }

    /// Returns the text of the answer.
    pub fn text(&self, random: &mut Random) -> String {
        let body: String = self.files.iter().map(|file| self.file(file, random)).collect();
        self.wraps.iter().fold(body, |text, wrap| wrap(&text))
    }

    fn file(&self, file: &File, random: &mut Random) -> String {
        let (a, b) = self.prefixes;
        let path = &file.path;
        let mut out = String::new();
        if self.git {
            out.push_str(&format!("diff --git {a}{path} {b}{path}\n"));
            if file.old.is_none() {
                out.push_str("new file mode 100644\n");
            }
            if file.new.is_none() {
                out.push_str("deleted file mode 100644\n");
            }
            out.push_str(&self.index_line(file, random));
        }
        let date = if self.names == Names::Dated {
            "\t2024-05-01 10:12:13.000000000 +0000"
        } else {
            ""
        };
        let name = |there: bool, prefix: &str| match there || self.names == Names::NoNull {
            true => format!("{prefix}{path}{date}"),
            false => "/dev/null".to_owned(),
        };
        if self.names != Names::OnlyNew || file.new.is_none() {
            out.push_str(&format!("--- {}\n", name(file.old.is_some(), a)));
        }
        out.push_str(&format!("+++ {}\n", name(file.new.is_some(), b)));
        for hunk in &file.hunks {
            out.push_str(&self.header(hunk));
            for (mark, text) in &hunk.lines {
                out.push_str(&format!("{mark}{text}\n"));
            }
        }
        out
    }

    fn index_line(&self, file: &File, random: &mut Random) -> String {
        let id = |text: &Option<String>| match text {
            Some(text) => blob_id(text.as_bytes()),
            None => "0".repeat(40),
        };
        let (old, new) = match self.index {
            Index::Missing => return String::new(),
            Index::Fake => {
                let mut fake = || {
                    format!(
                        "{:016x}{:016x}{:08x}",
                        random.next(),
                        random.next(),
                        0x7f3a_91c2u32
                    )
                };
                (fake(), fake())
            }
            Index::Short | Index::Full => (id(&file.old), id(&file.new)),
        };
        let length = if self.index == Index::Full { 40 } else { 7 };
        let mode = if file.old.is_some() && file.new.is_some() {
            " 100644"
        } else {
            ""
        };
        format!(
            "index {}..{}{mode}\n",
            old.split_at(length).0,
            new.split_at(length).0
        )
    }

    fn header(&self, hunk: &Hunk) -> String {
        let ((old, old_count), (new, new_count)) = (hunk.old, hunk.new);
        let section = match hunk.section.as_str() {
            "" => String::new(),
            section => format!(" {section}"),
        };
        let count = |count: usize| {
            if count == 1 {
                String::new()
            } else {
                format!(",{count}")
            }
        };
        match self.numbers {
            Numbers::Full => format!(
                "@@ -{old}{} +{new}{} @@{section}\n",
                count(old_count),
                count(new_count)
            ),
            Numbers::NoCounts => format!("@@ -{old} +{new} @@{section}\n"),
            Numbers::AllOne => format!("@@ -1,{old_count} +1,{new_count} @@{section}\n"),
            Numbers::Bare => "@@ @@\n".to_owned(),
            Numbers::Dots => "@@ ... @@\n".to_owned(),
            Numbers::Placeholder => "@@ -XX,XX +XX,XX @@\n".to_owned(),
            Numbers::Section => format!("@@{section}\n"),
        }
    }
}
