//! Shapes that every dialect is parsed into: files with hunks, as written, before anything is looked up.
//!
//! Owns: the shapes. Never: knows the base.

use std::hash::{Hash, Hasher};

use crate::binary::BinaryData;
use crate::compare::line_edits;
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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct HunkLine {
    /// Mark of the line.
    pub mark: LineMark,
    /// Text without the line ending.
    pub text: Vec<u8>,
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

impl HunkLine {
    /// Returns added lines with these texts.
    pub(crate) fn added(lines: &[TextLine<'_>]) -> Vec<Self> {
        let lines = lines.iter().map(|line| Self::new(LineMark::Add, line.text));
        lines.collect()
    }

    /// Creates a line whose ending says nothing.
    pub(crate) fn new(mark: LineMark, text: impl Into<Vec<u8>>) -> Self {
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct TextReplacement {
    /// Text that the file has, maybe as a part of a line.
    pub search: String,
    /// Text that replaces it.
    pub replace: String,
    /// Number of places in which it is replaced.
    pub count: PlaceCount,
}

/// Number of places of a text that is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum PlaceCount {
    /// The text has one place.
    One,
    /// Every place of the text, as the answer says.
    All,
    /// Places of the number that the answer says.
    Exactly(u64),
}

/// Claim by which a block is a whole file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
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

impl Hash for PartNumber {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// Hunk of a diff, or one search/replace pair.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Hunk {
    /// Numbers of its header.
    pub stated: StatedLines,
    /// Lines of the hunk.
    pub lines: Vec<HunkLine>,
    /// Lines that must be above it in the file, outermost first.
    pub anchors: Vec<Vec<u8>>,
    /// Heading that a unified diff writes behind the second `@@`: a line above the hunk, as its author believes. It
    /// may be cut off. `None` if there is none.
    pub section: Option<Vec<u8>>,
    /// Lines that continue the hunk if the line that ended it was misread: a `--` that signs a mail or removes a
    /// line, or a divider that may be a rule of the file, with the lines below it.
    pub continuation: Vec<Vec<u8>>,
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum EditBody {
    /// Edits that need a place.
    Hunks(Vec<Hunk>),
    /// Whole new text.
    Whole(Vec<HunkLine>),
}

impl Default for EditBody {
    fn default() -> Self {
        Self::Hunks(Vec::new())
    }
}

/// Git's extended header lines. Each is `None` if the header does not have it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum BinaryPart {
    /// `Binary files … differ`, without the content.
    LeftOut,
    /// `GIT binary patch` with the way from the old content to the new one.
    Data(BinaryData),
}

/// Part of an answer about one file, as written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct FileEdit {
    /// Dialect of the part.
    pub dialect: Dialect,
    /// Old name.
    pub old: HeaderName,
    /// New name.
    pub new: HeaderName,
    /// Git's extended header lines.
    pub extended: GitHeaders,
    /// Edits of the part.
    pub body: EditBody,
    /// True if the dialect itself states that the file is deleted, without showing its lines.
    pub delete: bool,
    /// True if the dialect itself states that the file is new.
    pub create: bool,
    /// Claim by which the part is a whole file. Has no meaning for hunks.
    pub claim: FileClaim,
    /// Repairs made while reading.
    pub repairs: Vec<Repair>,
}

impl FileEdit {
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
    pub(crate) fn of_hunk(dialect: Dialect, path: &[u8], hunk: Hunk) -> Self {
        Self {
            body: EditBody::Hunks(vec![hunk]),
            ..Self::of_path(dialect, path)
        }
    }

    /// Creates an edit that gives a whole file.
    pub(crate) fn of_whole_file(lines: Vec<HunkLine>, path: &[u8], claim: FileClaim) -> Self {
        Self {
            body: EditBody::Whole(lines),
            claim,
            ..Self::of_path(Dialect::WholeFile, path)
        }
    }

    /// Returns the hunks; empty for a whole file.
    pub(crate) fn hunks(&self) -> &[Hunk] {
        match &self.body {
            EditBody::Hunks(hunks) => hunks,
            EditBody::Whole(_) => &[],
        }
    }
}

impl Hunk {
    /// Creates a hunk of these lines, without a stated place.
    pub(crate) fn of_lines(lines: Vec<HunkLine>) -> Self {
        Self {
            lines,
            ..Self::default()
        }
    }

    /// Creates a hunk of a search text and its replacement. Lines on both sides are context, so that they keep the file's own
    /// bytes.
    pub(crate) fn of_texts(old: &[&[u8]], new: &[&[u8]]) -> Self {
        let mut lines = Vec::with_capacity(old.len() + new.len());
        let mut push = |mark: LineMark, texts: &[&[u8]]| {
            lines.extend(texts.iter().map(|text| HunkLine::new(mark, text.to_vec())));
        };
        let mut at = 0;
        for edit in line_edits(old, new) {
            push(LineMark::Context, old.get(at..edit.old.start).unwrap_or_default());
            push(LineMark::Remove, old.get(edit.old.clone()).unwrap_or_default());
            push(LineMark::Add, new.get(edit.new).unwrap_or_default());
            at = edit.old.end;
        }
        push(LineMark::Context, old.get(at..).unwrap_or_default());
        Self::of_lines(lines)
    }

    /// Returns the lines that the base must have.
    pub(crate) fn old_lines(&self) -> impl Iterator<Item = &HunkLine> {
        self.lines.iter().filter(|line| line.is_old())
    }

    /// Returns the lines that the result has.
    pub(crate) fn new_lines(&self) -> impl Iterator<Item = &HunkLine> {
        self.lines.iter().filter(|line| line.is_new())
    }

    /// Returns true if a line has this mark.
    pub(crate) fn has(&self, mark: LineMark) -> bool {
        self.lines.iter().any(|line| line.mark == mark)
    }
}

/// Parsed answer.
#[derive(Debug, Default)]
pub(crate) struct ParsedAnswer {
    /// Parts of the answer, in its order.
    pub files: Vec<FileEdit>,
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
