//! Every code that a failure can carry, with what it means and what to do.
//!
//! Owns: the list; a test compares it with the sources. Never: decides a code: each crate names its own.

/// A code and its meaning. The message of a failure says the same of the case at hand, with names and places.
pub struct Code {
    /// As printed between brackets and in `code`.
    pub code: &'static str,
    /// The exit codes it can come with.
    pub exits: &'static [u8],
    /// What failed, and where.
    pub what: &'static str,
    /// What to do next.
    pub next: &'static str,
}

const fn code(code: &'static str, exits: &'static [u8], what: &'static str, next: &'static str) -> Code {
    Code {
        code,
        exits,
        what,
        next,
    }
}

/// What to do next about any failure with this code.
pub fn next(code: &str) -> Option<&'static str> {
    let known = CODES.iter().find(|known| known.code == code);
    known.map(|known| known.next)
}

/// Every code, by whose doing it is.
#[rustfmt::skip]
pub const CODES: &[Code] = &[
    // The call.
    code("usage", &[2], "the call is wrong; the message names the part", "see the verb's `--help`"),
    code("bad-profile", &[2], "a profile file has a field or value that is not known; file, line and column are named", "mend the place that is named; `agentos profile validate FILE` checks it"),
    code("profile-not-written", &[2], "a profile cannot be written to your settings", "look at the rights of the folder that is named"),
    code("no-home", &[2], "there is no home folder to keep settings or keys in", "set `HOME`"),
    code("no-folder", &[2], "the folder above the one that is to be made is not there", "make it, or name another"),
    code("no-such-file", &[2], "a file that was named is not in the commit that the change would be made on", "name a committed file, relative to where you are"),
    code("no-runs", &[2], "there are no runs on the tape", "run `agentos apply` or `agentos run` first"),
    code("nothing-to-undo", &[2], "no run that landed is left to take back", "`agentos evidence list` shows all runs"),
    code("unknown-revision", &[2], "a name means no commit here", "`git log` shows the commits"),
    code("bad-branch-name", &[2], "git takes no branch of this name", "choose another name"),
    // Policy and consent.
    code("policy-error", &[3], "a rule file cannot be used; file and line are named. Nothing is allowed meanwhile", "mend the file that is named, or take it away"),
    code("policy-untrusted", &[3], "the machine's rules could have been written by somebody else than root", "give the file that is named to root, writable by nobody else"),
    code("secret", &[3], "the change adds something that looks like a key, in the file that is named", "take it out; keys belong into a keyring"),
    code("bidi", &[3, 4], "the change adds text that hides its direction or has no width", "write such characters as escapes"),
    code("protected-path", &[3, 4], "the change touches what a rule protects; the rule is named", "ask the one who may allow it, or leave the file out"),
    code("boundary", &[3], "something changed in the repository while a tool ran; the paths are named", "if you edited files yourself, run the task again"),
    code("declined", &[4], "the person who was asked said no; nothing was landed", "run it again to be asked once more"),
    code("consent-void", &[4], "a person said yes to another change, base, policy or target than the present one", "run it again and look at it anew"),
    code("consent-expired", &[4], "the request for a person's consent is too old", "run the task again to ask anew"),
    code("consent-answered", &[4], "the request was answered already", "run the task again to ask anew"),
    // Tools: no usable answer.
    code("missing_url", &[5], "no address is set for the provider", "`agentos tool run --base-url`, or a profile"),
    code("bad_url", &[5], "the address in the profile, flag or variable that is named cannot be called", "write something like `http://localhost:8080/v1`"),
    code("missing_model", &[5], "no model is set, and the server does not make it clear", "`--model NAME`, or a profile"),
    code("missing_key", &[5], "the provider wants a key and none is set", "`agentos tool auth set --provider NAME`"),
    code("bad_key", &[5], "the key cannot be sent in a header", "set the key again; it may hold a line break"),
    code("setup", &[5], "the client could not be set up", "look at the message; this is rare"),
    code("no_program", &[5], "the program that is the tool is not installed, or not on the search path", "install it, or name it by its absolute path"),
    code("not_confined", &[5], "the kernel cannot hold a program back here; the layer that is missing is named", "use Linux with Landlock, seccomp and user namespaces"),
    code("exit_code", &[5], "the program says by its exit code that it failed; its last line is quoted", "`agentos evidence show` has its output; `--read PATH` shows it more"),
    code("out_of_time", &[9], "the program did not end in time, and was ended", "`--timeout SECONDS`"),
    code("no_answer", &[5], "the tool says that it has no answer, and why", "mend what it names"),
    code("protocol", &[5], "the tool does not speak the tool protocol, or an agent not the Agent Client Protocol; how is named", "`agentos tool conform -- COMMAND`"),
    code("not_ignored", &[5], "a folder of `--share` is part of the repository", "share folders that `.gitignore` names"),
    code("copy", &[5], "the tool's copy of the repository cannot be made or read back", "look at the place that is named"),
    code("sandbox", &[5], "the sandbox itself failed", "look at the message; report it if it stays"),
    code("dns", &[5], "the server's name does not resolve", "look at the address and the network"),
    code("refused", &[5], "nobody listens at the address", "start the server, or mend the address"),
    code("connect_timeout", &[5, 9], "no connection in time", "look at the address and the network"),
    code("tls", &[5], "no TLS connection", "look at the address: `http` or `https`?"),
    code("tls_certificate", &[5], "the server's certificate is not trusted", "look at the address; certificates are always checked"),
    code("read_timeout", &[9], "no whole answer in time", "`--timeout SECONDS`"),
    code("closed", &[5], "the server closed before the answer was whole", "look at the server's log"),
    code("not_http", &[5], "what answers is no HTTP server", "look at the port"),
    code("too_large", &[5], "the server's answer, or what a program wrote, is larger than the cap", "ask for less at once"),
    code("redirect", &[5], "the server redirects, which is never followed", "set the address that it redirects to"),
    code("html", &[5], "a web page answers", "look at the path of the address"),
    code("key_required", &[5], "the server wants a key and none was sent", "`agentos tool auth set --provider NAME`"),
    code("unauthorized", &[5], "the key is refused", "set the right key; `agentos tool auth status` says where it comes from"),
    code("forbidden", &[5], "the key is good for something else", "use a key with the right to this model"),
    code("proxy_auth", &[5], "a proxy wants to know who you are", "reach the server without the proxy"),
    code("unknown_model", &[5], "the server does not know the model", "`agentos tool health` lists its models"),
    code("not_loaded", &[5], "the model is not loaded", "load it, or let the server load it on request"),
    code("load_failed", &[5], "the model's last load failed", "look at the server's log"),
    code("no_models", &[5], "the server has no model at all", "load one"),
    code("wrong_path", &[5], "there is no such path at the server", "look at the path of the address"),
    code("quota", &[5], "the money or the quota is used up", "look at the vendor's account page"),
    code("rate_limited", &[5], "too many requests for now", "wait, then run it again"),
    code("timeout", &[9], "the server gave up waiting", "ask for less at once, or raise its limit"),
    code("loading", &[5], "the model is still being loaded", "wait, then run it again"),
    code("conflict", &[5], "another request stands in the way", "run it again"),
    code("overloaded", &[5], "the server has too much to do", "wait, then run it again"),
    code("server_error", &[5], "the server failed", "look at the server's log"),
    code("not_json", &[5], "the answer is not JSON", "look at the address: it may be another service"),
    code("error_in_200", &[5], "the server reports an error in an answer that says it went well", "look at the message"),
    code("fields", &[5], "the answer lacks expected fields", "look at the adapter in the profile"),
    code("context_length", &[5], "the task does not fit the model's context", "name fewer files, or load a larger context"),
    code("rejected", &[5], "the server does not take the request as it is", "look at the message"),
    code("broken_stream", &[5], "the answer broke off", "run it again"),
    code("broken_answer", &[5], "the answer says of itself that it is not whole", "run it again"),
    code("key_in_answer", &[5], "the answer holds the key that was sent, and is thrown away", "change the key, and do not use this server"),
    code("missing_recording", &[5], "the provider `replay` was given no file", "`--replay FILE`"),
    code("unfinished-answer", &[5, 9], "the answer stops before its end", "`--max-output-tokens N`, or ask for less at once"),
    code("not-confined", &[5], "the kernel does not hold the tool back, and `--require-sandbox` demands it", "`agentos doctor` says which layer is missing"),
    code("no-signing-key", &[5], "there is no key to sign evidence with", "`agentos evidence key rotate --store file`"),
    code("key-not-stored", &[5], "the keyring or the key file does not take the key", "unlock the keyring, or `--store file`"),
    code("key-not-cleared", &[5], "a store could not be asked to forget the key", "unlock the keyring, then do it again"),
    // Landing: the answer does not fit.
    code("check-failed", &[6, 9], "the change does not pass the command of `--check`, or that did not end in time", "mend what the check shows; `--attempts` lets a model try again, `--check-timeout` gives more time"),
    code("no-diff", &[6], "there is no edit in the answer", "ask for a diff, or for search/replace blocks"),
    code("malformed", &[6], "an edit cannot be read; the line is named", "`agentos apply FILE --explain` shows how far it was read"),
    code("does-not-apply", &[6], "the place of an edit is not in the file", "look at the nearest place that is suggested"),
    code("ambiguous", &[6], "an edit fits in more than one place; they are listed", "give it more lines of context"),
    code("stale", &[6], "the edit was made for another state of the file", "make it anew for the present one"),
    code("path-escape", &[6], "a path leaves the repository", "name a path inside"),
    code("git-dir", &[3, 6, 8], "a path reaches git's own folder in some spelling, or a folder that what it holds makes a git directory", "no tool may write there"),
    code("symlink-traversal", &[6, 8], "a path leads through a symbolic link", "name the file that it leads to"),
    code("submodule", &[6, 8], "a path belongs to a submodule or another repository", "make the change in that repository"),
    code("mode-change", &[3, 4, 6], "a file would become a program, a link or a submodule", "make this change with git"),
    code("binary", &[6], "the diff has no text to land", "make this change with git"),
    code("case-collision", &[6], "two names differ by case or form alone", "choose another name"),
    code("reserved-name", &[6], "some system cannot have a file of this name", "choose another name"),
    code("encoding", &[6], "a path or an added line has characters that cannot be kept", "write it in UTF-8 without invisible characters"),
    code("too-large", &[3, 4, 6], "the answer or the change is larger than a limit, which is named", "make it in parts"),
    code("empty", &[0, 6], "the change is there already", "nothing is to be done"),
    code("no-way-back", &[6], "the run cannot be taken back: what it changed was changed again", "take it back by hand with `git revert`"),
    // Evidence.
    code("evidence-broken", &[7], "a record of the tape is not what was written; the line is named", "`agentos evidence verify` lists everything; keep the tape"),
    code("evidence-cut-off", &[7], "the end of the tape is missing", "keep what is there; `agentos evidence verify` says from where on"),
    code("evidence-no-blob", &[7], "a text that a record names is not there", "`agentos evidence verify` lists all of them"),
    code("evidence-blob-changed", &[7], "a text is not what the record names", "`agentos evidence verify` lists all of them"),
    code("evidence-invalid-record", &[7], "something cannot be recorded in the form that evidence has", "look at the message; nothing was landed"),
    code("evidence-not-durable", &[7], "evidence could not be made durable, so nothing was landed", "make room, or make the folder that is named writable"),
    code("evidence-not-writable", &[7], "the folder of evidence cannot be written", "give your user the right to write there"),
    code("evidence-key", &[7], "a key that signs evidence cannot be read", "`agentos evidence key rotate`"),
    // The repository.
    code("not-a-repository", &[8], "the folder is not in a git repository", "go to one, or `--repo DIR`"),
    code("not-owned", &[8], "the repository belongs to another user", "if you trust it, add it to git's `safe.directory`"),
    code("work-tree-elsewhere", &[8], "the repository's configuration puts its work tree elsewhere", "unset `core.worktree`"),
    code("foreign-git-dir", &[8], "the git directory does not name this folder as its work tree", "`git worktree repair`, or set `core.worktree`"),
    code("link-in-git-dir", &[8], "there is a symbolic link where a landing would write in the git directory", "put what it leads to in its place"),
    code("bare-without-branch", &[8], "the repository is bare, and no branch is named", "`--branch NAME`"),
    code("no-work-tree", &[8], "there is no work tree to write to", "`--branch NAME`"),
    code("unborn-branch", &[8], "the branch has no commit yet", "`git commit --allow-empty -m start`"),
    code("check-stale", &[8], "the branch moved after the change passed its check, and on the new commit it was not checked", "run it again"),
    code("branch-switched", &[8], "another branch is checked out than the one that the change was made for", "switch back, or run it again for the present one"),
    code("detached-head", &[8], "there is no branch to land on", "switch to a branch, or `--branch NAME`"),
    code("merge-in-progress", &[8], "a merge is in progress", "finish or abort it; `git status` says how"),
    code("revert-in-progress", &[8], "a revert is in progress", "finish or abort it; `git status` says how"),
    code("cherry-pick-in-progress", &[8], "a cherry-pick is in progress", "finish or abort it; `git status` says how"),
    code("bisect-in-progress", &[8], "a bisection is in progress", "`git bisect reset`"),
    code("rebase-in-progress", &[8], "a rebase is in progress", "finish or abort it; `git status` says how"),
    code("mailbox-in-progress", &[8], "`git am` is in progress", "finish or abort it; `git status` says how"),
    code("branch-checked-out", &[8], "the branch is checked out in another work tree, which is named", "run it there, or name another branch"),
    code("branch-in-use", &[8], "a rebase or bisection of the branch is in progress in the work tree that is named", "finish or abort it there"),
    code("branch-conflict", &[8], "a branch of this name cannot be beside the one that is named", "choose another name"),
    code("symbolic-branch", &[8], "the branch is another name for a ref", "name the branch that it stands for"),
    code("no-identity", &[8], "there is no name and address for the commit", "`git config user.name` and `git config user.email`"),
    code("bad-setting", &[8], "a git setting has a value that is not known", "`git config --show-origin --get-all NAME` says where it is set"),
    code("unreadable-policy", &[3], "a rule file of the base commit is not readable text, or `.agentos` or a folder in it is no plain folder", "correct and commit it"),
    code("unreadable-file", &[8], "a file that is named cannot be read", "look at its rights"),
    code("unreadable-base", &[8], "git's data cannot be read", "`git fsck` looks for damage"),
    code("unreadable-repository", &[8], "git's data cannot be read", "`git fsck` looks for damage"),
    code("reftable", &[8], "the repository keeps its refs in the reftable format", "convert it with `git refs migrate`"),
    code("sha256-repository", &[8], "the repository uses SHA-256 names", "use one with SHA-1 names"),
    code("split-index", &[8], "the index is split", "`git update-index --no-split-index`"),
    code("sparse-index", &[8], "the index is sparse", "`git sparse-checkout init --no-sparse-index`"),
    code("partial-clone", &[8], "the clone is partial, and landing fetches nothing", "make a full clone"),
    code("sparse-checkout", &[8], "the checkout is sparse", "`--branch NAME`, or `git sparse-checkout disable`"),
    code("unsupported-extension", &[8], "the repository uses a format extension that is not known", "use a plain repository"),
    code("approval-void", &[8], "what was approved is no longer what would be landed", "run it again"),
    code("base-moved", &[8], "the branch moved after the change was judged", "run it again: it lands on the new base"),
    code("dirty-overlap", &[8], "uncommitted work is in the way, in the files that are named", "commit or stash it, or `--branch NAME`"),
    code("filtered-path", &[8], "a filter stands between commit and work tree for the file that is named", "change this file with git"),
    code("line-ends", &[8], "a file's line ends in the work tree are not what git would write", "`--branch NAME`, then merge with git"),
    code("index-locked", &[8], "another program holds the index", "wait; if there is none, remove the lock file that is named"),
    code("head-locked", &[8], "another program switches branches", "wait; if there is none, remove the lock file that is named"),
    code("ref-locked", &[8], "another program holds the branch", "wait, then run it again"),
    code("not-signed", &[8], "commits are to be signed, and cannot be", "look at the message; git's `user.signingKey` and `gpg.format`"),
    code("recovery-blocked", &[8], "an earlier landing cannot be brought to its end yet; the message says what is in the way", "clear what is named away, then `agentos recover`"),
    code("bad-journal", &[8], "what an earlier landing left cannot be read", "move the file that is named away after looking at `git status`"),
    code("disk-full", &[8], "there is no room on the disk; what was begun was taken back", "make room and run it again"),
    code("read-only", &[8], "the disk is read-only", "make it writable and run it again"),
    code("not-permitted", &[8], "a folder that is named cannot be written", "make it writable for you"),
    code("write-failed", &[8], "something cannot be written; what was begun was taken back", "make room, or make the folder writable"),
    code("unfinished", &[8], "the commit is made, and the work tree is not yet wholly updated", "`agentos recover`"),
    // Yours.
    code("interrupted", &[130], "you stopped it; nothing is half done", "run it again"),
    // Faults of ours.
    code("second-opinion", &[1], "two independent ways to the result do not agree, and nothing was written", "report it with `agentos evidence export`"),
    code("not-approved", &[1], "a change without approval came to the writer, which refused it", "report it"),
    code("output", &[1], "standard output cannot be written", "look at where it goes"),
    code("run-lost", &[1], "a run ended without an outcome", "report it with `agentos evidence export`"),
    code("runtime", &[1], "the system refuses threads or timers", "look at the limits of your session"),
    code("http", &[1], "the HTTP client cannot be made", "report it"),
    code("lookup", &[1], "looking up a profile or key failed", "run it again; report it if it stays"),
    code("adapter", &[1], "a program was asked as if it were a server", "report it"),
    code("helper", &[1], "this program's own file is not known", "start it by its full path"),
    code("receipt", &[1], "a receipt cannot be written down", "report it"),
    code("record", &[1], "a record cannot be written down", "report it"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_code_stands_once_and_says_what_and_what_next() {
        let mut seen = BTreeSet::new();
        for code in CODES {
            assert!(seen.insert(code.code), "{} stands twice", code.code);
            for text in [code.what, code.next] {
                let first = text.chars().next().unwrap();
                assert!(
                    !first.is_uppercase() && !text.ends_with('.'),
                    "{}: {text}",
                    code.code
                );
                for leak in ["::", "/home", "/tmp", "Error(", "Some(", "unwrap"] {
                    assert!(!text.contains(leak), "{}: {text}", code.code);
                }
            }
        }
    }
}
