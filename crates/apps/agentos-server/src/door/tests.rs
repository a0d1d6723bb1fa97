//! Tests of the repositories that a service serves.

use agentos_host::Environment;
use agentos_testkit::repo::TestRepo;

use super::*;

#[tokio::test]
async fn the_policies_of_the_service_restrict_every_repository() {
    let home = TestRepo::new();
    let vars = [("HOME".to_owned(), home.path().display().to_string())];
    let host = Host::new(Environment::new(vars, home.path().to_owned()));
    let [strict, more] = ["/policies/strict.toml", "/policies/more.toml"].map(PathBuf::from);
    let own = [strict.clone()];
    let door = ServiceDoor::new(&host, (1, Vec::new()), &own, &Handle::current()).unwrap();
    let (one, other) = (TestRepo::new(), TestRepo::new());
    let join = |repo: &TestRepo, policies: &[&PathBuf]| {
        let joined = door.join(&JoinOrder {
            folder: Some(repo.path().to_owned()),
            policies: policies.iter().map(|policy| (*policy).clone()).collect(),
            all: false,
        });
        joined
            .map(|open| open.desk.policies.clone())
            .map_err(|error| error.code)
    };
    assert_eq!(join(&one, &[]), Ok(vec![strict.clone()]));
    assert_eq!(
        join(&other, &[&strict, &more]),
        Ok(vec![strict.clone(), more.clone()])
    );
    // The same policies again, or nothing, is no change; others are.
    assert_eq!(join(&one, &[&strict]), Ok(vec![strict.clone()]));
    assert_eq!(join(&other, &[]), Ok(vec![strict, more.clone()]));
    assert_eq!(join(&one, &[&more]), Err("usage".to_owned()));
}
