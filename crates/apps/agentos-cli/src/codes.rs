//! Default next step for each error code, for a failure that contains no next step of its own.
//!
//! Owns: the wording of these steps. Never: the codes or their meanings; `agentos-api` owns them, because programs read them.

use agentos_api::normalize_code;

/// Returns the default next step for a failure with this code. `None` if the code comes from a policy rule.
pub fn default_step(code: &str) -> Option<&'static str> {
    let code = normalize_code(code);
    let known = NEXT_WORDS.iter().find(|(known, _)| *known == code);
    known.map(|(_, words)| *words)
}

/// Next steps by code, in the order of the list of codes.
#[rustfmt::skip]
const NEXT_WORDS: &[(&str, &str)] = &[
    // The command and its input.
    ("usage", "see the verb's `--help`"),
    ("bad-profile", "correct the named line; `agentos profile validate FILE` checks it"),
    ("profile-not-written", "check the permissions of the named folder"),
    ("bad-settings", "correct the named line; `agentos config list` shows all settings"),
    ("settings-not-written", "check the permissions of the named folder"),
    ("export-not-written", "check the permissions of the named folder"),
    ("bad-models", "correct or remove the named entry; `agentos schema models-file` prints the form"),
    ("models-not-written", "check the permissions of the named folder"),
    ("model-not-added", "`agentos models list` shows the known models"),
    ("some-not-imported", "correct the named entries and import the table again"),
    ("bad-pool", "correct the named field of its profile; `agentos pool list` shows all pools"),
    ("selector-failed", "repair the program, or state a `selector` in the pool, which chooses when the program does not"),
    ("no-model-fits", "`agentos pool detect` shows the abilities of each member; add a member that has what is needed"),
    ("replay-differs", "the record was changed, or another version made it: compare its `input` and `input_hash`"),
    ("no-server", "start the server, and check its address"),
    ("no-models-listed", "`agentos tool health` shows what is wrong with each server"),
    ("missing-provider", "name a provider with `-p NAME`, or set a default with `agentos use NAME`"),
    ("no-home", "set `HOME`"),
    ("no-folder", "create it, or name another folder"),
    ("no-such-file", "name a committed file, relative to the current folder"),
    ("no-such-lines", "name lines that the file has, as in `PATH:10-80`, or the whole file"),
    ("no-such-symbol", "name a function, type or constant as its definition spells it"),
    ("no-runs", "run `agentos apply` or `agentos run` first"),
    ("nothing-to-undo", "`agentos log` shows the runs"),
    ("already-landed", "land it once more with `--again`"),
    ("unchecked-answer", "land it without its check with `--no-check`"),
    ("unknown-revision", "`git log` shows the commits"),
    ("bad-branch-name", "choose another name"),
    ("editor", "name a program in `VISUAL` or `EDITOR`"),
    // Policy and consent.
    ("policy-error", "correct or remove the named file"),
    ("bad-policies", "correct or remove the named file; `agentos trust` asks again"),
    ("policy-untrusted", "make the named file owned by root and writable by root only"),
    ("secret", "remove it; keys belong in a keyring"),
    ("bidi", "write such characters as escapes"),
    ("protected-path", "ask somebody who may allow it, or leave the file out"),
    ("withheld-file", "`agentos approve RUN` places the change and shows it"),
    ("boundary", "if you edited files yourself, run the task again"),
    ("declined", "run the task again to be asked again"),
    ("consent-needed", "`agentos approve` lists what waits, and lands what you choose"),
    ("consent-void", "`agentos approve` lists what waits; review the change as it would land now"),
    ("consent-expired", "run the task again to be asked again"),
    ("consent-answered", "run the task again to be asked again"),
    // Tools: no usable answer.
    ("missing-url", "set `--base-url URL`, or create a profile"),
    ("bad-url", "use an address such as `http://localhost:8080/v1`"),
    ("missing-model", "set `--model NAME`, or create a profile"),
    ("missing-key", "`agentos tool auth set --provider NAME`"),
    ("bad-key", "set the key again, without a line break"),
    ("setup", "see the message for the cause"),
    ("no-program", "install it, or name it by its absolute path"),
    ("exit-code", "`agentos show --output` prints its output; `--read PATH` lets it read more files"),
    ("out-of-time", "allow more time with `--timeout SECONDS`"),
    ("no-answer", "fix what the tool reports"),
    ("protocol", "`agentos tool conform -- COMMAND`"),
    ("not-ignored", "share only folders that `.gitignore` lists"),
    ("copy", "check the named path"),
    ("sandbox", "run it again; if it fails again, report it"),
    ("dns", "check the address and the network"),
    ("refused", "start the server, or correct the address"),
    ("connect-timeout", "check the address and the network, or set `--connect-timeout SECONDS`"),
    ("tls", "check whether the address needs `http` or `https`"),
    ("tls-certificate", "check the address; certificates are always verified"),
    ("read-timeout", "raise the limit that the message names, as in `--idle-timeout SECONDS`"),
    ("closed", "check the server's log"),
    ("not-http", "check the port"),
    ("encoded", "turn compression off in the server, or in the proxy in front of it"),
    ("redirect", "set the address that it redirects to"),
    ("html", "check the path of the address"),
    ("key-required", "`agentos tool auth set --provider NAME`"),
    ("unauthorized", "set the right key; `agentos tool auth status` shows where it comes from"),
    ("forbidden", "use a key with access to this model"),
    ("proxy-auth", "connect to the server without the proxy"),
    ("unknown-model", "`agentos tool health` lists its models"),
    ("not-loaded", "load the model, or let the server load it on request"),
    ("no-loading", "load the model with the server's own program"),
    ("load-failed", "check the server's log"),
    ("no-models", "load a model"),
    ("wrong-path", "check the path of the address"),
    ("quota", "check the vendor's account page"),
    ("rate-limited", "wait, then run it again"),
    ("timeout", "give it a smaller task, or raise the server's limit"),
    ("loading", "wait, then run it again"),
    ("conflict", "run it again"),
    ("overloaded", "wait, then run it again"),
    ("server-error", "check the server's log"),
    ("not-json", "check the address: another service may be running there"),
    ("error-in-200", "see the message for the cause"),
    ("fields", "check the adapter in the profile"),
    ("context-length", "name fewer files, or load the model with a larger context window"),
    ("rejected", "see the message for the cause"),
    ("broken-stream", "run it again"),
    ("broken-answer", "run it again"),
    ("endless-answer", "use another model, or give it a smaller task"),
    ("key-in-answer", "replace the key, and stop using this server"),
    ("missing-recording", "name a recording with `--replay FILE`"),
    ("short-context", "load the model with a larger context window, or lower the number in the profile"),
    ("not-signed-in", "sign in with the agent itself, or run `agentos tool auth set --provider NAME`"),
    ("does-not-start", "let it read the files that it needs with `--read PATH`"),
    ("unfinished-answer", "raise `--max-output-tokens N`, or give it a smaller task"),
    ("not-confined", "`agentos doctor` says which layer is missing"),
    ("no-signing-key", "`agentos evidence key rotate --store file`"),
    ("key-not-stored", "unlock the keyring, or use `--store file`"),
    ("key-not-cleared", "unlock the keyring, then run it again"),
    // Landing: the answer does not fit.
    ("check-failed", "fix what the check shows; `--attempts` lets a model try again, `--check-timeout` allows more time"),
    ("hook-failed", "fix what the hook shows, or change the message; without `--run-hooks` no hook is run"),
    ("hook-changed", "land what the hook writes as a change: `agentos run -p command -- FORMATTER`"),
    ("bad-mail", "correct the mail's headers, or remove them and land the diff alone"),
    ("no-diff", "ask for a diff, or for search/replace blocks"),
    ("malformed", "`agentos apply FILE --explain` shows how far it was parsed"),
    ("does-not-apply", "compare it with the file as it is in the commit"),
    ("ambiguous", "give the edit more lines of context"),
    ("stale", "make the edit again for the current version"),
    ("path-escape", "name a path inside the repository"),
    ("git-dir", "no tool may write there"),
    ("symlink-traversal", "name the file that the link leads to"),
    ("submodule", "make the change in that repository"),
    ("mode-change", "make this change with git"),
    ("binary", "read it with another program, then `agentos approve`; make the diff with `git diff --binary`"),
    ("case-collision", "choose another name"),
    ("reserved-name", "choose another name"),
    ("encoding", "write it in UTF-8 without invisible characters"),
    ("too-large", "make the change in parts, or give the tool a smaller task"),
    ("empty", "nothing needs to be done"),
    ("no-way-back", "undo it by hand with `git revert`"),
    // Evidence.
    ("evidence-broken", "`agentos evidence verify` lists every fault; keep the tape"),
    ("evidence-cut-off", "keep the rest; `agentos evidence verify` shows where it ends"),
    ("evidence-no-blob", "`agentos evidence verify` lists all of them"),
    ("evidence-blob-changed", "`agentos evidence verify` lists all of them"),
    ("evidence-invalid-record", "nothing was landed; see the message for the cause"),
    ("turn-unrecorded", "make the folder of the ledger writable, and ask again; see the message for the cause"),
    ("evidence-not-durable", "free disk space, or make the named folder writable"),
    ("evidence-not-writable", "make the folder writable for your user"),
    ("explore-limit", "raise `--explore-rounds` or `--explore-time`, or name files with `--file`"),
    ("no-tools", "leave `--explore` out, or name another provider"),
    ("budget-spent", "`agentos budget list` shows what is spent; raise the budget, or wait for its next period"),
    ("budget-no-price", "state the price in your profile, or name a model with a known price"),
    ("budget-no-limit", "add `{{max_tokens}}` to the request of its profile, or state its context window"),
    ("budget-no-count", "name a model behind a server, or set the budget in US dollars"),
    ("budget-expired", "send it again"),
    ("bad-budgets", "repair the named file, or remove it and set the budgets again"),
    ("turn-limit", "ask it to go on; `agentos chat show` shows what is kept"),
    ("history-withheld", "ask a model that may read the file; or drop what was read from the conversation with `agentos chat drop`; or let this provider see it with `agentos chat share`"),
    ("toolbox-untrusted", "`agentos tool trust NAME` shows the tools and asks"),
    ("toolbox-failed", "see the message for the cause; `agentos profile show NAME` shows how it is started"),
    ("sign-in-needed", "`agentos tool auth sign-in --provider NAME`"),
    ("sign-in-failed", "see the message for the step that failed; a server that is not safe to sign in at takes a key: `agentos tool auth set`"),
    ("bad-toolboxes", "correct or remove the named file; `agentos tool trust NAME` asks again"),
    ("toolboxes-not-written", "check the permissions of the named folder"),
    ("session-busy", "end the other program, or name another session with `-c NAME`"),
    ("default-changed", "name the provider with `-p NAME`, or answer the question at a terminal"),
    ("no-session", "`agentos chat list` shows the sessions"),
    ("ledger-database", "`agentos store rebuild` makes it again from the tape"),
    ("evidence-key", "create a new key with `agentos evidence key rotate`"),
    // The repository.
    ("not-a-repository", "change to a repository, or use `--repo DIR`"),
    ("not-owned", "if you trust it, add it to git's `safe.directory`"),
    ("work-tree-elsewhere", "unset `core.worktree`"),
    ("foreign-git-dir", "run `git worktree repair`, or set `core.worktree`"),
    ("link-in-git-dir", "replace the link by the file or folder that it leads to"),
    ("bare-without-branch", "`--branch NAME`"),
    ("no-work-tree", "`--branch NAME`"),
    ("unborn-branch", "`git commit --allow-empty -m start`"),
    ("check-stale", "run it again"),
    ("branch-switched", "switch back, or run the task again for the current branch"),
    ("detached-head", "switch to a branch, or use `--branch NAME`"),
    ("merge-in-progress", "finish or abort it; `git status` says how"),
    ("revert-in-progress", "finish or abort it; `git status` says how"),
    ("cherry-pick-in-progress", "finish or abort it; `git status` says how"),
    ("bisect-in-progress", "`git bisect reset`"),
    ("rebase-in-progress", "finish or abort it; `git status` says how"),
    ("mailbox-in-progress", "finish or abort it; `git status` says how"),
    ("branch-checked-out", "run it in that working tree, or name another branch"),
    ("branch-in-use", "finish or abort it in that working tree"),
    ("branch-conflict", "choose another name"),
    ("symbolic-branch", "name the branch that it refers to"),
    ("no-identity", "`git config user.name` and `git config user.email`"),
    ("bad-setting", "`git config --show-origin --get-all NAME` shows where it is set"),
    ("unreadable-policy", "correct and commit it"),
    ("unreadable-file", "check its permissions"),
    ("unreadable-base", "`git fsck` looks for damage"),
    ("unreadable-repository", "`git fsck` looks for damage"),
    ("reftable", "convert it with `git refs migrate`"),
    ("sha256-repository", "use a repository with SHA-1 object names"),
    ("split-index", "`git update-index --no-split-index`"),
    ("partial-clone", "`git config --unset extensions.partialClone`"),
    ("not-fetched", "run the git command that the message names, which fetches the file"),
    ("unsupported-extension", "use a repository without this extension"),
    ("approval-void", "run it again"),
    ("base-moved", "run it again; it then uses the new base commit"),
    ("check-not-run", "`agentos show --output` prints what it lacks; `--read` and `--share` give it access to more files"),
    ("check-base-failed", "make it pass first; `--check-base skip` if that is the task"),
    ("dirty-overlap", "commit or stash the work, or use `--branch NAME`"),
    ("filtered-path", "change this file with git"),
    ("line-ends", "land with `--branch NAME`, then merge with git"),
    ("index-locked", "wait for that program; if none is running, remove the named lock file"),
    ("head-locked", "wait for that program; if none is running, remove the named lock file"),
    ("ref-locked", "wait, then run it again"),
    ("not-signed", "check git's `user.signingKey` and `gpg.format`; see the message for the cause"),
    ("recovery-blocked", "remove the named obstacle, then run `agentos recover`"),
    ("bad-journal", "check `git status`, then move the named file away"),
    ("disk-full", "free disk space and run it again"),
    ("read-only", "make the file system writable and run it again"),
    ("not-permitted", "make the folder writable for your user"),
    ("write-failed", "free disk space, or make the folder writable"),
    ("unfinished", "run `agentos recover`"),
    // Stopped by the user.
    ("interrupted", "run it again"),
    // Faults in AgentOS itself.
    ("second-opinion", "report it with `agentos evidence export`"),
    ("not-approved", "report it"),
    ("output", "check where standard output goes"),
    ("run-lost", "report it with `agentos evidence export`"),
    ("runtime", "check the process limits of your session"),
    ("http", "report it"),
    ("lookup", "run it again; if it fails again, report it"),
    ("adapter", "report it"),
    ("catalogue", "report this: the program was built from damaged data"),
    ("helper", "start the program by its full path"),
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
            for text in [known.meaning, default_step(known.code).unwrap()] {
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
