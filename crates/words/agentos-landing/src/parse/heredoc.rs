//! Shell scripts that contain an edit in a here-document: a patch for a program, or the whole text of a file.
//!
//! Owns: `<<'EOF'` up to its end. Never: runs anything, or takes one command out of a script that does more.

use std::borrow::Cow;

use super::cursor::{closes_fence, parse_fence};
use super::model::{EditBody, FileEdit, HeaderName, HunkLine, LineMark, ParsedAnswer};
use super::owner::LineOwner;
use crate::budget::WorkBudget;
use crate::text::{LineEnding, TextLine, trim};
use crate::{Dialect, Refusal, RefusalCode};

/// Lines of an answer that are commands which apply patch files.
#[derive(Debug)]
pub(super) struct ApplyCommands<'a> {
    lines: Vec<&'a [u8]>,
}

impl<'a> ApplyCommands<'a> {
    /// Finds these commands.
    pub(super) fn find_in(lines: &[TextLine<'a>]) -> Self {
        const APPLY: [&[u8]; 4] = [b"git apply", b"git am", b"patch -", b"patch <"];
        let applies = |text: &&[u8]| {
            !contains_word(text, b"<<") && APPLY.iter().any(|command| contains_word(text, command))
        };
        Self {
            lines: lines.iter().map(|line| line.text).filter(applies).collect(),
        }
    }

    /// Returns true if one of the commands applies this patch file.
    pub(super) fn applies(&self, path: &[u8], budget: &mut WorkBudget) -> Result<bool, Refusal> {
        for line in &self.lines {
            budget.spend(line.len())?;
            if contains_word(line, path) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn contains_word(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

/// Removes the shell commands around each patch. Scripts that do anything else stay as they are.
pub(super) fn unwrap_patches(
    lines: &mut [TextLine<'_>],
    owners: &[LineOwner],
    budget: &mut WorkBudget,
) -> Result<(), Refusal> {
    let commands = ApplyCommands::find_in(lines);
    for block in read_scripts(lines) {
        // A script inside a file or another block is text of that block.
        if owners.get(block.open) != Some(&LineOwner::Free) {
            continue;
        }
        for path in block
            .documents
            .iter()
            .filter_map(|document| document.patch.as_ref())
        {
            if !commands.applies(path, budget)? {
                return Err(patch_file_refusal(path));
            }
        }
        if block.documents.iter().all(|document| document.file.is_none()) {
            leave_patches(lines, &block);
        }
    }
    Ok(())
}

/// Returns the refusal of a patch that may be a file, or the change itself.
pub(super) fn patch_file_refusal(path: &[u8]) -> Refusal {
    let path = crate::text::excerpt(path, 200);
    let message = format!("the patch below `{path}` could be that file, or the change itself");
    Refusal::new(RefusalCode::Ambiguous, message).hint(
        "give a patch that is a file as a diff that adds it; give the change itself without a file's name",
    )
}

/// Returns the lines of the files that the script in the fence at `open` writes.
pub(super) fn written_bodies(lines: &[TextLine<'_>], open: usize, close: usize) -> Vec<(usize, usize)> {
    let shell = lines
        .get(open)
        .and_then(|line| parse_fence(line.text))
        .is_some_and(|fence| is_shell(fence.info));
    let documents = shell.then(|| read_script(lines, open + 1, close)).flatten();
    documents
        .unwrap_or_default()
        .iter()
        .filter(|document| document.file.is_some())
        .map(|document| (document.from, document.to))
        .collect()
}

/// Reads the files that scripts write. Called only if the answer has no other edits, since they may be examples
/// otherwise.
pub(crate) fn read_files<'a>(lines: &[TextLine<'a>], parsed: &mut ParsedAnswer<'a>) {
    for block in read_scripts(lines) {
        for document in &block.documents {
            if let Some(path) = &document.file {
                let body = lines.get(document.from..document.to).unwrap_or_default();
                parsed.files.push(whole_file(body, path));
            }
        }
    }
}

/// Returns true if a shell command writes a file in a script that cannot be read.
pub(crate) fn has_unread_script(lines: &[TextLine<'_>]) -> bool {
    shell_blocks(lines).any(|(open, close)| {
        let mut body = lines.get(open + 1..close).unwrap_or_default().iter();
        body.any(|line| writes_file(trim(line.text))) && read_script(lines, open + 1, close).is_none()
    })
}

/// Returns true for `cat > file <<EOF` and `tee file <<EOF`.
fn writes_file(text: &[u8]) -> bool {
    // Also commands that `read_script` cannot read, so that they are refused and not lost.
    let redirects = text.starts_with(b"tee ") || (text.starts_with(b"cat ") && text.contains(&b'>'));
    redirects && text.windows(2).any(|pair| pair == b"<<")
}

/// Block of shell commands with its fences.
struct ShellScript {
    open: usize,
    close: usize,
    documents: Vec<HereDocument>,
}

/// Returns where each block of shell commands begins and ends.
fn shell_blocks<'l>(lines: &'l [TextLine<'_>]) -> impl Iterator<Item = (usize, usize)> + 'l {
    let mut at = 0;
    let fences = std::iter::from_fn(move || {
        let (open, fence) = (at..lines.len()).find_map(|at| Some((at, parse_fence(lines.get(at)?.text)?)))?;
        let rest = lines.get(open + 1..)?;
        let length = rest.iter().position(|line| closes_fence(&fence, line.text));
        let close = open + 1 + length.unwrap_or(rest.len());
        at = close + 1;
        Some((open, close, fence))
    });
    fences
        .filter(|(_, _, fence)| is_shell(fence.info))
        .map(|(open, close, _)| (open, close))
}

fn read_scripts(lines: &[TextLine<'_>]) -> Vec<ShellScript> {
    let read = |(open, close)| {
        Some(ShellScript {
            open,
            close,
            documents: read_script(lines, open + 1, close)?,
        })
    };
    shell_blocks(lines).filter_map(read).collect()
}

/// Here-document: its body, and the file that it writes. The file is `None` if it holds a patch.
struct HereDocument {
    from: usize,
    to: usize,
    file: Option<Vec<u8>>,
    /// File that it writes, if its text is a patch. `None` otherwise.
    patch: Option<Vec<u8>>,
}

fn is_shell(info: &[u8]) -> bool {
    [b"bash".as_slice(), b"sh", b"shell", b"zsh"].contains(&info)
}

/// Returns the documents of a script that only writes and applies them. Returns `None` for a script with any other
/// command.
fn read_script(lines: &[TextLine<'_>], from: usize, to: usize) -> Option<Vec<HereDocument>> {
    const HARMLESS: [&[u8]; 6] = [
        b"#",
        b"git apply ",
        b"patch -p",
        b"mkdir -p ",
        b"set -e",
        b"rm -f /tmp/",
    ];
    let mut documents = Vec::new();
    let mut at = from;
    while at < to {
        let text = trim(lines.get(at)?.text);
        at += 1;
        let Some((command, word)) = split_opener(text) else {
            // These commands change nothing that the edit does not state by itself. Any other makes the result depend
            // on running it.
            if text.is_empty() || HARMLESS.iter().any(|start| text.starts_with(start)) {
                continue;
            }
            return None;
        };
        let length = lines.get(at..to)?.iter().position(|line| line.text == word)?;
        let target = written_path(&command);
        let first = lines
            .get(at..at + length)?
            .iter()
            .find(|line| !trim(line.text).is_empty())?;
        let patch = begins_edit(first.text);
        let (file, patch) = match target {
            // A patch written to a file is an edit only if a later command applies that file; the caller checks this.
            target if patch => (None, target),
            Some(file) => (Some(file), None),
            None => return None,
        };
        documents.push(HereDocument {
            from: at,
            to: at + length,
            file,
            patch,
        });
        at += length + 1;
    }
    (!documents.is_empty()).then_some(documents)
}

/// Returns the command without its here-document, and the quoted word that ends it. Returns `None` for an unquoted
/// word, with which the shell may change the text.
fn split_opener(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let at = text.windows(2).position(|pair| pair == b"<<")?;
    let (before, rest) = (text.get(..at)?, trim(text.get(at + 2..)?));
    // Only a quoted end word keeps the shell from expanding the text.
    let quote = *rest.first().filter(|byte| matches!(byte, b'\'' | b'"'))?;
    let rest = rest.get(1..)?;
    let end = rest.iter().position(|byte| *byte == quote)?;
    let word = rest.get(..end).filter(|word| !word.is_empty())?;
    Some(([before, rest.get(end + 1..)?].concat(), word))
}

/// Returns the file that `cat > file` or `tee file` writes. Returns `None` for any other command.
fn written_path(command: &[u8]) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(command).into_owned();
    let words: Vec<&str> = text.split_whitespace().collect();
    let file = match words.as_slice() {
        ["cat", ">", file] | ["tee", file] => file,
        ["cat", file] => file.strip_prefix('>')?,
        _ => return None,
    };
    // Quotes, variables and substitutions would need a shell to know the real name.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/+@".contains(&byte);
    (!file.is_empty() && file.bytes().all(plain)).then(|| file.as_bytes().to_vec())
}

fn begins_edit(line: &[u8]) -> bool {
    [b"diff --git ".as_slice(), b"--- ", b"*** Begin Patch"]
        .iter()
        .any(|start| line.starts_with(start))
}

/// Reduces the block to its patches, each in a fence of its own.
fn leave_patches(lines: &mut [TextLine<'_>], script: &ShellScript) {
    let mut at = script.open;
    for document in &script.documents {
        blank_lines(lines, at, document.from);
        // The line of the command becomes the opening fence, and that of the end word the closing one.
        put_line(lines, document.from.saturating_sub(1), b"```diff");
        put_line(lines, document.to, b"```");
        at = document.to + 1;
    }
    blank_lines(lines, at, script.close + 1);
}

fn put_line(lines: &mut [TextLine<'_>], at: usize, text: &'static [u8]) {
    if let Some(line) = lines.get_mut(at) {
        *line = TextLine {
            text,
            eol: LineEnding::Lf,
            full: text,
        };
    }
}

fn blank_lines(lines: &mut [TextLine<'_>], from: usize, to: usize) {
    let to = to.min(lines.len());
    for line in lines.get_mut(from..to).unwrap_or_default() {
        *line = TextLine {
            text: b"",
            eol: LineEnding::Lf,
            full: b"\n",
        };
    }
}

fn whole_file<'a>(lines: &[TextLine<'a>], path: &[u8]) -> FileEdit<'a> {
    let mut edit = FileEdit::new(Dialect::WholeFile);
    edit.old = HeaderName::Written(path.to_vec());
    edit.new = HeaderName::Written(path.to_vec());
    let lines = lines.iter().map(|line| HunkLine {
        mark: LineMark::Add,
        text: Cow::Borrowed(line.text),
        cr: false,
        no_newline: false,
    });
    edit.body = EditBody::Whole(lines.collect());
    edit
}
