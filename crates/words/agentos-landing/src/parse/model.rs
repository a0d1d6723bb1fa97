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

impl HeaderName {
    /// Returns the name as written. Returns `None` if the header gives none.
    pub(crate) fn written(&self) -> Option<&[u8]> {
        match self {
            Self::Written(name) => Some(name),
            Self::Unstated | Self::Nothing => None,
        }
    }
}

impl<'a> HunkLine<'a> {
    /// Returns added lines with these texts.
    pub(crate) fn added(lines: &[TextLine<'a>]) -> Vec<Self> {
        let lines = lines.iter().map(|line| Self::new(LineMark::Add, line.text));
        lines.collect()
    }

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
        self.mark != LineMark::Add
    }

    /// Returns true for a line that the result has.
    pub(crate) fn is_new(&self) -> bool {
        self.mark != LineMark::Remove
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

impl StatedLines {
    /// Returns the first new line; 0 is the first of the file. Returns `None` if the header states none.
    pub(crate) fn new_line(&self) -> Option<usize> {
        usize::try_from(self.new_start?).ok()?.checked_sub(1)
    }
}

/// Search text and its replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextReplacement {
    /// Text that the file has, maybe as a part of a line.
    pub search: String,
    /// Text that replaces it.
    pub replace: String,
    /// Number of places in which it is replaced.
    pub count: PlaceCount,
}

/// Number of places of a text that is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlaceCount {
    /// The text has one place.
    One,
    /// Every place of the text, as the answer says.
    All,
    /// Places of the number that the answer says.
    Exactly(u64),
}

/// Claim by which a block is a whole file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum FileClaim {
    /// A call of a tool that writes files, or a script.
    Call,
    /// A sentence about this block: it is the complete file.
    Complete,
    /// The path above the block, or on its fence.
    #[default]
    Title,
    /// A comment in the first line of the block, which may not be a line of the file.
    Comment,
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
    pub inline: Option<TextReplacement>,
    /// Id of the notebook's cell whose text the lines are. `None` for a hunk with a place among the lines of a file.
    pub cell: Option<String>,
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    /// Claim by which the part is a whole file. Has no meaning for hunks.
    pub claim: FileClaim,
    /// Repairs made while reading.
    pub repairs: Vec<Repair>,
}

impl<'a> FileEdit<'a> {
    /// Creates an edit without names or hunks.
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            ..Self::default()
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

    /// Creates an edit of one path by one hunk.
    pub(crate) fn of_hunk(dialect: Dialect, path: &[u8], hunk: Hunk<'a>) -> Self {
        Self {
            body: EditBody::Hunks(vec![hunk]),
            ..Self::of_path(dialect, path)
        }
    }

    /// Creates an edit that gives a whole file.
    pub(crate) fn of_whole_file(lines: Vec<HunkLine<'a>>, path: &[u8], claim: FileClaim) -> Self {
        Self {
            body: EditBody::Whole(lines),
            claim,
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

    /// Returns the edit with texts of its own.
    pub(crate) fn into_owned(self) -> FileEdit<'static> {
        let lines = |lines: Vec<HunkLine<'a>>| lines.into_iter().map(HunkLine::into_owned).collect();
        let body = match self.body {
            EditBody::Whole(whole) => EditBody::Whole(lines(whole)),
            EditBody::Hunks(hunks) => EditBody::Hunks(hunks.into_iter().map(Hunk::into_owned).collect()),
        };
        FileEdit {
            body,
            dialect: self.dialect,
            old: self.old,
            new: self.new,
            extended: self.extended,
            delete: self.delete,
            create: self.create,
            claim: self.claim,
            repairs: self.repairs,
        }
    }
}

impl<'a> Hunk<'a> {
    /// Creates a hunk of these lines, without a stated place.
    pub(crate) fn of_lines(lines: Vec<HunkLine<'a>>) -> Self {
        Self {
            lines,
            ..Self::default()
        }
    }

    /// Returns the lines that the base must have.
    pub(crate) fn old_lines(&self) -> impl Iterator<Item = &HunkLine<'a>> {
        self.lines.iter().filter(|line| line.is_old())
    }

    /// Returns the lines that the result has.
    pub(crate) fn new_lines(&self) -> impl Iterator<Item = &HunkLine<'a>> {
        self.lines.iter().filter(|line| line.is_new())
    }

    /// Returns true if a line has this mark.
    pub(crate) fn has(&self, mark: LineMark) -> bool {
        self.lines.iter().any(|line| line.mark == mark)
    }

    fn into_owned(self) -> Hunk<'static> {
        let text = |text: Cow<'_, [u8]>| Cow::Owned(text.into_owned());
        Hunk {
            lines: self.lines.into_iter().map(HunkLine::into_owned).collect(),
            anchors: self.anchors.into_iter().map(text).collect(),
            section: self.section.map(text),
            continuation: self.continuation.into_iter().map(text).collect(),
            inline: self.inline,
            stated: self.stated,
            at_end: self.at_end,
            marked: self.marked,
            cell: self.cell,
            repairs: self.repairs,
            part: self.part,
        }
    }
}

impl HunkLine<'_> {
    fn into_owned(self) -> HunkLine<'static> {
        HunkLine {
            mark: self.mark,
            text: Cow::Owned(self.text.into_owned()),
            cr: self.cr,
            no_newline: self.no_newline,
        }
    }
}

/// Parsed answer.
#[derive(Debug, Default)]
pub(crate) struct ParsedAnswer<'a> {
    /// Parts of the answer, in its order.
    pub files: Vec<FileEdit<'a>>,
    /// First lines of the parts with edits, each with its fence: the sentence above such a line speaks of the edit.
    pub heads: Vec<usize>,
    /// Notes about text that was skipped.
    pub notes: Vec<String>,
    /// Name of a call that is not an edit, and whose effect would be lost. `None` if there is no such call.
    pub other_call: Option<String>,
    /// True if a sentence above a part says that it replaces one above it.
    pub has_alternatives: bool,
    /// Number of mails: each of several was made for the result of the one before.
    pub mails: usize,
}

/// Returns the repair of a line that lost the blank in front of it.
pub(crate) fn missing_mark() -> Repair {
    new_repair("missing-mark", "a line without a mark was read as context")
}

/// Creates a repair with a stable name.
pub(crate) fn new_repair(kind: &str, detail: impl Into<String>) -> Repair {
    Repair {
        kind: kind.to_owned(),
        detail: detail.into(),
    }
}
