//! Shell scripts that write whole files by here-documents: `cat > path <<'EOF'`.
//!
//! Owns: `<<'EOF'` up to its end. Never: runs anything, or takes one command out of a script that does more. A patch in
//! a script is left to the readers of patches.

use super::block::begins_edit;
use super::model::{FileClaim, FileEdit, HunkLine};
use crate::text::{TextLine, begins_as, contains, is_in, trim};

/// Reads a script in a fence of this kind. Returns the files if it does nothing but write them, and none if it writes a file
/// in a way that cannot be read. Returns `None` for another fence, and for a script that writes no file.
pub(super) fn read_script(kind: &[u8], body: &[TextLine<'_>]) -> Option<Vec<FileEdit>> {
    if !is_in("bash,sh,shell,zsh", kind) {
        return None;
    }
    let writes = || body.iter().any(|line| writes_file(trim(line.text)));
    written_files(body).or_else(|| writes().then(Vec::new))
}

/// Returns true for `cat > file <<EOF` and `tee file <<EOF`, and for commands that change files of the repository.
fn writes_file(text: &[u8]) -> bool {
    // Also commands that `written_files` cannot read, so that they are refused and not lost.
    let redirects = text.starts_with(b"tee ") || (text.starts_with(b"cat ") && text.contains(&b'>'));
    begins_as("git rm ;git mv ;sed -i", text) || (redirects && contains(text, b"<<"))
}

/// Returns the files of a script that only writes them. Returns `None` for a script with any other command.
fn written_files(lines: &[TextLine<'_>]) -> Option<Vec<FileEdit>> {
    // These commands change nothing that the files do not state by themselves. Any other makes the result depend on
    // running it.
    let mut files = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let text = trim(line.text);
        at += 1;
        let Some((command, word)) = split_opener(text) else {
            if text.is_empty() || begins_as("#;mkdir -p ;set -e", text) {
                continue;
            }
            return None;
        };
        let rest = lines.get(at..)?;
        let body = rest.get(..rest.iter().position(|line| line.text == word)?)?;
        let first = body.iter().find(|line| !trim(line.text).is_empty())?;
        // A patch that is written to a file may be that file, or the change itself.
        let path = written_path(&command).filter(|_| !begins_edit(first.text))?;
        let lines = HunkLine::added(body);
        files.push(FileEdit::of_whole_file(lines, path.as_bytes(), FileClaim::Call));
        at += body.len() + 1;
    }
    (!files.is_empty()).then_some(files)
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
fn written_path(command: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(command);
    let words: Vec<&str> = text.split_whitespace().collect();
    let file = match words.as_slice() {
        ["cat", ">", file] | ["tee", file] => file,
        ["cat", file] => file.strip_prefix('>')?,
        _ => return None,
    };
    // Quotes, variables and substitutions would need a shell to know the real name.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/+@".contains(&byte);
    (!file.is_empty() && file.bytes().all(plain)).then(|| (*file).to_owned())
}
