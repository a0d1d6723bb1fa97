//! The words for the step that each code suggests, for a failure that brings none of its own.
//!
//! Owns: these words. Never: the list of codes, which programs read too, or a code's meaning: those are `agentos_api`'s.

use agentos_api::normalize_code;

/// Returns the words for what to do next about any failure with this code.
pub fn next(code: &str) -> Option<&'static str> {
    let code = normalize_code(code);
    let known = NEXT_WORDS.iter().find(|(known, _)| *known == code);
    known.map(|(_, words)| *words)
}

/// The words by code, in the order of the list of codes.
#[rustfmt::skip]
const NEXT_WORDS: &[(&str, &str)] = &[
    // The call.
    ("usage", "see the verb's `--help`"),
    ("bad-profile", "mend the place that is named; `agentos profile validate FILE` checks it"),
    ("profile-not-written", "look at the rights of the folder that is named"),
    ("no-home", "set `HOME`"),
    ("no-folder", "make it, or name another"),
    ("no-such-file", "name a committed file, relative to where you are"),
    ("no-runs", "run `agentos apply` or `agentos run` first"),
    ("nothing-to-undo", "`agentos evidence list` shows all runs"),
    ("unknown-revision", "`git log` shows the commits"),
    ("bad-branch-name", "choose another name"),
    // Policy and consent.
    ("policy-error", "mend the file that is named, or take it away"),
    ("policy-untrusted", "give the file that is named to root, writable by nobody else"),
    ("secret", "take it out; keys belong into a keyring"),
    ("bidi", "write such characters as escapes"),
    ("protected-path", "ask the one who may allow it, or leave the file out"),
    ("boundary", "if you edited files yourself, run the task again"),
    ("declined", "run it again to be asked once more"),
    ("consent-void", "run it again and look at it anew"),
    ("consent-expired", "run the task again to ask anew"),
    ("consent-answered", "run the task again to ask anew"),
    // Tools: no usable answer.
    ("missing-url", "`agentos tool run --base-url`, or a profile"),
    ("bad-url", "write something like `http://localhost:8080/v1`"),
    ("missing-model", "`--model NAME`, or a profile"),
    ("missing-key", "`agentos tool auth set --provider NAME`"),
    ("bad-key", "set the key again; it may hold a line break"),
    ("setup", "look at the message; this is rare"),
    ("no-program", "install it, or name it by its absolute path"),
    ("exit-code", "`agentos evidence show` has its output; `--read PATH` shows it more"),
    ("out-of-time", "`--timeout SECONDS`"),
    ("no-answer", "mend what it names"),
    ("protocol", "`agentos tool conform -- COMMAND`"),
    ("not-ignored", "share folders that `.gitignore` names"),
    ("copy", "look at the place that is named"),
    ("sandbox", "look at the message; report it if it stays"),
    ("dns", "look at the address and the network"),
    ("refused", "start the server, or mend the address"),
    ("connect-timeout", "look at the address and the network"),
    ("tls", "look at the address: `http` or `https`?"),
    ("tls-certificate", "look at the address; certificates are always checked"),
    ("read-timeout", "`--timeout SECONDS`"),
    ("closed", "look at the server's log"),
    ("not-http", "look at the port"),
    ("redirect", "set the address that it redirects to"),
    ("html", "look at the path of the address"),
    ("key-required", "`agentos tool auth set --provider NAME`"),
    ("unauthorized", "set the right key; `agentos tool auth status` says where it comes from"),
    ("forbidden", "use a key with the right to this model"),
    ("proxy-auth", "reach the server without the proxy"),
    ("unknown-model", "`agentos tool health` lists its models"),
    ("not-loaded", "load it, or let the server load it on request"),
    ("load-failed", "look at the server's log"),
    ("no-models", "load one"),
    ("wrong-path", "look at the path of the address"),
    ("quota", "look at the vendor's account page"),
    ("rate-limited", "wait, then run it again"),
    ("timeout", "ask for less at once, or raise its limit"),
    ("loading", "wait, then run it again"),
    ("conflict", "run it again"),
    ("overloaded", "wait, then run it again"),
    ("server-error", "look at the server's log"),
    ("not-json", "look at the address: it may be another service"),
    ("error-in-200", "look at the message"),
    ("fields", "look at the adapter in the profile"),
    ("context-length", "name fewer files, or load a larger context"),
    ("rejected", "look at the message"),
    ("broken-stream", "run it again"),
    ("broken-answer", "run it again"),
    ("key-in-answer", "change the key, and do not use this server"),
    ("missing-recording", "`--replay FILE`"),
    ("short-context", "load it with a longer context, or lower the number in the profile"),
    ("not-signed-in", "sign in with the agent itself, or `agentos tool auth set --provider NAME`"),
    ("does-not-start", "`--read PATH` shows it what it needs"),
    ("unfinished-answer", "`--max-output-tokens N`, or ask for less at once"),
    ("not-confined", "`agentos doctor` says which layer is missing"),
    ("no-signing-key", "`agentos evidence key rotate --store file`"),
    ("key-not-stored", "unlock the keyring, or `--store file`"),
    ("key-not-cleared", "unlock the keyring, then do it again"),
    // Landing: the answer does not fit.
    ("check-failed", "mend what the check shows; `--attempts` lets a model try again, `--check-timeout` gives more time"),
    ("no-diff", "ask for a diff, or for search/replace blocks"),
    ("malformed", "`agentos apply FILE --explain` shows how far it was read"),
    ("does-not-apply", "look at the nearest place that is suggested"),
    ("ambiguous", "give it more lines of context"),
    ("stale", "make it anew for the present one"),
    ("path-escape", "name a path inside"),
    ("git-dir", "no tool may write there"),
    ("symlink-traversal", "name the file that it leads to"),
    ("submodule", "make the change in that repository"),
    ("mode-change", "make this change with git"),
    ("binary", "make this change with git"),
    ("case-collision", "choose another name"),
    ("reserved-name", "choose another name"),
    ("encoding", "write it in UTF-8 without invisible characters"),
    ("too-large", "make it in parts, or ask for less at once"),
    ("empty", "nothing is to be done"),
    ("no-way-back", "take it back by hand with `git revert`"),
    // Evidence.
    ("evidence-broken", "`agentos evidence verify` lists everything; keep the tape"),
    ("evidence-cut-off", "keep what is there; `agentos evidence verify` says from where on"),
    ("evidence-no-blob", "`agentos evidence verify` lists all of them"),
    ("evidence-blob-changed", "`agentos evidence verify` lists all of them"),
    ("evidence-invalid-record", "look at the message; nothing was landed"),
    ("evidence-not-durable", "make room, or make the folder that is named writable"),
    ("evidence-not-writable", "give your user the right to write there"),
    ("evidence-key", "`agentos evidence key rotate`"),
    // The repository.
    ("not-a-repository", "go to one, or `--repo DIR`"),
    ("not-owned", "if you trust it, add it to git's `safe.directory`"),
    ("work-tree-elsewhere", "unset `core.worktree`"),
    ("foreign-git-dir", "`git worktree repair`, or set `core.worktree`"),
    ("link-in-git-dir", "put what it leads to in its place"),
    ("bare-without-branch", "`--branch NAME`"),
    ("no-work-tree", "`--branch NAME`"),
    ("unborn-branch", "`git commit --allow-empty -m start`"),
    ("check-stale", "run it again"),
    ("branch-switched", "switch back, or run it again for the present one"),
    ("detached-head", "switch to a branch, or `--branch NAME`"),
    ("merge-in-progress", "finish or abort it; `git status` says how"),
    ("revert-in-progress", "finish or abort it; `git status` says how"),
    ("cherry-pick-in-progress", "finish or abort it; `git status` says how"),
    ("bisect-in-progress", "`git bisect reset`"),
    ("rebase-in-progress", "finish or abort it; `git status` says how"),
    ("mailbox-in-progress", "finish or abort it; `git status` says how"),
    ("branch-checked-out", "run it there, or name another branch"),
    ("branch-in-use", "finish or abort it there"),
    ("branch-conflict", "choose another name"),
    ("symbolic-branch", "name the branch that it stands for"),
    ("no-identity", "`git config user.name` and `git config user.email`"),
    ("bad-setting", "`git config --show-origin --get-all NAME` says where it is set"),
    ("unreadable-policy", "correct and commit it"),
    ("unreadable-file", "look at its rights"),
    ("unreadable-base", "`git fsck` looks for damage"),
    ("unreadable-repository", "`git fsck` looks for damage"),
    ("reftable", "convert it with `git refs migrate`"),
    ("sha256-repository", "use one with SHA-1 names"),
    ("split-index", "`git update-index --no-split-index`"),
    ("sparse-index", "`git sparse-checkout init --no-sparse-index`"),
    ("partial-clone", "make a full clone"),
    ("sparse-checkout", "`--branch NAME`, or `git sparse-checkout disable`"),
    ("unsupported-extension", "use a plain repository"),
    ("approval-void", "run it again"),
    ("base-moved", "run it again: it lands on the new base"),
    ("dirty-overlap", "commit or stash it, or `--branch NAME`"),
    ("filtered-path", "change this file with git"),
    ("line-ends", "`--branch NAME`, then merge with git"),
    ("index-locked", "wait; if there is none, remove the lock file that is named"),
    ("head-locked", "wait; if there is none, remove the lock file that is named"),
    ("ref-locked", "wait, then run it again"),
    ("not-signed", "look at the message; git's `user.signingKey` and `gpg.format`"),
    ("recovery-blocked", "clear what is named away, then `agentos recover`"),
    ("bad-journal", "move the file that is named away after looking at `git status`"),
    ("disk-full", "make room and run it again"),
    ("read-only", "make it writable and run it again"),
    ("not-permitted", "make it writable for you"),
    ("write-failed", "make room, or make the folder writable"),
    ("unfinished", "`agentos recover`"),
    // Yours.
    ("interrupted", "run it again"),
    // Faults of ours.
    ("second-opinion", "report it with `agentos evidence export`"),
    ("not-approved", "report it"),
    ("output", "look at where it goes"),
    ("run-lost", "report it with `agentos evidence export`"),
    ("runtime", "look at the limits of your session"),
    ("http", "report it"),
    ("lookup", "run it again; report it if it stays"),
    ("adapter", "report it"),
    ("helper", "start it by its full path"),
    ("receipt", "report it"),
    ("record", "report it"),
];

#[cfg(test)]
mod tests {
    use agentos_api::ERROR_CODES;

    use super::*;

    #[test]
    fn every_code_has_words_in_the_order_of_the_list() {
        let codes: Vec<&str> = ERROR_CODES.iter().map(|known| known.code).collect();
        let worded: Vec<&str> = NEXT_WORDS.iter().map(|(code, _)| *code).collect();
        assert_eq!(worded, codes);
    }

    #[test]
    fn every_code_says_what_and_what_next() {
        for known in ERROR_CODES {
            for text in [known.meaning, next(known.code).unwrap()] {
                let first = text.chars().next().unwrap();
                assert!(
                    !first.is_uppercase() && !text.ends_with('.'),
                    "{}: {text}",
                    known.code
                );
                for leak in ["::", "/home", "/tmp", "Error(", "Some(", "unwrap"] {
                    assert!(!text.contains(leak), "{}: {text}", known.code);
                }
            }
        }
    }
}
