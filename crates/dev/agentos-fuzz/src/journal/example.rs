//! A repository just before a change lands: all objects of the change exist, and nothing else of it.
//!
//! Owns: creating it once, and filling its ids into journals. Never: depends on the clock.

use std::path::Path;

use agentos_executor::{Authorship, Identity, Intent, IntentSink, LandPlan, Repository, Target, TargetSpec};
use agentos_landing::{Change, FileState, RepoPath};
use agentos_policy::{ApprovalHashes, Consent, LandingTarget, PolicySet, ToolFacts, approve};
use agentos_tool::{Enforcement, ExecutionMode, Timestamp};

use super::{replace_all, text_of};
use crate::scratch::{self, FileMap};

const TIME: u64 = 1_795_252_440;
const OLD: &[u8] = b"one\n";
const NEW: &[u8] = b"one\ntwo\n";

/// Work of the user's that is not committed. The link leads out of the work tree.
pub(super) const OWN: [(&str, &[u8]); 3] = [
    ("src/b.rs", b"the user's own work\n"),
    ("notes.txt", b"not tracked\n"),
    ("link", b"-> ../outside"),
];

/// Repository before the change, with the objects of the change.
pub(super) struct JournalExample {
    pub(super) files: FileMap,
    parent: String,
    commit: String,
    old: String,
    new: String,
}

/// Accepts every intent.
struct AcceptingSink;

impl IntentSink for AcceptingSink {
    fn intent(&mut self, _: &Intent) -> Result<String, String> {
        Ok(format!("sha256:{}", "1".repeat(64)))
    }
}

impl JournalExample {
    pub(super) fn make() -> Self {
        let made = make();
        match made {
            Ok(example) => example,
            Err(error) => panic!("no example: {error}"),
        }
    }

    /// Returns the bytes as a journal, with this example's ids and paths.
    pub(super) fn fill(&self, data: &[u8], root: &Path, outside: &Path) -> Vec<u8> {
        let words = [
            ("@ROOT@", &text_of(root)),
            ("@OUT@", &text_of(outside)),
            ("@PARENT@", &self.parent),
            ("@COMMIT@", &self.commit),
            ("@OLD@", &self.old),
            ("@NEW@", &self.new),
        ];
        words
            .iter()
            .fold(data.to_vec(), |data, (word, text)| replace_all(&data, word, text))
    }
}

fn make() -> Result<JournalExample, Box<dyn std::error::Error>> {
    let folder = scratch::make_folder();
    let root = folder.path();
    let lander = Identity {
        name: "Lander".to_owned(),
        email: "lander@example.com".to_owned(),
    };
    let committed: [(&str, &[u8]); 3] = [("README.md", b"hello\n"), ("src/a.rs", OLD), ("src/b.rs", b"b\n")];
    let repository = Repository::create(root, &committed, &lander, "base", TIME.cast_signed())?;
    let before = scratch::read_files(root);
    let target = repository.resolve(&TargetSpec::CurrentBranch)?;
    // The change is landed for real and then undone: only so do its objects have the ids that a real journal names.
    let receipt = land(&repository, &target, lander)?;
    let mut files = before;
    let made = scratch::read_files(root).into_iter();
    files.extend(made.filter(|(name, _)| name.starts_with(".git/objects/")));
    files.extend(OWN.map(|(name, content)| (name.to_owned(), content.to_vec())));
    let file = receipt.files.first().ok_or("no file landed")?;
    let id = |id: &Option<agentos_executor::FileId>| id.as_ref().map(|id| id.oid.clone()).unwrap_or_default();
    Ok(JournalExample {
        files,
        parent: receipt.parent,
        commit: receipt.commit.ok_or("no commit")?,
        old: id(&file.old),
        new: id(&file.new),
    })
}

/// Lands the change, with a consent to exactly that change.
fn land(
    repository: &Repository,
    target: &Target,
    lander: Identity,
) -> Result<agentos_executor::Receipt, Box<dyn std::error::Error>> {
    let path = RepoPath::new("src/a.rs").map_err(|refusal| refusal.message)?;
    let states = vec![(path, Some(FileState::regular(OLD)), Some(FileState::regular(NEW)))];
    let change = Change::new(states).map_err(|refusal| format!("{refusal:?}"))?;
    let policy = PolicySet::builtin()?;
    let tool = ToolFacts {
        provider: "patch".to_owned(),
        model: None,
        execution_mode: ExecutionMode::Local,
        enforcement: Enforcement::Kernel,
        attempt: 1,
        at: Timestamp::from_unix_seconds(TIME),
        context_bytes: 0,
        target_ref: Some(target.refname.clone()),
        checked: false,
    };
    let decision = policy.decide(&change, &agentos_landing::ResultFacts::default(), &tool);
    let place = LandingTarget {
        base_commit: &target.base_commit,
        target_ref: &target.refname,
        writes: target.writes.as_str(),
    };
    // The built-in policy may ask about the change; with a consent it can land in both cases.
    let consent = Consent {
        who: "Lander".to_owned(),
        when: Timestamp::from_unix_seconds(TIME),
        how: "--yes".to_owned(),
        hashes: ApprovalHashes::of(&change, &decision, &place),
        proof: None,
        releases_withheld: false,
    };
    let approved = approve(change, &decision, &place, Some(&consent)).map_err(|why| format!("{why:?}"))?;
    let plan = LandPlan {
        target: target.clone(),
        policy_sha256: policy.sha256().to_owned(),
        message: "Say it better\n".to_owned(),
        trailers: Vec::new(),
        authorship: Some(Authorship {
            author: lander.clone(),
            committer: lander,
            written: None,
        }),
        time_unix: TIME.cast_signed(),
        utc_offset_minutes: 0,
        run: "run-1".to_owned(),
    };
    Ok(repository.land(approved, &plan, &mut AcceptingSink)?)
}
