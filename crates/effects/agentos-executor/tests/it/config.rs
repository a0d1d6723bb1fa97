//! Git's configuration comes from the files that git itself would read, and so do the names in a commit.

use std::path::PathBuf;

use agentos_executor::{
    CommitSigner, ConfigEnv, ExecError, IdentityEnv, NotSigned, RepoError, Repository, Signed, Signing,
    TargetSpec,
};
use agentos_testkit::repo::{TestRepo, write_file};

use crate::support::{Sink, accept, approved, change, example, open, plan, text};

/// The repository without names of its own, and a file of settings beside it.
fn with_file(name: &str, settings: &str) -> (TestRepo, PathBuf) {
    let repo = example();
    repo.git(&["config", "--unset", "user.name"]);
    repo.git(&["config", "--unset", "user.email"]);
    let file = repo.outside().join(name);
    write_file(&file, settings);
    (repo, file)
}

fn global(file: PathBuf) -> ConfigEnv {
    ConfigEnv {
        global: Some(file),
        ..ConfigEnv::default()
    }
}

fn named(repo: &TestRepo, env: ConfigEnv) -> Result<Repository, RepoError> {
    open(repo).with_config(env)
}

fn author(repository: &Repository) -> Result<String, RepoError> {
    let by = repository.authorship(&IdentityEnv::default())?;
    Ok(format!("{} <{}>", by.author.name, by.author.email))
}

#[test]
fn the_files_that_the_environment_names_are_read_in_gits_order() {
    let (repo, user) = with_file("user", "[user]\n\tname = U\n\temail = u@x\n");
    let machine = repo.outside().join("machine");
    write_file(&machine, "[user]\n\tname = M\n\temail = m@x\n");
    let system = |no_system| ConfigEnv {
        system: Some(machine.clone()),
        no_system,
        global: Some(PathBuf::new()),
        attributes: None,
    };
    assert_eq!(
        author(&named(&repo, global(user.clone())).unwrap()).unwrap(),
        "U <u@x>"
    );
    assert_eq!(author(&named(&repo, system(false)).unwrap()).unwrap(), "M <m@x>");
    assert_eq!(
        author(&named(&repo, system(true)).unwrap()).unwrap_err().code(),
        "no-identity"
    );
    let both = ConfigEnv {
        global: Some(user.clone()),
        ..system(false)
    };
    assert_eq!(author(&named(&repo, both.clone()).unwrap()).unwrap(), "U <u@x>");
    // The repository's own is nearest, and what is included counts.
    repo.git(&["config", "user.email", "own@x"]);
    write_file(&user, "[include]\n\tpath = more\n");
    write_file(&repo.outside().join("more"), "[user]\n\tname = Included\n");
    assert_eq!(author(&named(&repo, both).unwrap()).unwrap(), "Included <own@x>");
}

#[test]
fn no_file_is_no_name_and_a_file_that_is_not_there_is_no_file() {
    let (repo, file) = with_file("user", "");
    for file in [
        PathBuf::new(),
        PathBuf::from("/dev/null"),
        file.with_file_name("nowhere"),
        file,
    ] {
        let repository = named(&repo, global(file.clone())).unwrap();
        assert_eq!(
            author(&repository).unwrap_err().code(),
            "no-identity",
            "{}",
            file.display()
        );
    }
}

#[test]
fn a_condition_that_is_not_decided_here_is_refused() {
    let settings = "[user]\n\tname = U\n\temail = u@x\n[includeIf \"gitdir:~/work/\"]\n\tpath = work\n";
    let (repo, file) = with_file("user", settings);
    let error = named(&repo, global(file)).unwrap_err();
    assert_eq!(error.code(), "bad-setting");
    let said = "the setting `includeif.gitdir:~/work/.path` includes a file on a condition";
    assert_eq!(error.to_string(), said);
    assert!(error.hint().unwrap().contains("GIT_CONFIG_GLOBAL"));
}

#[test]
fn settings_from_a_named_file_hold_in_every_step_of_a_landing() {
    let (repo, file) = with_file("user", "");
    let attributes = repo.outside().join("attributes");
    write_file(&attributes, "*.dat filter=lfs\n");
    let settings = format!(
        "[core]\n\tautocrlf = true\n\tattributesFile = {}\n",
        attributes.display()
    );
    write_file(&file, settings);
    let repository = named(&repo, global(file)).unwrap();
    let target = repository.resolve(&TargetSpec::CurrentBranch).unwrap();
    let land = |path: &str| {
        let change = change(&repository, &target, &[(path, text("x\n"))]);
        repository.land(approved(change, &target), &plan(&target), &mut Sink(accept))
    };
    assert_eq!(land("x.dat").unwrap_err().code(), "filtered-path");
    land("x.txt").unwrap();
    assert_eq!(repo.read("x.txt"), b"x\r\n");
}

#[test]
fn a_wish_for_signatures_in_a_named_file_is_the_users() {
    let (repo, file) = with_file(
        "user",
        "[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = /bin/own\n",
    );
    let asked = named(&repo, global(file)).unwrap().signing().unwrap();
    let expected = Signing::Asked {
        format: Signed::Openpgp,
        program: Some("/bin/own".to_owned()),
        key: None,
    };
    assert_eq!(asked, expected);
}

#[test]
fn the_editor_is_never_the_repositorys_own() {
    let (repo, file) = with_file("user", "");
    repo.git(&["config", "core.editor", "evil"]);
    let editor = || named(&repo, global(file.clone())).unwrap().user_editor();
    assert_eq!(editor(), None);
    write_file(&file, "[core]\n\teditor = code --wait\n");
    assert_eq!(editor().as_deref(), Some("code --wait"));
}

#[test]
fn author_and_committer_are_named_each_by_their_own() {
    let repo = example();
    repo.git(&["config", "author.name", "The Author"]);
    let repository = open(&repo);
    let env = IdentityEnv {
        committer_email: Some("committer@example.com".to_owned()),
        ..IdentityEnv::default()
    };
    let target = repository.resolve(&TargetSpec::CurrentBranch).unwrap();
    let change = change(&repository, &target, &[("a.txt", text("x\n"))]);
    let mut plan = plan(&target);
    plan.authorship = Some(repository.authorship(&env).unwrap());
    repository
        .land(approved(change, &target), &plan, &mut Sink(accept))
        .unwrap();
    assert_eq!(
        repo.git(&["log", "-1", "--format=%an <%ae>, %cn <%ce>"]),
        "The Author <author@example.com>, Test Author <committer@example.com>"
    );
}

struct Impatient;

impl CommitSigner for Impatient {
    fn format(&self) -> Signed {
        Signed::Ssh
    }

    fn sign(&self, _: &str) -> Result<String, NotSigned> {
        Err(NotSigned::Stopped)
    }
}

#[test]
fn a_signature_that_the_user_stops_leaves_nothing_behind() {
    let repo = example();
    let head = repo.git(&["rev-parse", "HEAD"]);
    let repository = open(&repo);
    let target = repository.resolve(&TargetSpec::CurrentBranch).unwrap();
    let change = change(&repository, &target, &[("a.txt", text("x\n"))]);
    let landed = repository.land_signed(
        approved(change, &target),
        &plan(&target),
        &mut Sink(accept),
        Some(&Impatient),
    );
    let error = landed.unwrap_err();
    assert!(matches!(error, ExecError::Interrupted));
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("interrupted", "stopped by the user")
    );
    assert!(!repo.has(".git/index.lock"));
    assert_eq!(
        (repo.status(), repo.git(&["rev-parse", "HEAD"])),
        (String::new(), head)
    );
    crate::support::assert_sound(&repo);
}
