//! Tests of tokens: their life, the repositories that they reach, revoking, and the secrets of earlier versions.

use agentos_testkit::repo::{make_dir, read_file, write_file};

use super::*;
use crate::environment::Environment;

fn host_in(home: &Path) -> Ground {
    let vars = [("HOME".to_owned(), home.display().to_string())];
    Ground::new(Environment::new(vars, home.to_owned()))
}

fn known(id: &str) -> KnownRepository {
    KnownRepository {
        id: id.to_owned(),
        name: "shop".to_owned(),
        ..KnownRepository::default()
    }
}

fn order(name: &str, scope: TokenScope) -> NewToken {
    NewToken {
        name: name.to_owned(),
        scope,
        repositories: vec![known("a")],
        days: 90,
    }
}

#[test]
fn a_token_is_valid_until_it_ends_and_a_warning_comes_seven_days_before() {
    let made = Timestamp::from_unix_seconds(1_000_000);
    let token = make_token("t".to_owned(), &order("t", TokenScope::Agent), &made);
    let table = TokenTable(vec![StoredToken {
        digest: hash_bytes(b"secret"),
        token: token.clone(),
    }]);
    let day = |days: u64| Timestamp::from_unix_seconds(1_000_000 + days * 86_400);
    for (days, life) in [
        (0, TokenLife::Valid),
        (82, TokenLife::Valid),
        (83, TokenLife::EndsSoon),
        (89, TokenLife::EndsSoon),
        (90, TokenLife::Ended),
        (900, TokenLife::Ended),
    ] {
        assert_eq!(token.life(&day(days)), life, "{days}");
        let expected = match life {
            TokenLife::Ended => TokenAnswer::Ended("t".to_owned()),
            _ => TokenAnswer::Valid(Box::new(token.clone())),
        };
        assert_eq!(table.find("secret", &day(days)), expected, "{days}");
    }
    for wrong in ["", "secre", "secret2", &hash_bytes(b"secret")] {
        assert_eq!(table.find(wrong, &day(0)), TokenAnswer::Unknown, "{wrong}");
    }
    assert!(token.reaches("a") && !token.reaches("b") && !token.reaches(""));
}

#[test]
fn a_secret_is_shown_once_and_a_revoked_token_is_unknown() {
    let home = tempfile::tempdir().unwrap();
    let ground = host_in(home.path());
    let made = ground
        .add_service_token(&order("claude", TokenScope::Agent))
        .unwrap();
    let secret = made.secret.expose().to_owned();
    assert!(secret.starts_with("agentos_agent_"), "{secret}");
    let file = ground.service_folder().unwrap().join(FILE);
    let text = String::from_utf8(read_file(&file)).unwrap();
    assert!(!text.contains(&secret) && text.contains("claude"), "{text}");
    let found = |secret: &str| ground.read_token_table().unwrap().find(secret, &clock::now());
    assert_eq!(found(&secret), TokenAnswer::Valid(Box::new(made.token.clone())));
    for (wrong, reason) in [
        (order("claude", TokenScope::Read), "already"),
        (order("", TokenScope::Read), "letters"),
        (order("a b", TokenScope::Read), "letters"),
        (
            NewToken {
                repositories: Vec::new(),
                ..order("x", TokenScope::Read)
            },
            "belongs to a repository",
        ),
        (
            NewToken {
                days: 0,
                ..order("x", TokenScope::Read)
            },
            "days",
        ),
    ] {
        let error = ground.add_service_token(&wrong).unwrap_err();
        assert!(error.message.contains(reason), "{}", error.message);
    }
    assert_eq!(ground.list_service_tokens().unwrap().tokens.len(), 1);
    ground.revoke_service_token("claude").unwrap();
    assert_eq!(found(&secret), TokenAnswer::Unknown);
    assert!(ground.revoke_service_token("claude").is_err());
}

#[test]
fn secrets_of_an_earlier_version_become_tokens_once() {
    let home = tempfile::tempdir().unwrap();
    let ground = host_in(home.path());
    let folder = ground.service_folder().unwrap();
    make_dir(&folder);
    write_file(&folder.join("token"), "old secret\n");
    write_file(&folder.join("agent-token"), "old agent\n");
    let served = known("a");
    let adopted = ground.adopt_old_tokens(Some(&served)).unwrap();
    let scopes: Vec<_> = adopted
        .iter()
        .map(|token| (token.scope, token.reaches("a")))
        .collect();
    assert_eq!(scopes, [(TokenScope::Models, false), (TokenScope::Agent, true)]);
    assert!(!folder.join("token").exists() && !folder.join("agent-token").exists());
    write_file(&folder.join("token"), "another\n");
    assert_eq!(ground.adopt_old_tokens(Some(&served)).unwrap(), []);
    let found = |secret: &str| ground.read_token_table().unwrap().find(secret, &clock::now());
    assert!(matches!(found("old secret"), TokenAnswer::Valid(token) if token.scope == TokenScope::Models));
    assert_eq!(found("another"), TokenAnswer::Unknown);
}
