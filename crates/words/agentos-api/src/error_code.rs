//! Every code that a failure can carry, the exit statuses it can come with, and its meaning.
//!
//! Owns: the list, and the one spelling of a code. Never: decides a code: each crate names its own.

use std::borrow::Cow;

use serde::Serialize;

/// A code and its meaning. The message of a failure says more of the case at hand, with names and places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ErrorCode {
    /// Stable code, in kebab-case, as in `dirty-overlap`.
    pub code: &'static str,
    /// Exit statuses that it can come with, as numbers of [`crate::ExitStatus`].
    pub exits: &'static [u8],
    /// The failure, and its place.
    pub meaning: &'static str,
}

const fn code(code: &'static str, exits: &'static [u8], meaning: &'static str) -> ErrorCode {
    ErrorCode { code, exits, meaning }
}

/// Finds a code, in its present or its earlier spelling. Returns `None` for a code that a policy rule brought.
#[must_use]
pub fn find_code(code: &str) -> Option<&'static ErrorCode> {
    let code = normalize_code(code);
    ERROR_CODES.iter().find(|known| known.code == code)
}

/// Returns the present spelling of a code that was read from a tape or a recording.
///
/// Some codes were written in snake_case once, as in `bad_url`. What is no such code comes back as it is: a policy rule may
/// name a code of its own, with underscores.
#[must_use]
pub fn normalize_code(code: &str) -> Cow<'_, str> {
    if !code.contains('_') {
        return Cow::Borrowed(code);
    }
    let kebab = code.replace('_', "-");
    if ERROR_CODES.iter().any(|known| known.code == kebab) {
        Cow::Owned(kebab)
    } else {
        Cow::Borrowed(code)
    }
}

/// Every code, by whose doing it is.
#[rustfmt::skip]
pub const ERROR_CODES: &[ErrorCode] = &[
    // The call.
    code("usage", &[2], "the call is wrong; the message names the part"),
    code("bad-profile", &[2], "a profile file has a field or value that is not known; file, line and column are named"),
    code("profile-not-written", &[2], "a profile cannot be written to your settings"),
    code("no-home", &[2], "there is no home folder to keep settings or keys in"),
    code("no-folder", &[2], "the folder above the one that is to be made is not there"),
    code("no-such-file", &[2], "a file that was named is not in the commit that the change would be made on"),
    code("no-runs", &[2], "there are no runs on the tape"),
    code("nothing-to-undo", &[2], "no run that landed is left to take back"),
    code("unknown-revision", &[2], "a name means no commit here"),
    code("bad-branch-name", &[2], "git takes no branch of this name"),
    // Policy and consent.
    code("policy-error", &[3], "a rule file cannot be used; file and line are named. Nothing is allowed meanwhile"),
    code("policy-untrusted", &[3], "the machine's rules could have been written by somebody else than root"),
    code("secret", &[3], "the change adds something that looks like a key, in the file that is named"),
    code("bidi", &[3, 4], "the change adds text that hides its direction or has no width"),
    code("protected-path", &[3, 4], "the change touches what a rule protects; the rule is named"),
    code("boundary", &[3], "something changed in the repository while a tool ran; the paths are named"),
    code("declined", &[4], "the person who was asked said no; nothing was landed"),
    code("consent-void", &[4], "a person said yes to another change, base, policy or target than the present one"),
    code("consent-expired", &[4], "the request for a person's consent is too old"),
    code("consent-answered", &[4], "the request was answered already"),
    // Tools: no usable answer.
    code("missing-url", &[5], "no address is set for the provider"),
    code("bad-url", &[5], "the address in the profile, flag or variable that is named cannot be called"),
    code("missing-model", &[5], "no model is set, and the server does not make it clear"),
    code("missing-key", &[5], "the provider wants a key and none is set"),
    code("bad-key", &[5], "the key cannot be sent in a header"),
    code("setup", &[5], "the client could not be set up"),
    code("no-program", &[5], "the program that is the tool is not installed, or not on the search path"),
    code("exit-code", &[5], "the program says by its exit code that it failed; its last line is quoted"),
    code("out-of-time", &[9], "the program did not end in time, and was ended"),
    code("no-answer", &[5], "the tool says that it has no answer, and why"),
    code("protocol", &[5], "the tool does not speak the tool protocol, or an agent not the Agent Client Protocol; how is named"),
    code("not-ignored", &[5], "a folder that was to be shared with the tool is part of the repository"),
    code("copy", &[5], "the tool's copy of the repository cannot be made or read back"),
    code("sandbox", &[5], "the sandbox itself failed"),
    code("dns", &[5], "the server's name does not resolve"),
    code("refused", &[5], "nobody listens at the address"),
    code("connect-timeout", &[5, 9], "no connection in time"),
    code("tls", &[5], "no TLS connection"),
    code("tls-certificate", &[5], "the server's certificate is not trusted"),
    code("read-timeout", &[9], "no whole answer in time"),
    code("closed", &[5], "the server closed before the answer was whole"),
    code("not-http", &[5], "what answers is no HTTP server"),
    code("redirect", &[5], "the server redirects, which is never followed"),
    code("html", &[5], "a web page answers"),
    code("key-required", &[5], "the server wants a key and none was sent"),
    code("unauthorized", &[5], "the key is refused"),
    code("forbidden", &[5], "the key is good for something else"),
    code("proxy-auth", &[5], "a proxy wants to know who you are"),
    code("unknown-model", &[5], "the server does not know the model"),
    code("not-loaded", &[5], "the model is not loaded"),
    code("load-failed", &[5], "the model's last load failed"),
    code("no-models", &[5], "the server has no model at all"),
    code("wrong-path", &[5], "there is no such path at the server"),
    code("quota", &[5], "the money or the quota is used up"),
    code("rate-limited", &[5], "too many requests for now"),
    code("timeout", &[9], "the server gave up waiting"),
    code("loading", &[5], "the model is still being loaded"),
    code("conflict", &[5], "another request stands in the way"),
    code("overloaded", &[5], "the server has too much to do"),
    code("server-error", &[5], "the server failed"),
    code("not-json", &[5], "the answer is not JSON"),
    code("error-in-200", &[5], "the server reports an error in an answer that says it went well"),
    code("fields", &[5], "the answer lacks expected fields"),
    code("context-length", &[5], "the task does not fit the model's context"),
    code("rejected", &[5], "the server does not take the request as it is"),
    code("broken-stream", &[5], "the answer broke off"),
    code("broken-answer", &[5], "the answer says of itself that it is not whole"),
    code("key-in-answer", &[5], "the answer holds the key that was sent, and is thrown away"),
    code("missing-recording", &[5], "the provider `replay` was given no file"),
    code("short-context", &[0], "the model is loaded with a smaller context than the profile counts on"),
    code("not-signed-in", &[5], "the agent has nothing to sign in with"),
    code("does-not-start", &[5], "the program is installed, and does not start"),
    code("unfinished-answer", &[5, 9], "the answer stops before its end"),
    code("not-confined", &[5], "the kernel cannot hold a program back here, or not as far as is demanded; the layer that is missing is named"),
    code("no-signing-key", &[5], "there is no key to sign evidence with"),
    code("key-not-stored", &[5], "the keyring or the key file does not take the key"),
    code("key-not-cleared", &[5], "a store could not be asked to forget the key"),
    // Landing: the answer does not fit.
    code("check-failed", &[6, 9], "the change does not pass the check command, or that did not end in time"),
    code("no-diff", &[6], "there is no edit in the answer"),
    code("malformed", &[6], "an edit cannot be read; the line is named"),
    code("does-not-apply", &[6], "the place of an edit is not in the file"),
    code("ambiguous", &[6], "an edit fits in more than one place; they are listed"),
    code("stale", &[6], "the edit was made for another state of the file"),
    code("path-escape", &[6], "a path leaves the repository"),
    code("git-dir", &[3, 6, 8], "a path reaches git's own folder in some spelling, or a folder that what it holds makes a git directory"),
    code("symlink-traversal", &[6, 8], "a path leads through a symbolic link"),
    code("submodule", &[6, 8], "a path belongs to a submodule or another repository"),
    code("mode-change", &[3, 4, 6], "a file would become a program, a link or a submodule"),
    code("binary", &[6], "the diff has no text to land"),
    code("case-collision", &[6], "two names differ by case or form alone"),
    code("reserved-name", &[6], "some system cannot have a file of this name"),
    code("encoding", &[6], "a path or an added line has characters that cannot be kept"),
    code("too-large", &[3, 4, 5, 6], "the answer, the change or what a program wrote is larger than a limit, which is named"),
    code("empty", &[0, 6], "the change is there already"),
    code("no-way-back", &[6], "the run cannot be taken back: what it changed was changed again"),
    // Evidence.
    code("evidence-broken", &[7], "a record of the tape is not what was written; the line is named"),
    code("evidence-cut-off", &[7], "the end of the tape is missing"),
    code("evidence-no-blob", &[7], "a text that a record names is not there"),
    code("evidence-blob-changed", &[7], "a text is not what the record names"),
    code("evidence-invalid-record", &[7], "something cannot be recorded in the form that evidence has"),
    code("evidence-not-durable", &[7], "evidence could not be made durable, so nothing was landed"),
    code("evidence-not-writable", &[7], "the folder of evidence cannot be written"),
    code("evidence-key", &[7], "a key that signs evidence cannot be read"),
    // The repository.
    code("not-a-repository", &[8], "the folder is not in a git repository"),
    code("not-owned", &[8], "the repository belongs to another user"),
    code("work-tree-elsewhere", &[8], "the repository's configuration puts its work tree elsewhere"),
    code("foreign-git-dir", &[8], "the git directory does not name this folder as its work tree"),
    code("link-in-git-dir", &[8], "there is a symbolic link where a landing would write in the git directory"),
    code("bare-without-branch", &[8], "the repository is bare, and no branch is named"),
    code("no-work-tree", &[8], "there is no work tree to write to"),
    code("unborn-branch", &[8], "the branch has no commit yet"),
    code("check-stale", &[8], "the branch moved after the change passed its check, and on the new commit it was not checked"),
    code("branch-switched", &[8], "another branch is checked out than the one that the change was made for"),
    code("detached-head", &[8], "there is no branch to land on"),
    code("merge-in-progress", &[8], "a merge is in progress"),
    code("revert-in-progress", &[8], "a revert is in progress"),
    code("cherry-pick-in-progress", &[8], "a cherry-pick is in progress"),
    code("bisect-in-progress", &[8], "a bisection is in progress"),
    code("rebase-in-progress", &[8], "a rebase is in progress"),
    code("mailbox-in-progress", &[8], "`git am` is in progress"),
    code("branch-checked-out", &[8], "the branch is checked out in another work tree, which is named"),
    code("branch-in-use", &[8], "a rebase or bisection of the branch is in progress in the work tree that is named"),
    code("branch-conflict", &[8], "a branch of this name cannot be beside the one that is named"),
    code("symbolic-branch", &[8], "the branch is another name for a ref"),
    code("no-identity", &[8], "there is no name and address for the commit"),
    code("bad-setting", &[8], "a git setting has a value that is not known"),
    code("unreadable-policy", &[3], "a rule file of the base commit is not readable text, or `.agentos` or a folder in it is no plain folder"),
    code("unreadable-file", &[8], "a file that is named cannot be read"),
    code("unreadable-base", &[8], "git's data cannot be read"),
    code("unreadable-repository", &[8], "git's data cannot be read"),
    code("reftable", &[8], "the repository keeps its refs in the reftable format"),
    code("sha256-repository", &[8], "the repository uses SHA-256 names"),
    code("split-index", &[8], "the index is split"),
    code("sparse-index", &[8], "the index is sparse"),
    code("partial-clone", &[8], "the clone is partial, and landing fetches nothing"),
    code("sparse-checkout", &[8], "the checkout is sparse"),
    code("unsupported-extension", &[8], "the repository uses a format extension that is not known"),
    code("approval-void", &[8], "what was approved is no longer what would be landed"),
    code("base-moved", &[8], "the branch moved after the change was judged"),
    code("dirty-overlap", &[8], "uncommitted work is in the way, in the files that are named"),
    code("filtered-path", &[8], "a filter stands between commit and work tree for the file that is named"),
    code("line-ends", &[8], "a file's line ends in the work tree are not what git would write"),
    code("index-locked", &[8], "another program holds the index"),
    code("head-locked", &[8], "another program switches branches"),
    code("ref-locked", &[8], "another program holds the branch"),
    code("not-signed", &[8], "commits are to be signed, and cannot be"),
    code("recovery-blocked", &[8], "an earlier landing cannot be brought to its end yet; the message says what is in the way"),
    code("bad-journal", &[8], "what an earlier landing left cannot be read"),
    code("disk-full", &[8], "there is no room on the disk; what was begun was taken back"),
    code("read-only", &[8], "the disk is read-only"),
    code("not-permitted", &[8], "a folder that is named cannot be written"),
    code("write-failed", &[8], "something cannot be written; what was begun was taken back"),
    code("unfinished", &[8], "the commit is made, and the work tree is not yet wholly updated"),
    // Yours.
    code("interrupted", &[130], "you stopped it; nothing is half done"),
    // Faults of ours.
    code("second-opinion", &[1], "two independent ways to the result do not agree, and nothing was written"),
    code("not-approved", &[1], "a change without approval came to the writer, which refused it"),
    code("output", &[1], "standard output cannot be written"),
    code("run-lost", &[1], "a run ended without an outcome"),
    code("runtime", &[1], "the system refuses threads or timers"),
    code("http", &[1], "the HTTP client cannot be made"),
    code("lookup", &[1], "looking up a profile or key failed"),
    code("adapter", &[1], "a program was asked as if it were a server"),
    code("helper", &[1], "this program's own file is not known"),
    code("receipt", &[1], "a receipt cannot be written down"),
    code("record", &[1], "a record cannot be written down"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::ExitStatus;

    #[test]
    fn every_code_is_kebab_case_and_stands_once() {
        let mut seen = BTreeSet::new();
        for known in ERROR_CODES {
            let words = known.code.split('-');
            let is_word = |word: &str| {
                !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
            };
            assert!(words.into_iter().all(is_word), "{} is not kebab-case", known.code);
            assert!(seen.insert(known.code), "{} stands twice", known.code);
        }
    }

    #[test]
    fn every_code_has_a_meaning_and_exit_statuses_of_the_table() {
        let statuses = ExitStatus::ALL.map(|status| status as u8);
        for known in ERROR_CODES {
            assert!(
                !known.meaning.is_empty() && !known.meaning.ends_with('.'),
                "{}",
                known.code
            );
            assert!(!known.exits.is_empty(), "{}", known.code);
            for exit in known.exits {
                assert!(statuses.contains(exit), "{}: {exit}", known.code);
            }
        }
    }

    #[test]
    fn an_earlier_spelling_is_the_present_code_and_foreign_codes_stay() {
        for (read, code) in [
            ("bad_url", "bad-url"),
            ("not_confined", "not-confined"),
            ("too_large", "too-large"),
            ("error_in_200", "error-in-200"),
            ("dirty-overlap", "dirty-overlap"),
            ("own_rule_code", "own_rule_code"),
            ("", ""),
        ] {
            assert_eq!(normalize_code(read), code);
        }
        assert_eq!(find_code("exit_code").map(|known| known.code), Some("exit-code"));
        assert_eq!(find_code("own_rule_code"), None);
    }
}
