//! Tests of the judge over real repositories.

mod measure;

use agentos_testkit::repo::{TestRepo, move_path, remove_file, write_file};
use agentos_tool::ExecutionMode;

use super::*;
use agentos_ground::environment::Environment;
use agentos_ground::repository;
use agentos_ground::repository_id::identify;

/// A policy that withholds `private/` from models of a cloud.
const POLICY: &str = "version = 1\n[[rule]]\nid = \"ours.private\"\neffect = \"deny\"\nwhy = \"stays here\"\naction = [\"read\"]\n\
                      paths = [\"private/**\"]\nexecution_mode = \"cloud\"\n[rule.examples]\nmatch = [{ path = \"private/a\", \
                      execution_mode = \"cloud\" }]\nno_match = [{ path = \"private/a\" }]\n";

/// A repository in which a local model has read files.
struct ReadFixture {
    repo: TestRepo,
    ground: Ground,
    reads: RepositoryReads,
}

fn near() -> ModelFacts {
    ModelFacts {
        provider: "near".to_owned(),
        model: None,
        execution_mode: ExecutionMode::Local,
        adapter: "openai".to_owned(),
        address: Some("http://127.0.0.1:8080/".to_owned()),
    }
}

fn far() -> ModelFacts {
    ModelFacts {
        provider: "far".to_owned(),
        execution_mode: ExecutionMode::Cloud,
        address: Some("https://api.example.com/".to_owned()),
        ..near()
    }
}

impl ReadFixture {
    /// Makes a repository, and the record of a turn that read these files of its base.
    fn new(paths: &[&str]) -> Self {
        let repo = TestRepo::new();
        repo.write("private/plan.txt", "the secret plan\n");
        repo.write("open.txt", "open\n");
        repo.write(".agentos/policy/ours.toml", POLICY);
        repo.commit_all("Begin");
        let home = ("HOME".to_owned(), repo.outside().to_str().unwrap().to_owned());
        let ground = Ground::new(Environment::new([home], repo.path().to_owned()));
        let port = open_port(&ground, &SessionOptions::default()).unwrap();
        let target = port.target().unwrap();
        let known = identify(&ground, &repository::open(&ground).unwrap());
        let file = |path: &&str| FileRead {
            by: "read_file".to_owned(),
            path: (*path).to_owned(),
            lines: Vec::new(),
            commit: None,
            blobs: vec![
                repo.git(&["rev-parse", &format!("HEAD:{path}")])
                    .trim()
                    .to_owned(),
            ],
            text_hash: String::new(),
            bytes: 10,
        };
        let reads = RepositoryReads {
            repository: known.id,
            folder: known.folder.display().to_string(),
            commit: target.base_commit.clone(),
            policy: port.policy(&target).unwrap().set.sha256().to_owned(),
            readers: vec![near().to_reader()],
            files: paths.iter().map(file).collect(),
        };
        Self { repo, ground, reads }
    }

    /// Lists the paths that the model, or a receiver behind it, may not have.
    fn withheld_from(&self, models: &[ModelFacts], leaves: &[ReadLeave]) -> Vec<String> {
        let judge = ReadJudge::new(&self.ground, models, leaves);
        let found = judge.list_withheld(&[&self.reads]).unwrap();
        found.into_iter().map(|withheld| withheld.text.path).collect()
    }
}

#[test]
fn a_read_is_decided_by_its_own_path_whatever_becomes_of_the_file() {
    type Step = fn(&TestRepo);
    let steps: [(&str, Step); 6] = [
        ("nothing", |_| ()),
        ("renamed", |repo| {
            repo.git(&["mv", "private/plan.txt", "private/other.txt"]);
            repo.commit_all("Rename");
        }),
        ("moved out", |repo| {
            repo.git(&["mv", "private/plan.txt", "plan.txt"]);
            repo.commit_all("Move");
        }),
        ("deleted", |repo| {
            repo.git(&["rm", "-q", "private/plan.txt"]);
            repo.commit_all("Delete");
        }),
        ("another branch", |repo| {
            repo.git(&["checkout", "-q", "--orphan", "side"]);
            repo.git(&["rm", "-q", "-rf", "private"]);
            repo.commit_all("Side");
        }),
        ("the rule is gone", |repo| {
            remove_file(&repo.path().join(".agentos/policy/ours.toml"));
            repo.commit_all("Trust everybody");
        }),
    ];
    for (name, step) in steps {
        let fixture = ReadFixture::new(&["private/plan.txt", "open.txt"]);
        step(&fixture.repo);
        assert_eq!(
            fixture.withheld_from(&[far()], &[]),
            ["private/plan.txt"],
            "{name}"
        );
        assert!(fixture.withheld_from(&[near()], &[]).is_empty(), "{name}");
        // A program with a network is a reader like a model.
        assert_eq!(
            fixture.withheld_from(&[near(), far()], &[]),
            ["private/plan.txt"],
            "{name}"
        );
    }
}

#[test]
fn a_text_that_became_a_withheld_file_is_withheld() {
    let fixture = ReadFixture::new(&["open.txt"]);
    assert!(fixture.withheld_from(&[far()], &[]).is_empty());
    fixture.repo.git(&["mv", "open.txt", "private/open.txt"]);
    fixture.repo.commit_all("Keep it private");
    assert_eq!(fixture.withheld_from(&[far()], &[]), ["open.txt"]);
}

#[test]
fn a_reader_of_the_same_name_is_judged_as_it_is_now() {
    let fixture = ReadFixture::new(&["private/plan.txt"]);
    let redirected = ModelFacts {
        provider: "near".to_owned(),
        ..far()
    };
    assert_eq!(fixture.withheld_from(&[redirected], &[]), ["private/plan.txt"]);
}

#[test]
fn an_answer_of_an_earlier_turn_ends_with_what_it_depended_on() {
    let fixture = ReadFixture::new(&["open.txt"]);
    let withheld = |model: &ModelFacts| fixture.withheld_from(std::slice::from_ref(model), &[]);
    let other = ModelFacts {
        provider: "other".to_owned(),
        ..near()
    };
    // Decided and kept for each reader, twice.
    for model in [far(), other.clone(), far(), other.clone()] {
        assert_eq!(withheld(&model), [""; 0]);
    }
    let own = "ours.toml";
    let rules = fixture.repo.path().join(".agentos/policy").join(own);
    let stricter = POLICY
        .replace("private/**", "open.txt")
        .replace("private/a", "open.txt");
    write_file(&rules, &stricter);
    fixture.repo.commit_all("Withhold it");
    assert_eq!(withheld(&far()), ["open.txt"]);
    assert_eq!(withheld(&other), [""; 0]);
    write_file(&rules, POLICY);
    fixture.repo.commit_all("As before");
    assert_eq!(withheld(&far()), [""; 0]);
    // The text has another path in today's base.
    fixture.repo.git(&["mv", "open.txt", "private/open.txt"]);
    fixture.repo.commit_all("Move");
    assert_eq!(withheld(&far()), ["open.txt"]);
    assert_eq!(withheld(&other), [""; 0]);
}

#[test]
fn what_a_gone_repository_showed_stays_with_the_same_reader() {
    let fixture = ReadFixture::new(&["open.txt"]);
    let elsewhere = fixture.repo.outside().join("gone");
    move_path(&fixture.repo.path().join(".git"), &elsewhere);
    assert!(fixture.withheld_from(&[near()], &[]).is_empty());
    let other_port = ModelFacts {
        address: Some("http://127.0.0.1:9090/".to_owned()),
        ..near()
    };
    for reader in [far(), other_port] {
        assert_eq!(fixture.withheld_from(&[reader], &[]), ["open.txt"]);
    }
    // Another repository in its folder says nothing about it either.
    fixture.repo.git(&["init", "-q"]);
    fixture.repo.git(&["config", "user.name", "Dana"]);
    fixture.repo.git(&["config", "user.email", "dana@example.com"]);
    fixture.repo.commit_all("Another one");
    assert_eq!(fixture.withheld_from(&[far()], &[]), ["open.txt"]);
}

#[test]
fn a_leave_is_for_one_reader_and_one_text() {
    let fixture = ReadFixture::new(&["private/plan.txt"]);
    let text = |file: &FileRead| fixture.reads.name_text(file);
    let texts: Vec<ReadText> = fixture.reads.files.iter().map(text).collect();
    let leave = |reader: ModelFacts, texts: Vec<ReadText>| ReadLeave {
        reader: reader.to_reader(),
        texts,
    };
    let other_text = ReadText {
        path: "private/else.txt".to_owned(),
        ..texts[0].clone()
    };
    assert!(
        fixture
            .withheld_from(&[far()], &[leave(far(), texts.clone())])
            .is_empty()
    );
    for leave in [leave(near(), texts), leave(far(), vec![other_text])] {
        assert_eq!(fixture.withheld_from(&[far()], &[leave]), ["private/plan.txt"]);
    }
}
