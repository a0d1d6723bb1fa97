//! Shapes that every dialect is parsed into: files with hunks, as written, before anything is looked up.
//!
//! Owns: the shapes. Never: knows the base.

use std::borrow::Cow;

use crate::binary::BinaryData;
use crate::text::TextLine;
use crate::{Dialect, Repair};

/// Mark of a hunk line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum LineMark {
    /// The line stays.
    Context,
    /// The line is removed.
    Remove,
    /// The line is added.
    Add,
}

/// Line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HunkLine<'a> {
    /// Mark of the line.
    pub mark: LineMark,
    /// Text without the line ending.
    pub text: Cow<'a, [u8]>,
    /// True if the answer has a carriage return before the line feed.
    pub cr: bool,
    /// True if `\ No newline at end of file` follows.
    pub no_newline: bool,
}

impl<'a> HunkLine<'a> {
    /// Creates a line whose ending says nothing.
    pub(crate) fn new(mark: LineMark, text: impl Into<Cow<'a, [u8]>>) -> Self {
        Self {
            mark,
            text: text.into(),
            cr: false,
            no_newline: false,
        }
    }

    /// Returns true for a line that the base must have.
    pub(crate) fn is_old(&self) -> bool {
        match self.mark {
            LineMark::Context | LineMark::Remove => true,
            LineMark::Add => false,
        }
    }

    /// Returns true for a line that the result has.
    pub(crate) fn is_new(&self) -> bool {
        match self.mark {
            LineMark::Context | LineMark::Add => true,
            LineMark::Remove => false,
        }
    }
}

/// Numbers of a hunk header. Each is `None` if the header does not state it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StatedLines {
    /// First old line; 1 is the first of the file.
    pub old_start: Option<u64>,
    /// Number of old lines.
    pub old_count: Option<u64>,
    /// First new line; 1 is the first of the file.
    pub new_start: Option<u64>,
    /// Number of new lines.
    pub new_count: Option<u64>,
}

/// Search text and its replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextReplacement<'a> {
    /// Text that the file has, maybe as a part of a line.
    pub search: Cow<'a, [u8]>,
    /// Text that replaces it.
    pub replace: Cow<'a, [u8]>,
}

/// Number of the part of an answer that a hunk is in. All numbers are equal to each other, so that hunks with the
/// same text are equal in whichever part they are.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PartNumber(pub usize);

impl PartialEq for PartNumber {
    // See the type: the number must not make two equal hunks different.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for PartNumber {}

/// Hunk of a diff, or one search/replace pair.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hunk<'a> {
    /// Numbers of its header.
    pub stated: StatedLines,
    /// Lines of the hunk.
    pub lines: Vec<HunkLine<'a>>,
    /// Lines that must be above it in the file, outermost first.
    pub anchors: Vec<Cow<'a, [u8]>>,
    /// Heading that a unified diff writes behind the second `@@`: a line above the hunk, as its author believes. It
    /// may be cut off. `None` if there is none.
    pub section: Option<Cow<'a, [u8]>>,
    /// Lines that continue the hunk if the line that ended it was misread: a `--` that signs a mail or removes a
    /// line, or a divider that may be a rule of the file, with the lines below it.
    pub continuation: Vec<Cow<'a, [u8]>>,
    /// True if the hunk states that it ends at the end of the file.
    pub at_end: bool,
    /// True if its dialect has a mark before each line, which can get lost or replace a blank.
    pub marked: bool,
    /// The edit as text, if it may also be a part of a line. `None` in dialects of whole lines.
    pub inline: Option<TextReplacement<'a>>,
    /// Repairs made while reading.
    pub repairs: Vec<Repair>,
    /// Part of the answer that the hunk is in.
    pub part: PartNumber,
}

/// Name in a header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum HeaderName {
    /// The header gives no name.
    #[default]
    Unstated,
    /// `/dev/null`, for the side on which the file does not exist.
    Nothing,
    /// Name without its quotes, with its prefix.
    Written(Vec<u8>),
}

/// Content of one file's part of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EditBody<'a> {
    /// Edits that need a place.
    Hunks(Vec<Hunk<'a>>),
    /// Whole new text.
    Whole(Vec<HunkLine<'a>>),
}

impl Default for EditBody<'_> {
    fn default() -> Self {
        Self::Hunks(Vec::new())
    }
}

/// Git's extended header lines. Each is `None` if the header does not have it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GitHeaders {
    /// Rest of the `diff --git` line.
    pub git_line: Option<Vec<u8>>,
    /// `new file mode`.
    pub new_file: Option<String>,
    /// `deleted file mode`.
    pub deleted: Option<String>,
    /// `old mode`.
    pub old_mode: Option<String>,
    /// `new mode`.
    pub new_mode: Option<String>,
    /// Mode on the `index` line.
    pub index_mode: Option<String>,
    /// Two ids of the `index` line.
    pub index: Option<(String, String)>,
    /// `rename from`, `copy from`.
    pub from: Option<Vec<u8>>,
    /// `rename to`, `copy to`.
    pub to: Option<Vec<u8>>,
    /// True for a copy: the source stays.
    pub copy: bool,
    /// Binary content. `None` for a text diff.
    pub binary: Option<BinaryPart>,
}

/// Binary content in a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BinaryPart {
    /// `Binary files … differ`, without the content.
    LeftOut,
    /// `GIT binary patch` with the way from the old content to the new one.
    Data(BinaryData),
}

/// Part of an answer about one file, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileEdit<'a> {
    /// Dialect of the part.
    pub dialect: Dialect,
    /// Old name.
    pub old: HeaderName,
    /// New name.
    pub new: HeaderName,
    /// Git's extended header lines.
    pub extended: GitHeaders,
    /// Edits of the part.
    pub body: EditBody<'a>,
    /// True if the dialect itself states that the file is deleted, without showing its lines.
    pub delete: bool,
    /// True if the dialect itself states that the file is new.
    pub create: bool,
    /// True if a comment in the first line of the whole file names it. That line may not be one of the file.
    pub is_named_inside: bool,
    /// True if blanks or quote marks are before its lines.
    pub has_margin: bool,
    /// Repairs made while reading.
    pub repairs: Vec<Repair>,
}

impl<'a> FileEdit<'a> {
    /// Creates an edit without names or hunks.
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            old: HeaderName::Unstated,
            new: HeaderName::Unstated,
            extended: GitHeaders::default(),
            body: EditBody::default(),
            delete: false,
            create: false,
            is_named_inside: false,
            has_margin: false,
            repairs: Vec::new(),
        }
    }

    /// Creates an edit of one path, which it has before and after.
    pub(crate) fn of_path(dialect: Dialect, path: &[u8]) -> Self {
        let name = HeaderName::Written(path.to_vec());
        Self {
            old: name.clone(),
            new: name,
            ..Self::new(dialect)
        }
    }

    /// Creates an edit that gives a whole file.
    pub(crate) fn of_whole_file(lines: &[TextLine<'a>], path: &[u8]) -> Self {
        let lines = lines.iter().map(|line| HunkLine::new(LineMark::Add, line.text));
        Self {
            body: EditBody::Whole(lines.collect()),
            ..Self::of_path(Dialect::WholeFile, path)
        }
    }

    /// Returns the hunks; empty for a whole file.
    pub(crate) fn hunks(&self) -> &[Hunk<'a>] {
        match &self.body {
            EditBody::Hunks(hunks) => hunks,
            EditBody::Whole(_) => &[],
        }
    }
}

/// Parsed answer.
#[derive(Debug, Default)]
pub(crate) struct ParsedAnswer<'a> {
    /// Parts of the answer, in its order.
    pub files: Vec<FileEdit<'a>>,
    /// Notes about text that was skipped.
    pub notes: Vec<String>,
    /// Skipped blocks that may be files.
    pub asides: Vec<SkippedBlock>,
}

/// Block that no edit was read from, and the path next to it.
#[derive(Debug)]
pub(crate) struct SkippedBlock {
    /// Path as written.
    pub path: Vec<u8>,
    /// Place of the path.
    pub place: SkippedPathPlace,
}

/// Place of the path of a skipped block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SkippedPathPlace {
    /// In a sentence above the block.
    InSentence,
    /// Alone on the line above the block, if that line is a path.
    LineAbove,
    /// Alone in the first line of the block, as a comment.
    FirstLine,
}

/// Creates a repair with a stable name.
pub(crate) fn new_repair(kind: &str, detail: impl Into<String>) -> Repair {
    Repair {
        kind: kind.to_owned(),
        detail: detail.into(),
    }
}
