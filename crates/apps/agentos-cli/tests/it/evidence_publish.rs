//! Evidence that travels: published in a ref, pushed, fetched and verified in a clone, by both verifiers.

use std::path::{Path, PathBuf};

use agentos_testkit::cli::{Cli, CliOutput};
use agentos_testkit::repo::{TestRepo, read_file, write_file};
use serde_json::Value;

use crate::evidence_outside::{python, script};
use crate::support::{agentos, signing};

/// A hub, and a first machine with a clone of it that lands changes of one file of 40 numbered lines, `f`.
struct Hub {
    repo: TestRepo,
    machine: Machine,
}

/// A clone, with the user's program there.
struct Machine {
    dir: PathBuf,
    cli: Cli,
}

impl Hub {
    fn new() -> Self {
        let repo = TestRepo::bare();
        let dir = clone(&repo, "one");
        let lines: String = (1..=40).map(|line| format!("{line}\n")).collect();
        write_file(&dir.join("f"), lines);
        repo.git_in(&dir, &["checkout", "--quiet", "-B", "main"]);
        repo.git_in(&dir, &["add", "--all"]);
        repo.git_in(&dir, &["commit", "--quiet", "--message", "first"]);
        repo.git_in(&dir, &["push", "--quiet", "--set-upstream", "origin", "main"]);
        let cli = agentos().in_dir(&dir);
        Self {
            repo,
            machine: Machine { dir, cli },
        }
    }

    fn machine(&self, name: &str) -> Machine {
        let dir = clone(&self.repo, name);
        let cli = agentos().in_dir(&dir);
        Machine { dir, cli }
    }

    fn git(&self, machine: &Machine, args: &[&str]) -> String {
        self.repo.git_in(&machine.dir, args)
    }

    /// Pushes the branches and the evidence of a machine.
    fn push(&self, machine: &Machine) {
        self.git(machine, &["push", "--quiet", "--force", "origin", "--all"]);
        machine.publish(&[]);
        self.git(machine, &["push", "--quiet", "origin", "refs/agentos/evidence/*"]);
    }

    fn fetch(&self, machine: &Machine) {
        self.git(
            machine,
            &["fetch", "--quiet", "origin", "refs/agentos/*:refs/agentos/*"],
        );
    }

    /// The only published tape of a machine.
    fn only_ref(&self, machine: &Machine) -> String {
        self.git(machine, &["for-each-ref", "--format=%(refname)", "refs/agentos"])
    }

    /// All files of a ref, as one text.
    fn content(&self, machine: &Machine, refname: &str) -> String {
        let names = self.git(machine, &["ls-tree", "-r", "--name-only", refname]);
        let show = |name: &str| self.git(machine, &["show", &format!("{refname}:{name}")]);
        names.lines().map(show).collect()
    }
}

fn clone(repo: &TestRepo, name: &str) -> PathBuf {
    let dir = repo.outside().join(name);
    let at = repo.path().to_str().unwrap();
    repo.git_in(repo.path(), &["clone", "--quiet", at, dir.to_str().unwrap()]);
    for (key, value) in [("user.name", "Test Author"), ("user.email", "author@example.com")] {
        repo.git_in(&dir, &["config", key, value]);
    }
    dir
}

impl Machine {
    /// Lands a change of one line.
    fn land(&self, line: u32) {
        let (above, below) = (line - 1, line + 1);
        let diff = format!(
            "Prose of the answer.\n\n```diff\n--- a/f\n+++ b/f\n@@ -{above},3 +{above},3 @@\n {above}\n-{line}\n+{line} by a run\n {below}\n```\n"
        );
        let output = self.cli.run_with_input(&["apply"], diff.as_bytes()).unwrap();
        assert_eq!(output.code, Some(0), "{output}");
    }

    fn publish(&self, more: &[&str]) -> Value {
        let args = [&["evidence", "publish", "--json"], more].concat();
        let output = self.cli.run(&args).unwrap();
        assert_eq!(output.code, Some(0), "{output}");
        output.json().unwrap()
    }

    /// Lets both verifiers judge the repository; gives the kinds of faults, on which they must agree.
    fn verify(&self) -> (CliOutput, Vec<String>) {
        let ours = self.cli.run(&["evidence", "verify", "--json"]).unwrap();
        let kinds = |of: &Value| -> Vec<String> {
            let list = of["findings"].as_array().cloned().unwrap_or_default();
            list.iter()
                .map(|one| one["tampering"].as_str().unwrap().to_owned())
                .collect()
        };
        let found = kinds(&ours.json().unwrap());
        assert_eq!(ours.code, Some(if found.is_empty() { 0 } else { 7 }), "{ours}");
        if let Some(python) = python("cryptography") {
            let (_, theirs) = script(&python, "published.py", &["--repo", self.dir.to_str().unwrap()]);
            assert_eq!(kinds(&theirs), found, "{ours} {theirs}");
        }
        (ours, found)
    }
}

#[test]
fn evidence_is_pushed_and_a_clone_that_fetches_it_verifies() {
    let hub = Hub::new();
    hub.machine.land(10);
    hub.push(&hub.machine);
    let clone = hub.machine("clone");
    let before = clone.cli.run(&["evidence", "verify"]).unwrap();
    assert_eq!(before.code, Some(7), "{before}");
    insta::assert_snapshot!(before.stdout, @"
    no evidence here: 1 commit on a branch without evidence
      evidence stays in the repository in which a change was landed. Run `agentos evidence publish` there, push its ref, and fetch it here: `git fetch origin 'refs/agentos/*:refs/agentos/*'`; or verify an export
    ");
    hub.fetch(&clone);
    let (output, found) = clone.verify();
    assert!(found.is_empty(), "{output}");
    assert_eq!(
        output.json().unwrap()["tapes"].as_array().unwrap().len(),
        1,
        "{output}"
    );
    // The machine is fine, also where only others recorded runs.
    let report = clone.cli.run(&["doctor", "--json"]).unwrap().json().unwrap();
    let checks = report["checks"].as_array().unwrap();
    let evidence = checks.iter().find(|check| check["name"] == "evidence").unwrap();
    assert_eq!(
        (&evidence["status"], &evidence["code"]),
        (&Value::from("attention"), &Value::from("no-evidence")),
        "{evidence}"
    );
    // Nothing is left of what was unpacked.
    let left: Vec<_> = std::fs::read_dir(clone.dir.join(".git/agentos/scratch"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["0.lock"]);
    // The commit with more in it claims the same run.
    write_file(&clone.dir.join("notes.txt"), "slipped in\n");
    hub.git(&clone, &["add", "--all"]);
    hub.git(&clone, &["commit", "--quiet", "--amend", "--no-edit"]);
    assert_eq!(clone.verify().1, ["commit-rewritten"]);
    // Without the ref there is nothing to compare it with.
    let name = hub.only_ref(&clone);
    hub.git(&clone, &["update-ref", "-d", &name]);
    assert_eq!(clone.verify().1, ["commit-without-record"]);
}

#[test]
fn a_publication_grows_and_says_when_nothing_is_new() {
    let hub = Hub::new();
    hub.machine.land(10);
    let first = hub.machine.publish(&[]);
    let same = hub.machine.publish(&[]);
    assert_eq!(
        (&same["changed"], &same["commit"]),
        (&false.into(), &first["commit"])
    );
    hub.machine.land(20);
    let second = hub.machine.publish(&[]);
    assert_eq!(
        (&second["changed"], &second["refname"]),
        (&true.into(), &first["refname"])
    );
    let name = second["refname"].as_str().unwrap();
    let parent = hub.git(&hub.machine, &["rev-parse", &format!("{name}~1")]);
    assert_eq!(first["commit"], parent.as_str());
    // Nothing of it is on a branch.
    assert_eq!(
        hub.git(&hub.machine, &["branch", "--all", "--contains", &parent]),
        ""
    );
}

/// What a redacted export leaves out stays out, except diffs that the remote has already.
#[test]
fn texts_are_published_only_when_asked_for() {
    let hub = Hub::new();
    hub.machine.land(10);
    let report = hub.machine.publish(&[]);
    let name = report["refname"].as_str().unwrap();
    let out = hub.repo.outside().join("export");
    let args = ["evidence", "export", "--redact", "--out", out.to_str().unwrap()];
    assert_eq!(hub.machine.cli.run(&args).unwrap().code, Some(0));
    let exported = String::from_utf8(read_file(&out.join("tape.jsonl"))).unwrap();
    let published = hub.git(&hub.machine, &["show", &format!("{name}:tape/000001")]);
    assert_eq!(published, exported.trim_end());
    let texts = |name: &str| {
        let content = hub.content(&hub.machine, name);
        [
            "Prose of the answer",
            "10 by a run",
            "a change from standard input",
        ]
        .map(|text| content.contains(text))
    };
    assert_eq!(
        (texts(name), &report["blobs"]),
        ([false, false, false], &0.into())
    );
    // The branch is pushed, so the remote has every line of the diff.
    hub.push(&hub.machine);
    assert_eq!(texts(name), [false, true, false]);
    hub.machine.publish(&["--full"]);
    assert_eq!(texts(name), [true, true, true]);
}

/// A diff of a commit that was never pushed stays out, also after other commits were.
#[test]
fn the_diff_of_a_commit_that_was_taken_back_is_not_published() {
    let hub = Hub::new();
    hub.machine.land(10);
    hub.git(&hub.machine, &["reset", "--quiet", "--hard", "HEAD~1"]);
    hub.machine.land(20);
    hub.push(&hub.machine);
    let content = hub.content(&hub.machine, &hub.only_ref(&hub.machine));
    assert!(content.contains("+20 by a run") && !content.contains("+10 by a run"));
}

#[test]
fn tapes_of_several_machines_lie_next_to_each_other() {
    let hub = Hub::new();
    hub.machine.land(10);
    hub.push(&hub.machine);
    let other = hub.machine("two");
    other.land(20);
    hub.fetch(&other);
    assert_eq!(other.verify().1, [""; 0]);
    hub.push(&other);
    // The first machine has a commit whose evidence is on the other's tape.
    hub.git(&hub.machine, &["pull", "--quiet", "--ff-only"]);
    assert_eq!(hub.machine.verify().1, ["commit-without-record"]);
    hub.fetch(&hub.machine);
    let (output, found) = hub.machine.verify();
    assert!(found.is_empty(), "{output}");
    let clone = hub.machine("clone");
    hub.fetch(&clone);
    let (output, found) = clone.verify();
    assert!(found.is_empty(), "{output}");
    assert_eq!(
        output.json().unwrap()["tapes"].as_array().unwrap().len(),
        2,
        "{output}"
    );
    // Squashed by a forge: one commit with the runs of both, and the trailers of one.
    let message = hub.git(&clone, &["log", "-1", "--format=%B"]);
    hub.git(&clone, &["reset", "--quiet", "--soft", "HEAD~2"]);
    hub.git(&clone, &["commit", "--quiet", "--message", &message]);
    let (output, found) = clone.verify();
    assert!(found.is_empty(), "{output}");
}

/// After a rebase onto changes of the same file a clone has neither the old commit nor its content.
#[test]
fn a_clone_recognises_a_rebased_commit_by_the_published_diff() {
    let hub = Hub::new();
    hub.git(&hub.machine, &["checkout", "--quiet", "-b", "feat"]);
    hub.machine.land(10);
    hub.git(&hub.machine, &["checkout", "--quiet", "main"]);
    let text = String::from_utf8(read_file(&hub.machine.dir.join("f"))).unwrap();
    write_file(&hub.machine.dir.join("f"), text.replace("\n30\n", "\n30\n30.5\n"));
    hub.git(
        &hub.machine,
        &["commit", "--quiet", "--all", "--message", "meanwhile"],
    );
    hub.git(&hub.machine, &["rebase", "--quiet", "main", "feat"]);
    hub.push(&hub.machine);
    let clone = hub.machine("clone");
    hub.git(&clone, &["checkout", "--quiet", "feat"]);
    hub.fetch(&clone);
    let (output, found) = clone.verify();
    assert!(found.is_empty(), "{output}");
    assert_eq!(output.json().unwrap()["moved"][0]["how"], "rebased", "{output}");
}

/// What somebody who can push puts into a ref, by the files that are added to or taken from a genuine publication.
type Hostile = fn(&Ref<'_>);

/// A genuine publication in the index of a clone, to be changed.
struct Ref<'a> {
    hub: &'a Hub,
    clone: &'a Machine,
}

impl Ref<'_> {
    fn git(&self, args: &[&str]) -> String {
        self.hub.git(self.clone, args)
    }

    fn put(&self, mode: &str, name: &str, content: &str) {
        let file = self.hub.repo.outside().join("content");
        write_file(&file, content);
        let oid = self.git(&["hash-object", "-w", "--no-filters", file.to_str().unwrap()]);
        self.git(&[
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("{mode},{oid},{name}"),
        ]);
    }

    fn remove(&self, name: &str) {
        self.git(&["update-index", "--force-remove", name]);
    }

    fn read(&self, name: &str) -> String {
        self.git(&["show", &format!(":{name}")]) + "\n"
    }
}

#[test]
fn a_hostile_ref_is_a_fault_and_writes_nothing_elsewhere() {
    const WRITABLE: &str = "100644";
    let invalid = "publication-invalid";
    let cases: [(&str, Hostile, &[&str]); 16] = [
        ("nothing changed", |_| (), &[]),
        ("another file", |it| it.put(WRITABLE, "extra", "x"), &[invalid]),
        (
            "a name that leads out",
            |it| it.put(WRITABLE, "attestations/..intoto.jsonl", "x"),
            &["export-changed"],
        ),
        (
            "a git folder",
            |it| it.put(WRITABLE, "tape/hooks", "x"),
            &[invalid],
        ),
        ("deeper", |it| it.put(WRITABLE, "blobs/aa/bb", "x"), &[invalid]),
        (
            "a link",
            |it| it.put("120000", "export.json", "/etc/passwd"),
            &[invalid],
        ),
        (
            "a program",
            |it| it.put("100755", "head.json", &it.read("head.json")),
            &[invalid],
        ),
        (
            "a submodule",
            |it| {
                let id = it.git(&["rev-parse", "HEAD"]);
                it.git(&[
                    "update-index",
                    "--add",
                    "--cacheinfo",
                    &format!("160000,{id},attestations"),
                ]);
            },
            &[invalid],
        ),
        (
            "a file in place of a folder",
            |it| it.put(WRITABLE, "attestations", "x"),
            &[invalid],
        ),
        (
            "a long list",
            |it| it.put(WRITABLE, "export.json", &" ".repeat(70_000)),
            &[invalid],
        ),
        (
            "a part is missing",
            |it| {
                it.put(WRITABLE, "tape/000003", "");
            },
            &[invalid],
        ),
        ("no tape", |it| it.remove("tape/000001"), &[invalid]),
        ("no list", |it| it.remove("export.json"), &[]),
        (
            "a changed record",
            |it| {
                let text = it.read("tape/000001");
                it.put(
                    WRITABLE,
                    "tape/000001",
                    &text.replacen("\"kind\":\"receipt\"", "\"kind\":\"refusal\"", 1),
                );
            },
            &["mutated", "export-changed"],
        ),
        (
            "the end cut off",
            |it| {
                let text = it.read("tape/000001");
                let kept: Vec<&str> = text.lines().collect();
                it.put(
                    WRITABLE,
                    "tape/000001",
                    &format!("{}\n", kept[..kept.len() - 1].join("\n")),
                );
            },
            &["cut-off", "export-changed"],
        ),
        (
            "a blob that is another",
            |it| it.put(WRITABLE, &format!("blobs/{}", "0".repeat(64)), "x"),
            &[],
        ),
    ];
    let hub = Hub::new();
    hub.machine.land(10);
    hub.push(&hub.machine);
    for (number, (name, change, expected)) in cases.into_iter().enumerate() {
        let clone = hub.machine(&format!("clone{number}"));
        hub.fetch(&clone);
        let refname = hub.only_ref(&clone);
        hub.git(&clone, &["read-tree", &refname]);
        change(&Ref {
            hub: &hub,
            clone: &clone,
        });
        let tree = hub.git(&clone, &["write-tree"]);
        let commit = hub.git(&clone, &["commit-tree", "-m", "hostile", &tree]);
        hub.git(&clone, &["update-ref", &refname, &commit]);
        hub.git(&clone, &["read-tree", "HEAD"]);
        let (output, mut found) = clone.verify();
        // A commit whose evidence cannot be read is without it.
        found.retain(|kind| kind != "commit-without-record");
        // A tape without its list is redacted and does not say so; the faults of that are tested elsewhere.
        if name == "no list" {
            assert!(!found.is_empty(), "{name}: {output}");
            continue;
        }
        assert_eq!(found, expected, "{name}: {output}");
        let left = std::fs::read_dir(clone.dir.join(".git/agentos/scratch"))
            .unwrap()
            .count();
        assert_eq!(left, 1, "{name}");
        assert!(hub.git(&clone, &["status", "--porcelain"]).is_empty(), "{name}");
    }
}

#[test]
fn a_tape_in_the_ref_of_another_is_a_fault() {
    let hub = Hub::new();
    hub.machine.land(10);
    hub.push(&hub.machine);
    let clone = hub.machine("clone");
    hub.fetch(&clone);
    let refname = hub.only_ref(&clone);
    hub.git(
        &clone,
        &["update-ref", "refs/agentos/evidence/0123456789abcdef", &refname],
    );
    assert_eq!(clone.verify().1, ["publication-invalid"]);
    hub.git(&clone, &["update-ref", "refs/agentos/evidence/blob", "HEAD:f"]);
    assert_eq!(clone.verify().1, ["publication-invalid"; 2]);
}

#[test]
fn signatures_of_a_published_tape_count_with_the_right_keys_only() {
    let hub = Hub::new();
    let signed = signing_machine(&hub);
    signed.land(10);
    hub.push(&signed);
    let clone = hub.machine("clone");
    hub.fetch(&clone);
    let shown = signed
        .cli
        .run(&["evidence", "key", "show", "--json"])
        .unwrap()
        .json()
        .unwrap();
    let keys = hub.repo.outside().join("keys");
    for (key, code) in [
        (shown["key"]["public"].as_str().unwrap().to_owned(), 0),
        (stranger(&hub), 7),
    ] {
        write_file(&keys, format!("someone {key}\n"));
        let keys = keys.to_str().unwrap();
        let output = clone
            .cli
            .run(&["evidence", "verify", "--require", "--keys", keys])
            .unwrap();
        assert_eq!(output.code, Some(code), "{output}");
        if let Some(python) = python("cryptography") {
            let args = ["--repo", clone.dir.to_str().unwrap(), "--keys", keys, "--require"];
            assert_eq!(script(&python, "published.py", &args).0, Some(code), "{output}");
        }
    }
}

fn signing_machine(hub: &Hub) -> Machine {
    let machine = hub.machine("signer");
    let made = machine
        .cli
        .run(&["evidence", "key", "rotate", "--store", "file"])
        .unwrap();
    assert_eq!(made.code, Some(0), "{made}");
    machine
}

fn stranger(hub: &Hub) -> String {
    let cli = signing(&hub.repo);
    let shown = cli
        .run(&["evidence", "key", "show", "--json"])
        .unwrap()
        .json()
        .unwrap();
    shown["key"]["public"].as_str().unwrap().to_owned()
}

/// A repository that has nothing to publish, and one whose tape was changed.
#[test]
fn only_a_whole_tape_is_published() {
    let hub = Hub::new();
    let nothing = hub.machine.cli.run(&["evidence", "publish"]).unwrap();
    assert_eq!(nothing.code, Some(2), "{nothing}");
    hub.machine.land(10);
    let tape: &Path = &hub.machine.dir.join(".git/agentos/tape.jsonl");
    let text = String::from_utf8(read_file(tape)).unwrap();
    write_file(tape, text.replacen("receipt", "refusal", 1));
    let damaged = hub.machine.cli.run(&["evidence", "publish"]).unwrap();
    assert_eq!(damaged.code, Some(7), "{damaged}");
    assert_eq!(hub.only_ref(&hub.machine), "");
}
