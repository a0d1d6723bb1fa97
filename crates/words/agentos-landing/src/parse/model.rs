//! What every dialect is parsed into: files with hunks, as written, before anything is looked up.
//!
//! Owns: the shapes. Never: knows the base.

use std::borrow::Cow;

use crate::{Dialect, Repair};

/// What a hunk line does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum LineMark {
    /// Stays.
    Context,
    /// Goes.
    Remove,
    /// Comes.
    Add,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HunkLine<'a> {
    /// What it does.
    pub mark: LineMark,
    /// The text without line ending.
    pub text: Cow<'a, [u8]>,
    /// The answer had a carriage return before the line feed.
    pub cr: bool,
    /// Followed by `\ No newline at end of file`.
    pub no_newline: bool,
}

impl HunkLine<'_> {
    /// True for a line the base must have.
    pub(crate) fn is_old(&self) -> bool {
        match self.mark {
            LineMark::Context | LineMark::Remove => true,
            LineMark::Add => false,
        }
    }

    /// True for a line the result has.
    pub(crate) fn is_new(&self) -> bool {
        match self.mark {
            LineMark::Context | LineMark::Add => true,
            LineMark::Remove => false,
        }
    }
}

/// Numbers of a hunk header, as far as they are given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StatedLines {
    /// First old line; 1 is the first.
    pub old_start: Option<u64>,
    /// Old lines.
    pub old_count: Option<u64>,
    /// First new line.
    pub new_start: Option<u64>,
    /// New lines.
    pub new_count: Option<u64>,
}

/// A search text and its replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextReplacement<'a> {
    /// What stands in the file, maybe as a part of a line.
    pub search: Cow<'a, [u8]>,
    /// What takes its place.
    pub replace: Cow<'a, [u8]>,
}

/// Which part of an answer a hunk stands in. It says nothing of what the hunk does: hunks that say the same are equal,
/// whichever parts they stand in.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PartNumber(pub usize);

impl PartialEq for PartNumber {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for PartNumber {}

/// One hunk, or one search/replace pair.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hunk<'a> {
    /// Where it says it goes.
    pub stated: StatedLines,
    /// Its lines.
    pub lines: Vec<HunkLine<'a>>,
    /// Lines that must stand somewhere above it, outermost first.
    pub anchors: Vec<Cow<'a, [u8]>>,
    /// What a unified diff writes behind the second `@@`: a line above it, as its writer believes. It may be cut.
    pub section: Option<Cow<'a, [u8]>>,
    /// What its last line was taken for something else, it would go on with: a `--` that signs a mail or takes a
    /// line away, a divider that may be a rule of the file, and what follows.
    pub continuation: Vec<Cow<'a, [u8]>>,
    /// It says that it ends at the end of the file.
    pub at_end: bool,
    /// Its dialect has a mark in front of each line, which can get lost or take a blank's place.
    pub marked: bool,
    /// The same edit as text, where it may also be a part of a line.
    pub inline: Option<TextReplacement<'a>>,
    /// What was repaired while reading.
    pub repairs: Vec<Repair>,
    /// The part of the answer it stands in.
    pub part: PartNumber,
}

/// A name in a header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum HeaderName {
    /// No name is given.
    #[default]
    Unstated,
    /// `/dev/null`.
    Nothing,
    /// A name, unquoted, prefix and all.
    Written(Vec<u8>),
}

/// What a file's part of the answer holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EditBody<'a> {
    /// Edits to be located.
    Hunks(Vec<Hunk<'a>>),
    /// The whole new text.
    Whole(Vec<HunkLine<'a>>),
}

impl Default for EditBody<'_> {
    fn default() -> Self {
        Self::Hunks(Vec::new())
    }
}

/// Git's extended header lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GitHeaders {
    /// The rest of the `diff --git` line.
    pub git_line: Option<Vec<u8>>,
    /// `new file mode`.
    pub new_file: Option<String>,
    /// `deleted file mode`.
    pub deleted: Option<String>,
    /// `old mode`.
    pub old_mode: Option<String>,
    /// `new mode`.
    pub new_mode: Option<String>,
    /// The mode on the `index` line.
    pub index_mode: Option<String>,
    /// The two ids of the `index` line.
    pub index: Option<(String, String)>,
    /// `rename from`, `copy from`.
    pub from: Option<Vec<u8>>,
    /// `rename to`, `copy to`.
    pub to: Option<Vec<u8>>,
    /// It is a copy: the source stays.
    pub copy: bool,
    /// `GIT binary patch` or `Binary files differ`.
    pub binary: bool,
}

/// One file's part of an answer, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileEdit<'a> {
    /// The dialect.
    pub dialect: Dialect,
    /// The old name.
    pub old: HeaderName,
    /// The new name.
    pub new: HeaderName,
    /// Git's header lines.
    pub extended: GitHeaders,
    /// The edits.
    pub body: EditBody<'a>,
    /// The dialect itself says that the file is deleted, without showing its lines.
    pub delete: bool,
    /// The dialect itself says that the file is new.
    pub create: bool,
    /// Blanks or quote marks stand before its lines.
    pub has_margin: bool,
    /// What was repaired while reading.
    pub repairs: Vec<Repair>,
}

impl<'a> FileEdit<'a> {
    /// An edit without names or hunks.
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            old: HeaderName::Unstated,
            new: HeaderName::Unstated,
            extended: GitHeaders::default(),
            body: EditBody::default(),
            delete: false,
            create: false,
            has_margin: false,
            repairs: Vec::new(),
        }
    }

    /// The hunks; none for a whole file.
    pub(crate) fn hunks(&self) -> &[Hunk<'a>] {
        match &self.body {
            EditBody::Hunks(hunks) => hunks,
            EditBody::Whole(_) => &[],
        }
    }
}

/// An answer, read.
#[derive(Debug, Default)]
pub(crate) struct ParsedAnswer<'a> {
    /// File by file, in the answer's order.
    pub files: Vec<FileEdit<'a>>,
    /// What was set aside.
    pub notes: Vec<String>,
    /// Blocks among it that may be files.
    pub asides: Vec<SkippedBlock>,
}

/// A block that no edit was read from, and the path that stands with it.
#[derive(Debug)]
pub(crate) struct SkippedBlock {
    /// The path as written.
    pub path: Vec<u8>,
    /// Where it stands.
    pub place: SkippedPathPlace,
}

/// Where the path of a block that was set aside stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SkippedPathPlace {
    /// In a sentence above.
    InSentence,
    /// Alone on the line above, if that is a path.
    LineAbove,
    /// Alone in its first line, as a comment.
    FirstLine,
}

/// A repair with a stable name.
pub(crate) fn new_repair(kind: &str, detail: impl Into<String>) -> Repair {
    Repair {
        kind: kind.to_owned(),
        detail: detail.into(),
    }
}
