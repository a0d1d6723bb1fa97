//! A closed world: one repository, one home folder, and one host on them.
//!
//! Owns: what the tests share. Never: looks at the variables or the home folder of the process.

use agentos_host::{
    CheckStatus, Environment, Host, Outcome, ProviderChoice, ProviderOverrides, RecordKind, Recording,
    RunEvent, RunHandle, RunSpec, RunWork, SessionOptions, TaskSpec, VerifySpec,
};
use agentos_testkit::repo::{TestRepo, make_dir};

/// A product with one user: a repository, and a host on it.
pub struct World {
    pub repo: TestRepo,
    pub host: Host,
}

impl World {
    /// Makes a repository with one commit of these files, and a host on it.
    pub fn new(files: &[(&str, &str)]) -> Self {
        let repo = TestRepo::new();
        files.iter().for_each(|(path, text)| repo.write(path, text));
        repo.commit_all("begin");
        let home = repo.outside().join("home");
        make_dir(&home);
        let home = home.display();
        let vars = [
            ("HOME", home.to_string()),
            ("XDG_RUNTIME_DIR", format!("{home}/.run")),
            ("GIT_CONFIG_GLOBAL", format!("{home}/.gitconfig")),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
            ("AGENTOS_TEST_MACHINE_POLICY", format!("{home}/no-machine-policy")),
            ("USER", "customer".to_owned()),
        ];
        let vars = vars.map(|(name, value)| (name.to_owned(), value));
        let environment = Environment::new(vars, repo.outside().to_owned());
        let host = Host::new(environment).with_repository(Some(repo.path().to_owned()));
        Self { repo, host }
    }

    /// Returns the reason why the kernel cannot confine a tool here. `None` if it can.
    pub fn lacks_sandbox(&self) -> Option<String> {
        let report = self.host.stories().check_setup(true).expect("the machine can be examined");
        let check = report.checks.into_iter().find(|check| check.name == "sandbox");
        let check = check.expect("the sandbox is examined");
        (check.status != CheckStatus::Ok).then_some(check.details)
    }

    /// Starts a run.
    pub fn start(&self, spec: RunSpec) -> RunHandle {
        self.host.runs().start_run(spec).expect("the run starts")
    }

    /// Lists the subjects of all commits, the newest first.
    pub fn subjects(&self) -> Vec<String> {
        let log = self.repo.git(&["log", "--format=%s"]);
        log.lines().map(str::to_owned).collect()
    }

    /// Asserts that git finds nothing wrong, that nothing is uncommitted, that no lock is left, and that the evidence verifies
    /// with this number of commits.
    pub fn assert_whole(&self, commits: u64) {
        assert_eq!(self.repo.git(&["fsck", "--strict", "--no-dangling"]), "");
        assert_eq!(self.repo.status(), "");
        for lock in ["index.lock", "HEAD.lock", "refs/heads/main.lock"] {
            assert!(!self.repo.has(&format!(".git/{lock}")), "{lock}");
        }
        let report = self
            .host
            .stories().verify_evidence(&VerifySpec::default())
            .expect("the evidence can be read");
        assert!(report.ok, "{report:?}");
        assert_eq!(report.commits, Some(commits));
    }
}

/// Makes a run that also sends its records as events.
pub fn task(provider: ProviderChoice, words: &str, file: &str) -> RunSpec {
    let task = TaskSpec {
        task: Some(words.to_owned()),
        provider,
        files: vec![file.to_owned()],
        ..TaskSpec::default()
    };
    RunSpec {
        sends_records: true,
        ..RunSpec::new(SessionOptions::default(), RunWork::Task(task))
    }
}

/// Chooses a provider at another address.
pub fn at(provider: &str, url: String) -> ProviderChoice {
    ProviderChoice {
        overrides: ProviderOverrides {
            base_url: Some(url),
            model: Some("tiny-coder".to_owned()),
            ..ProviderOverrides::default()
        },
        ..ProviderChoice::named(provider)
    }
}

/// Makes a run that answers with a recording.
pub fn replay(diff: &str, words: &str) -> RunSpec {
    let provider = ProviderChoice {
        replay: Some(Recording::Text(diff.to_owned())),
        ..ProviderChoice::named("replay")
    };
    let task = TaskSpec {
        task: Some(words.to_owned()),
        provider,
        ..TaskSpec::default()
    };
    RunSpec {
        sends_records: true,
        ..RunSpec::new(SessionOptions::default(), RunWork::Task(task))
    }
}

/// Makes the diff that creates a file of one line.
pub fn new_file(path: &str, line: &str) -> String {
    format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}\n")
}

/// Reads every event of a run, and waits for its outcome.
pub async fn follow(mut run: RunHandle) -> (Vec<RunEvent>, Outcome) {
    let mut events = Vec::new();
    while let Some(event) = run.events().next().await {
        events.push(event);
    }
    (events, outcome(run).await)
}

/// Waits for the outcome of a run.
pub async fn outcome(run: RunHandle) -> Outcome {
    let end = run.outcome().await.expect("the run begins");
    end.into_outcome().expect("a change has an outcome")
}

/// Lists the kinds of the records among events.
pub fn record_kinds(events: &[RunEvent]) -> Vec<RecordKind> {
    let kinds = events.iter().filter_map(|event| match event {
        RunEvent::Record(record) => Some(record.kind),
        RunEvent::Began(_)
        | RunEvent::Notice(_)
        | RunEvent::ContextFound(_)
        | RunEvent::Progress(_)
        | RunEvent::ConsentRequested(_) => None,
    });
    kinds.collect()
}
