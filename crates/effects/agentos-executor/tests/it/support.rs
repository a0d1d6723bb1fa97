//! Makes a change against a target's base, has it approved, and lands it.

use agentos_executor::{
    Authorship, ConfigEnv, ExecError, Identity, Intent, IntentSink, LandPlan, Receipt, Repository, Target,
    TargetSpec,
};
use agentos_landing::{Base, Change, EntryKind, FileMode, FileState, RepoPath, ResultFacts};
use agentos_policy::{ApprovalHashes, Approved, Consent, LandingTarget, PolicySet, ToolFacts, approve};
use agentos_testkit::repo::TestRepo;
use agentos_tool::{Enforcement, ExecutionMode, Timestamp};

pub const PIN: &str = "sha256:1111111111111111111111111111111111111111111111111111111111111111";

/// A path and what it shall hold.
pub type Edit<'a> = (&'a str, Option<FileState>);

pub fn text(content: &str) -> Option<FileState> {
    Some(FileState::regular(content.as_bytes()))
}

pub fn program(content: &str) -> Option<FileState> {
    Some(FileState {
        mode: FileMode::Executable,
        content: content.as_bytes().into(),
    })
}

/// A repository with two committed files on `main`.
pub fn example() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("a.txt", "one\ntwo\nthree\n");
    repo.write("dir/b.txt", "b\n");
    repo.commit_all("first");
    repo
}

/// As a user opens it who has no attributes of their own.
pub fn open(repo: &TestRepo) -> Repository {
    let env = ConfigEnv {
        attributes: Some(repo.outside().join("no-attributes")),
        ..ConfigEnv::default()
    };
    Repository::discover(repo.path())
        .and_then(|repository| repository.with_config(env))
        .unwrap()
}

/// Takes intents and lets a test do something at that moment.
pub struct Sink<F>(pub F);

impl<F: FnMut(&Intent) -> Result<String, String>> IntentSink for Sink<F> {
    fn intent(&mut self, intent: &Intent) -> Result<String, String> {
        (self.0)(intent)
    }
}

pub fn accept(_: &Intent) -> Result<String, String> {
    Ok(PIN.to_owned())
}

/// The change that makes these edits on a target's base.
pub fn change(repository: &Repository, target: &Target, edits: &[Edit<'_>]) -> Change {
    let base = repository.base(target).unwrap();
    let states = edits.iter().map(|(path, new)| {
        let old = base.entry(path).unwrap().and_then(|entry| match entry.kind {
            EntryKind::File(mode) => Some(FileState {
                mode,
                content: base.read(&entry.id).unwrap(),
            }),
            EntryKind::Directory | EntryKind::Symlink | EntryKind::Gitlink => None,
        });
        (RepoPath::new(path).unwrap(), old, new.clone())
    });
    Change::new(states.collect()).unwrap()
}

/// An approval of the change, with a person's consent to exactly it.
pub fn approved(change: Change, target: &Target) -> Approved<Change> {
    let policy = PolicySet::builtin().unwrap();
    let tool = ToolFacts {
        provider: "patch".to_owned(),
        model: None,
        execution_mode: ExecutionMode::Local,
        enforcement: Enforcement::Kernel,
        attempt: 1,
        at: Timestamp::from_unix_seconds(0),
        context_bytes: 0,
        target_ref: Some(target.refname.clone()),
        checked: false,
    };
    let decision = policy.decide(&change, &ResultFacts::default(), &tool);
    let place = LandingTarget {
        base_commit: &target.base_commit,
        target_ref: &target.refname,
        writes: target.writes.as_str(),
    };
    let consent = Consent {
        who: "Test Author".to_owned(),
        when: Timestamp::from_unix_seconds(0),
        how: "--yes".to_owned(),
        hashes: ApprovalHashes::of(&change, &decision, &place),
        proof: None,
        releases_withheld: false,
    };
    approve(change, &decision, &place, Some(&consent)).unwrap()
}

pub fn plan(target: &Target) -> LandPlan {
    let lander = Identity {
        name: "Lander".to_owned(),
        email: "lander@example.com".to_owned(),
    };
    LandPlan {
        target: target.clone(),
        policy_sha256: PolicySet::builtin().unwrap().sha256().to_owned(),
        message: "Say it better\n\nBecause it was not good.\n".to_owned(),
        trailers: vec![("Assisted-by".to_owned(), "test:model".to_owned())],
        authorship: Some(Authorship {
            author: lander.clone(),
            committer: lander,
            written: None,
        }),
        time_unix: 1_795_252_440,
        utc_offset_minutes: 60,
        run: "run-1".to_owned(),
    }
}

pub fn land_in(
    repository: &Repository,
    spec: &TargetSpec,
    edits: &[Edit<'_>],
    sink: &mut dyn IntentSink,
) -> Result<Receipt, ExecError> {
    let target = repository.resolve(spec)?;
    let change = change(repository, &target, edits);
    repository.land(approved(change, &target), &plan(&target), sink)
}

pub fn land(repo: &TestRepo, spec: &TargetSpec, edits: &[Edit<'_>]) -> Result<Receipt, ExecError> {
    land_in(&open(repo), spec, edits, &mut Sink(accept))
}

/// Lands on the checked-out branch and lets git judge the result.
pub fn land_clean(repo: &TestRepo, edits: &[Edit<'_>]) -> Receipt {
    let receipt = land(repo, &TargetSpec::CurrentBranch, edits).unwrap();
    assert_sound(repo);
    assert_eq!(repo.status(), "");
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), receipt.commit.clone().unwrap());
    assert_eq!(repo.git(&["rev-parse", "HEAD^{tree}"]), receipt.tree);
    receipt
}

pub fn assert_sound(repo: &TestRepo) {
    repo.git(&["fsck", "--strict", "--full", "--no-dangling"]);
    let left = repo.git(&["ls-files", "--others"]);
    let is_ours = |path: &str| {
        path.rsplit('/')
            .next()
            .is_some_and(|name| name.starts_with(".agentos-"))
    };
    assert!(!left.lines().any(is_ours), "left behind: {left}");
    let journal = open(repo).state_dir().join("journal.json");
    assert!(!journal.exists());
}
