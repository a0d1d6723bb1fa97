//! List of all error codes, with the exit statuses that they can occur with and their meanings.
//!
//! Owns: the list, and the one spelling of each code. Never: chooses a code for a failure; the crate that fails does.

use std::borrow::Cow;

use serde::Serialize;

/// Error code and its meaning. The message of a particular failure adds names and places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ErrorCode {
    /// Stable code, in kebab-case, as in `dirty-overlap`.
    pub code: &'static str,
    /// Exit statuses that the code can occur with, as numbers of [`crate::ExitStatus`].
    pub exits: &'static [u8],
    /// Description of the failure, as a fragment without a full stop.
    pub meaning: &'static str,
}

const fn code(code: &'static str, exits: &'static [u8], meaning: &'static str) -> ErrorCode {
    ErrorCode { code, exits, meaning }
}

/// Finds a code by its current or its former spelling. Returns `None` if the code comes from a policy rule.
#[must_use]
pub fn find_code(code: &str) -> Option<&'static ErrorCode> {
    let code = normalize_code(code);
    ERROR_CODES.iter().find(|known| known.code == code)
}

/// Returns the current spelling of a code that was read from a tape or a recording.
///
/// Former versions wrote some codes in snake_case, as in `bad_url`. Any other text is returned unchanged, because a policy
/// rule may define its own code, with underscores.
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

/// All error codes, grouped by cause.
// One line for each code, so that a code, its statuses and its meaning are found by one search. rustfmt would
// wrap most of them.
#[rustfmt::skip]
pub const ERROR_CODES: &[ErrorCode] = &[
    // The command and its input.
    code("usage", &[2], "the command or its input is wrong; the message names the part"),
    code("bad-profile", &[2], "a profile file contains an unknown field or value; the message names file, line and column"),
    code("profile-not-written", &[2], "the profile cannot be written to the user's settings folder"),
    code("bad-settings", &[2], "the settings contain an unknown key or value, or other users can write to the file; the message names the place"),
    code("settings-not-written", &[2], "the settings file cannot be written"),
    code("export-not-written", &[2], "the file of an exported session cannot be written"),
    code("bad-models", &[2], "a file of models contains a mistake, or other users can write to it; the message names the entry"),
    code("models-not-written", &[2, 6], "the file of your models cannot be written"),
    code("model-not-added", &[2], "the user has added no model with this id"),
    code("some-not-imported", &[2], "entries of the imported table contain mistakes and were not taken; the others were"),
    code("bad-pool", &[2], "a pool of models cannot be used: a member, name, chain or place is wrong; the message names it"),
    code("selector-failed", &[5], "the program that chooses for a pool chose no member, and the pool states no selector for this case"),
    code("no-model-fits", &[5], "no member of the pool meets all needs of the turn; each has its reason"),
    code("replay-differs", &[7], "a recorded choice of a pool was made again with another result"),
    code("no-server", &[5], "no known server of models answers at the address"),
    code("no-models-listed", &[5], "no server answered the question which models it has"),
    code("missing-provider", &[2], "the task names no provider, and the user has set no default"),
    code("no-home", &[2], "there is no home folder in which settings or keys can be kept"),
    code("no-folder", &[2], "the parent of the folder to be created does not exist"),
    code("no-such-file", &[2], "a file named in the request does not exist in the base commit"),
    code("no-such-lines", &[2], "a file named in the request does not have the lines that are named with it"),
    code("no-such-symbol", &[2], "no file of the base commit has a definition of the name in the request"),
    code("no-runs", &[2], "the tape contains no runs"),
    code("nothing-to-undo", &[2], "there is no landed run left to undo"),
    code("already-landed", &[2], "the recorded answer landed before, and the call does not say that it should land once more"),
    code("unchecked-answer", &[2], "the recorded answer did not pass the check of its run, and the call does not say that it should land without"),
    code("unknown-revision", &[2], "the name does not refer to a commit in this repository"),
    code("bad-branch-name", &[2], "git does not accept this branch name"),
    code("editor", &[2], "the editor cannot be started, or the edited text cannot be used"),
    // Policy and consent.
    code("policy-error", &[3], "a policy file cannot be used; the message names file and line. Nothing is allowed until it is fixed"),
    code("bad-policies", &[2], "the file of the policies that the user agreed to cannot be used"),
    code("policy-untrusted", &[3], "somebody other than root could have written the machine's policy file"),
    code("secret", &[3], "the change adds something that looks like a key; the message names the file"),
    code("bidi", &[3, 4], "the change adds characters that are invisible or change the direction of text"),
    code("protected-path", &[3, 4], "the change touches a path that a rule protects; the message names the rule"),
    code("withheld-file", &[3, 4], "the change is about a file that policy withholds from its proposer, so a person decides; the message names the file"),
    code("boundary", &[3], "something in the repository changed while a tool ran; the message names the paths"),
    code("declined", &[4], "a person declined the change; nothing was landed"),
    code("consent-needed", &[4], "policy allows the change, and it waits for a person, as every change that a model proposes in a conversation"),
    code("consent-void", &[4], "the consent was given for another change, base commit, policy or target, or the change no longer lands"),
    code("consent-expired", &[4], "the request for consent has expired"),
    code("consent-answered", &[4], "the request for consent was already answered"),
    // Tools: no usable answer.
    code("missing-url", &[5], "the provider has no base URL"),
    code("bad-url", &[5], "the base URL in the profile, flag or environment variable cannot be used"),
    code("missing-model", &[5], "no model is set, and the server does not offer exactly one"),
    code("missing-key", &[5], "the provider needs a key, and none is set"),
    code("bad-key", &[5], "the key contains characters that an HTTP header cannot carry"),
    code("setup", &[5], "the HTTP client could not be set up"),
    code("no-program", &[5], "the program to run as the tool is not installed or not on the search path"),
    code("exit-code", &[5], "the program exited with a failure status; the message quotes its last line"),
    code("out-of-time", &[9], "the program did not finish within the time limit and was terminated"),
    code("no-answer", &[5], "the tool reports that it has no answer, with its reason, or the answer has neither text nor a call"),
    code("protocol", &[5], "the tool violates the tool protocol, or an agent violates the Agent Client Protocol; the message says how"),
    code("not-ignored", &[5], "a folder to share with the tool is part of the repository; only ignored folders can be shared"),
    code("copy", &[5], "the tool's copy of the repository cannot be created or read back"),
    code("sandbox", &[5], "the sandbox failed"),
    code("dns", &[5], "the server's host name cannot be resolved"),
    code("refused", &[5], "no server accepts connections at the address"),
    code("connect-timeout", &[5, 9], "no connection was established within the time limit"),
    code("tls", &[5], "no TLS connection could be established"),
    code("tls-certificate", &[5], "the server's TLS certificate is not trusted"),
    code("read-timeout", &[9], "a time limit passed: of the first byte, of silence, or of the complete answer"),
    code("closed", &[5], "the server closed the connection before the answer was complete"),
    code("not-http", &[5], "the server at the address does not speak HTTP"),
    code("encoded", &[5], "the server compressed its answer, which no request asks for"),
    code("redirect", &[5], "the server sent a redirect; redirects are never followed"),
    code("html", &[5], "the server sent a web page instead of an API answer"),
    code("key-required", &[5], "the server requires a key, and none was sent"),
    code("unauthorized", &[5], "the server rejected the key"),
    code("forbidden", &[5], "the key is valid but not permitted to do this"),
    code("proxy-auth", &[5], "a proxy requires authentication"),
    code("unknown-model", &[5], "the server does not have this model"),
    code("not-loaded", &[5], "the model is not loaded"),
    code("no-loading", &[5], "the server loads and unloads no models on request"),
    code("load-failed", &[5], "the server's last attempt to load the model failed"),
    code("no-models", &[5], "the server has no models"),
    code("wrong-path", &[5], "the server has no API at this path"),
    code("quota", &[5], "the account's quota or credit is used up"),
    code("rate-limited", &[5], "the server is limiting requests; try again later"),
    code("timeout", &[9], "the server reported a timeout"),
    code("loading", &[5], "the model is still loading"),
    code("conflict", &[5], "the server reports a conflict with another request"),
    code("overloaded", &[5], "the server is overloaded"),
    code("server-error", &[5], "the server reported an internal error"),
    code("not-json", &[5], "the answer is not JSON"),
    code("error-in-200", &[5], "the server reported an error in a response with a success status"),
    code("fields", &[5], "the answer lacks required fields"),
    code("context-length", &[5], "the task is larger than the model's context window"),
    code("rejected", &[5], "the server rejected the request as invalid"),
    code("broken-stream", &[5], "the stream ended before the answer was complete"),
    code("broken-answer", &[5], "the answer is marked as incomplete"),
    code("endless-answer", &[5], "the model says the same again and again, so the call was ended"),
    code("key-in-answer", &[5], "the answer contains the key that was sent, and was discarded"),
    code("missing-recording", &[5], "the provider `replay` needs a file to play back, and none was named"),
    code("short-context", &[0], "the model is loaded with a smaller context window than the profile states"),
    code("not-signed-in", &[5], "the agent has no credentials to sign in with"),
    code("does-not-start", &[5], "the program is installed but does not start"),
    code("unfinished-answer", &[5, 9], "the answer stops before its end, for example at a token limit"),
    code("not-confined", &[5], "the operating system's kernel cannot confine a program here, or not as strictly as required; the message names the missing layer"),
    code("no-signing-key", &[5], "there is no key to sign evidence with"),
    code("key-not-stored", &[5], "the keyring or the key file does not accept the key"),
    code("key-not-cleared", &[5], "a key store could not be asked to delete the key"),
    // Landing: the answer does not fit.
    code("check-failed", &[6, 9], "the check command failed on the change, or did not finish in time"),
    code("hook-failed", &[6, 8, 9], "a hook of the repository rejects the commit, or did not finish in time"),
    code("hook-changed", &[8], "a hook of the repository changed files or the commit message, which is not taken"),
    code("bad-mail", &[6], "a mail names no author or subject, or cannot be decoded; nothing was landed"),
    code("no-diff", &[6], "the answer contains no edit"),
    code("malformed", &[6], "an edit cannot be parsed; the message names the line"),
    code("does-not-apply", &[6], "the text that an edit replaces is not in the file"),
    code("ambiguous", &[6], "an edit fits in more than one place; the message lists them"),
    code("stale", &[6], "the edit was made for another version of the file"),
    code("path-escape", &[6], "a path leads out of the repository"),
    code("git-dir", &[3, 6, 8], "a path leads into a git directory, in some spelling, or into a folder that git would treat as one"),
    code("symlink-traversal", &[3, 6, 8], "a path leads through a symbolic link, or a new link would lead out of the repository"),
    code("submodule", &[6, 8], "a path belongs to a submodule or another repository"),
    code("mode-change", &[3, 4, 6], "the change would make an executable file, a symbolic link or a submodule"),
    code("binary", &[3, 4, 6], "the change touches a binary file, which needs a person's consent, or the diff leaves out its content"),
    code("case-collision", &[6], "two names differ only by case or Unicode normalization"),
    code("reserved-name", &[6], "a file name is reserved on some operating system"),
    code("encoding", &[6], "a path or an added line contains characters that cannot be preserved"),
    code("too-large", &[3, 4, 5, 6], "the answer, the change or a program's output exceeds a limit, which the message names"),
    code("empty", &[0, 6], "the files already contain the change"),
    code("no-way-back", &[6], "the run cannot be undone, because its lines were changed again afterwards"),
    // Evidence.
    code("evidence-broken", &[7], "a record on the tape differs from what was written; the message names the line"),
    code("evidence-cut-off", &[7], "the end of the tape is missing"),
    code("evidence-no-blob", &[7], "a blob that a record refers to is missing"),
    code("evidence-blob-changed", &[7], "a blob does not match the hash in its record"),
    code("evidence-invalid-record", &[7], "a record cannot be expressed in the format of the tape"),
    code("turn-unrecorded", &[7], "the model answered, and its turn cannot be recorded; the answer was paid for"),
    code("evidence-not-durable", &[7], "evidence could not be written durably, so nothing was landed"),
    code("evidence-not-writable", &[8], "the evidence folder is not writable"),
    code("explore-limit", &[9], "a model that reads the repository itself reached a limit before its answer"),
    code("no-tools", &[5], "the provider takes no tools, so its model cannot read the repository itself"),
    code("budget-spent", &[9], "a budget does not have as much left as the call can use, so nothing was sent"),
    code("budget-no-price", &[9], "a budget is set, and nobody knows what the call would cost, so nothing was sent"),
    code("budget-no-limit", &[9], "a budget is set, and the request states no limit on its answer, so nothing was sent"),
    code("budget-no-count", &[9], "a budget in calls or tokens is set, and nobody counts those of the program, so it was not started"),
    code("budget-expired", &[9], "what was reserved for the call has expired, as on a machine that slept, so nothing was sent"),
    code("bad-budgets", &[2], "the file of the budgets cannot be read or written"),
    code("turn-limit", &[9], "a turn of a conversation reached a limit before its answer"),
    code("history-withheld", &[3], "the session has read a file that policy withholds from the model that would be asked now, or from a program that this model can send text to"),
    code("toolbox-untrusted", &[3], "the user was not asked about the tools of a toolbox as they are now"),
    code("toolbox-failed", &[5], "a toolbox cannot be started, or lists no tools that models can be offered"),
    code("sign-in-needed", &[5], "nobody is signed in at a server of tools, or the sign-in has ended"),
    code("sign-in-failed", &[5], "signing in at a server of tools did not succeed; the message names the step"),
    code("bad-toolboxes", &[2], "the list of trusted toolboxes cannot be read"),
    code("toolboxes-not-written", &[2], "the list of trusted toolboxes could not be written"),
    code("session-busy", &[2], "another process uses the session"),
    code("default-changed", &[2], "the default is in a cloud now, and the session was answered on this machine"),
    code("no-session", &[2], "there is no session of this name"),
    code("ledger-database", &[7], "the database of the ledger cannot be used"),
    code("evidence-key", &[7], "a signing key for evidence cannot be read"),
    // The repository.
    code("not-a-repository", &[8], "the folder is not in a git repository"),
    code("not-owned", &[8], "the repository belongs to another user"),
    code("work-tree-elsewhere", &[8], "the repository's configuration puts its working tree in another folder"),
    code("foreign-git-dir", &[8], "the git directory does not name this folder as its working tree"),
    code("link-in-git-dir", &[8], "the git directory contains a symbolic link at a path that a landing writes"),
    code("bare-without-branch", &[8], "the repository is bare, and no branch is named"),
    code("no-work-tree", &[8], "the repository has no working tree to write to"),
    code("unborn-branch", &[8], "the branch has no commit yet"),
    code("check-stale", &[8], "the branch moved after the change passed its check, and the change was not checked on the new commit"),
    code("branch-switched", &[8], "the change was made for another branch than the one that is checked out now"),
    code("detached-head", &[8], "no branch to land on, because HEAD is detached"),
    code("merge-in-progress", &[8], "a merge is in progress"),
    code("revert-in-progress", &[8], "a revert is in progress"),
    code("cherry-pick-in-progress", &[8], "a cherry-pick is in progress"),
    code("bisect-in-progress", &[8], "a bisection is in progress"),
    code("rebase-in-progress", &[8], "a rebase is in progress"),
    code("mailbox-in-progress", &[8], "`git am` is in progress"),
    code("branch-checked-out", &[8], "the branch is checked out in another working tree, which the message names"),
    code("branch-in-use", &[8], "a rebase or bisection of the branch is in progress in another working tree, which the message names"),
    code("branch-conflict", &[8], "git cannot have this branch name together with an existing one, which the message names"),
    code("symbolic-branch", &[8], "the branch is a symbolic ref to another ref"),
    code("no-identity", &[8], "git has no user name and e-mail address for the commit"),
    code("bad-setting", &[8], "a git setting has an unknown value"),
    code("unreadable-policy", &[3], "a policy file is not readable text or would not be read as rules, or `.agentos` or a folder in it is not a plain folder"),
    code("unreadable-file", &[8], "a file that the message names cannot be read"),
    code("unreadable-base", &[8], "the base commit cannot be read from git"),
    code("unreadable-repository", &[8], "the repository's git data cannot be read"),
    code("reftable", &[8], "the repository stores refs in the reftable format, which is not supported"),
    code("sha256-repository", &[8], "the repository uses SHA-256 object names, which are not supported"),
    code("split-index", &[8], "the repository uses a split index, which is not supported"),
    code("partial-clone", &[8], "the repository has the setting `extensions.partialClone` of earlier git versions, which is not supported"),
    code("not-fetched", &[8], "a partial clone has not fetched a file that is needed, and nothing here fetches it"),
    code("unsupported-extension", &[8], "the repository uses a git format extension that is not supported"),
    code("approval-void", &[8], "the change to be landed is no longer the one that was approved"),
    code("base-moved", &[8], "the branch moved after the change was judged"),
    code("check-not-run", &[8], "the check command is not found or cannot be executed in the sandbox, also without the change"),
    code("check-base-failed", &[8, 9], "the check command fails on the base, without a change; no tool was called"),
    code("dirty-overlap", &[8], "files that the change touches contain uncommitted work; the message names them"),
    code("filtered-path", &[8], "a git filter converts the file between commit and working tree; the message names the file"),
    code("line-ends", &[8], "a file's line endings in the working tree differ from what git would write"),
    code("index-locked", &[8], "another program holds the lock of git's index"),
    code("head-locked", &[8], "another program is switching branches"),
    code("ref-locked", &[8], "another program holds the lock of the branch"),
    code("not-signed", &[8], "git is set to sign commits, and the commit cannot be signed"),
    code("recovery-blocked", &[8], "an interrupted landing cannot be recovered yet; the message says what prevents it"),
    code("bad-journal", &[8], "the journal of an interrupted landing cannot be read"),
    code("disk-full", &[8], "the disk is full; the landing was rolled back"),
    code("read-only", &[8], "the file system is read-only"),
    code("not-permitted", &[8], "a folder is not writable; the message names it"),
    code("write-failed", &[8], "a file cannot be written; the landing was rolled back"),
    code("unfinished", &[8], "the commit was made, but the working tree is not completely updated yet"),
    // Stopped by the user.
    code("interrupted", &[129, 130, 143], "the user stopped the run; nothing was left half written"),
    // Faults in AgentOS itself.
    code("second-opinion", &[1], "two independent computations of the result disagree; nothing was written"),
    code("not-approved", &[1], "the executor was given a change without approval, and refused it"),
    code("output", &[1], "standard output cannot be written"),
    code("run-lost", &[1], "a run ended without an outcome"),
    code("runtime", &[1], "the operating system does not provide threads or timers"),
    code("http", &[1], "the HTTP client cannot be created"),
    code("lookup", &[1], "a profile or key could not be looked up"),
    code("adapter", &[1], "a program was called as if it were a server"),
    code("catalogue", &[1], "the catalogue of models inside the program cannot be read"),
    code("helper", &[1], "the path of the running program is unknown"),
    code("receipt", &[1], "a receipt cannot be serialized"),
    code("record", &[1], "a record cannot be serialized"),
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
