//! Who is asked, and where the answers are kept.

use agentos_testkit::repo::{TestRepo, write_file};

use super::*;
use crate::Runs;
use agentos_ground::Ground;
use agentos_ground::answer_spec::RelandSpec;
use agentos_ground::environment::Environment;
use agentos_ground::options::{BaseRule, CheckOptions, SessionOptions};
use agentos_ground::task_spec::TaskSpec;

fn host_in(home: &std::path::Path, repo: &TestRepo) -> Ground {
    let vars = [("HOME".to_owned(), home.display().to_string())];
    Ground::new(Environment::new(vars, repo.path().to_owned()))
}

fn task(check: Option<CheckOptions>, dry_run: bool) -> RunSpec {
    let session = SessionOptions {
        dry_run,
        ..SessionOptions::default()
    };
    let task = TaskSpec {
        check,
        ..TaskSpec::default()
    };
    RunSpec::new(session, RunWork::Task(task))
}

#[test]
fn only_a_task_that_lands_unchecked_is_asked_about() {
    let (home, repo) = (tempfile::tempdir().unwrap(), TestRepo::new());
    let ground = host_in(home.path(), &repo);
    assert_eq!(
        Runs::of(&ground).person_mode(&task(None, false)),
        ConsentMode::EveryChange
    );
    assert_eq!(
        Runs::of(&ground).person_mode(&task(None, true)),
        ConsentMode::Person
    );
    let check = CheckOptions {
        command: "true".to_owned(),
        timeout_seconds: 1,
        base: BaseRule::Require,
    };
    let checked = task(Some(check), false);
    assert_eq!(Runs::of(&ground).person_mode(&checked), ConsentMode::Person);
    let undo = RunSpec::new(SessionOptions::default(), RunWork::Undo { run: None });
    assert_eq!(Runs::of(&ground).person_mode(&undo), ConsentMode::Person);
    let again = RelandSpec {
        run: "@".to_owned(),
        again: false,
        message: None,
        partial: false,
        unchecked: false,
    };
    let land = RunSpec::new(SessionOptions::default(), RunWork::Recorded(again));
    assert_eq!(Runs::of(&ground).person_mode(&land), ConsentMode::Person);
}

#[test]
fn a_habit_is_of_one_repository_and_of_the_users_own_file() {
    let home = tempfile::tempdir().unwrap();
    let (one, other) = (TestRepo::new(), TestRepo::new());
    let (ground, elsewhere) = (host_in(home.path(), &one), host_in(home.path(), &other));
    for yeses in 0..3 {
        assert!(!Runs::of(&ground).landing_habit().offers_always(), "{yeses}");
        Runs::of(&ground).note_landing_yes(false);
    }
    assert!(Runs::of(&ground).landing_habit().offers_always());
    Runs::of(&ground).note_landing_yes(true);
    assert_eq!(
        Runs::of(&ground).person_mode(&task(None, false)),
        ConsentMode::Person
    );
    assert_eq!(Runs::of(&elsewhere).landing_habit(), LandingHabit::default());
    assert_eq!(
        Runs::of(&elsewhere).person_mode(&task(None, false)),
        ConsentMode::EveryChange
    );
    // An entry of the folder, from before there were ids, and a copy, which has an id of its own.
    let file = home.path().join(".config/agentos").join(FILE);
    let text = std::fs::read_to_string(&file).unwrap();
    let folder = other.path().canonicalize().unwrap().join(".git");
    let earlier = serde_json::json!({ "version": 1, "repositories": { folder.to_str().unwrap(): { "yeses": 5, "always": true } } });
    write_file(&file, earlier.to_string());
    assert!(Runs::of(&elsewhere).landing_habit().always && !Runs::of(&ground).landing_habit().always);
    Runs::of(&elsewhere).note_landing_yes(false);
    assert_eq!(Runs::of(&elsewhere).landing_habit().yeses, 6);
    assert!(
        !std::fs::read_to_string(&file)
            .unwrap()
            .contains("\"repositories\": {\n    \"/")
    );
    write_file(&file, &text);
    // A file with a mistake, or one that a repository has, switches nothing off.
    let file = home.path().join(".config/agentos").join(FILE);
    let text = std::fs::read_to_string(&file).unwrap();
    write_file(&other.path().join(".agentos").join(FILE), &text);
    write_file(&file, "{");
    assert_eq!(
        Runs::of(&ground).person_mode(&task(None, false)),
        ConsentMode::EveryChange
    );
    assert_eq!(Runs::of(&elsewhere).landing_habit(), LandingHabit::default());
}
