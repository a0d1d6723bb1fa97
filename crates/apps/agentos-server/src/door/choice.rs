//! The repository of a program's request.
//!
//! Owns: the choice, from the token and the path. Never: opens a repository.

use agentos_host::{KnownRepository, ServiceToken};
use axum::http::{StatusCode, Uri};

use crate::fault::RequestFault;
use crate::judge::RequestKind;
use crate::served::ReachedRepositories;

/// Prefix of a path that names a repository.
const PREFIX: &str = "/repositories/";

/// Chooses the repository of a program's request, as its place in the list of those that are served. `None` for the models of the user
/// alone.
pub(super) fn choose_repository(
    served: &[&KnownRepository],
    kind: RequestKind,
    token: Option<&ServiceToken>,
    named: Option<&str>,
) -> Result<Option<usize>, RequestFault> {
    let reached = |known: &KnownRepository| token.is_none_or(|token| token.reaches(&known.id));
    let mut fitting = (0..).zip(served).filter(|(_, known)| {
        reached(known) && named.is_none_or(|named| known.id == named || known.name == named)
    });
    let (first, second) = (fitting.next(), fitting.next());
    let is_free = match token {
        // Without a name, a program of the user means the user's own models.
        None => named.is_none() && kind == RequestKind::Models,
        Some(token) => named.is_none() && token.repositories.is_empty(),
    };
    match (first, second) {
        _ if is_free => Ok(None),
        (Some((at, _)), None) => Ok(Some(at)),
        // Worktrees share an id, and one id means the repository that is served longest.
        (Some((at, one)), Some((_, other))) if one.id == other.id || named == Some(one.id.as_str()) => {
            Ok(Some(at))
        }
        (Some(_), Some(_)) => {
            let what = "several repositories are meant: put `/repositories/NAME` before the path";
            Err(RequestFault::new(StatusCode::BAD_REQUEST, "usage", what))
        }
        // The same words whether another repository has this name or not.
        (None, _) => {
            let what = "no repository that you reach is served under this name";
            Err(RequestFault::new(StatusCode::NOT_FOUND, "not-served", what))
        }
    }
}

/// Takes the repository out of a path such as `/repositories/shop/mcp`. `None` if the path names no repository.
pub(super) fn take_repository(uri: &mut Uri) -> Option<String> {
    let rest = uri.path().strip_prefix(PREFIX)?;
    let (name, path) = rest.split_once('/')?;
    let name = name.to_owned();
    let target = match uri.query() {
        Some(query) => format!("/{path}?{query}"),
        None => format!("/{path}"),
    };
    *uri = target.parse().ok()?;
    Some(name)
}

/// Returns the repositories that a token reaches, or all of them over the Unix socket, where none is sent.
pub(super) fn reach_of(token: Option<&ServiceToken>) -> ReachedRepositories {
    match token {
        None => ReachedRepositories::All,
        Some(token) => {
            ReachedRepositories::Ids(token.repositories.iter().map(|known| known.id.clone()).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use agentos_host::{TokenRepository, TokenScope};
    use agentos_tool::Timestamp;

    use super::*;

    fn known(id: &str, name: &str) -> KnownRepository {
        KnownRepository {
            id: id.to_owned(),
            name: name.to_owned(),
            ..KnownRepository::default()
        }
    }

    fn token(scope: TokenScope, ids: &[&str]) -> ServiceToken {
        let repositories = ids.iter().map(|id| TokenRepository {
            id: (*id).to_owned(),
            name: String::new(),
        });
        ServiceToken {
            name: "t".to_owned(),
            scope,
            repositories: repositories.collect(),
            made: Timestamp::from_unix_seconds(0),
            ends: Timestamp::from_unix_seconds(1),
        }
    }

    #[test]
    fn a_request_reaches_the_repositories_of_its_token_alone() {
        use RequestKind::{Agent, Data, Models};
        let served = [
            known("a", "shop"),
            known("b", "blog"),
            known("c", "blog"),
            known("a", "shop"),
        ];
        let served: Vec<&KnownRepository> = served.iter().collect();
        let own = |ids: &[&str]| Some(token(TokenScope::Agent, ids));
        for (kind, token, named, expected) in [
            (Agent, own(&["a"]), None, Ok(Some(0))),
            (Agent, own(&["a"]), Some("shop"), Ok(Some(0))),
            (Agent, own(&["a"]), Some("a"), Ok(Some(0))),
            (Agent, own(&["a"]), Some("blog"), Err("not-served")),
            (Agent, own(&["a"]), Some("b"), Err("not-served")),
            (Agent, own(&["a", "b"]), None, Err("usage")),
            (Agent, own(&["a", "b"]), Some("blog"), Ok(Some(1))),
            (Agent, own(&["b", "c"]), Some("blog"), Err("usage")),
            (Agent, own(&["b", "c"]), Some("c"), Ok(Some(2))),
            (Agent, own(&["z"]), None, Err("not-served")),
            (Models, own(&[]), None, Ok(None)),
            (Models, own(&[]), Some("shop"), Err("not-served")),
            (Models, own(&["b"]), None, Ok(Some(1))),
            (Models, None, None, Ok(None)),
            (Models, None, Some("shop"), Ok(Some(0))),
            (Data, None, None, Err("usage")),
            (Data, None, Some("c"), Ok(Some(2))),
            (Data, None, Some("nothing"), Err("not-served")),
        ] {
            let found = choose_repository(&served, kind, token.as_ref(), named);
            let found = found.map_err(|fault| fault.error.code);
            assert_eq!(
                found,
                expected.map_err(str::to_owned),
                "{kind:?} {named:?} {token:?}"
            );
        }
    }

    #[test]
    fn a_path_may_name_a_repository() {
        for (path, rest, name) in [
            ("/repositories/shop/mcp", "/mcp", Some("shop")),
            ("/repositories/a/api/runs?x=1", "/api/runs?x=1", Some("a")),
            ("/repositories/a", "/repositories/a", None),
            ("/repositories/a//evil.example/x", "//evil.example/x", Some("a")),
            ("/mcp", "/mcp", None),
        ] {
            let mut uri: Uri = path.parse().unwrap();
            assert_eq!(take_repository(&mut uri).as_deref(), name, "{path}");
            assert_eq!(uri.to_string(), rest, "{path}");
        }
    }
}
