//! The page that lists all repositories of the service, under a random name that belongs to no repository.
//!
//! Owns: the list, and the way from it to the page of a repository. Never: shows anything of a repository but its name, folder, branch and the
//! number of its open requests, or gives the cookie of this page a meaning at another one.
//!
//! | step | secret |
//! |---|---|
//! | `agentos open --all` gets a link to this page over the Unix socket | a code that counts once, here |
//! | a person presses the button of a repository | the cookie of this page, and the secret of its forms |
//! | the answer has a link to the page of the repository | a code that counts once, there |

use askama::Template;
use axum::extract::{Extension, State};
use axum::http::StatusCode;

use super::forms::SentForm;
use super::views::render;
use super::{PageAnswer, Person};
use crate::access::SessionKind;
use crate::desk::SharedDesk;
use crate::fault::RequestFault;
use crate::marked_text::mark;
use crate::served::ReachedRepositories;

#[derive(Template)]
#[template(path = "repositories.html")]
struct RepositoriesPage {
    form: String,
    rows: Vec<RepositoryLine>,
    /// Name of a repository, and the link that signs this browser in at its page. Empty if no button was pressed.
    opened: Option<(String, String)>,
}

/// Row of the list.
struct RepositoryLine {
    name: String,
    path: String,
    /// Folder as the form sends it.
    folder: String,
    branch: String,
    waiting: String,
}

/// `GET /` of the list
pub async fn show_repositories(State(desk): State<SharedDesk>, Extension(person): Person) -> PageAnswer {
    answer(&desk, person.form, None).await
}

/// `POST /open`
pub async fn open_repository(
    State(desk): State<SharedDesk>,
    Extension(person): Person,
    form: SentForm,
) -> PageAnswer {
    form.require_secret(&person.form)?;
    let found = desk.served.find(form.text("folder")).ok_or_else(|| {
        let what = "this repository is not served any more; load the list again";
        RequestFault::new(StatusCode::NOT_FOUND, "not-served", what)
    })?;
    let code = found.access.make_code(SessionKind::Usual)?;
    let link = format!("{}{}", found.sign_in_link, code.expose());
    answer(&desk, person.form, Some((mark(&found.known.name), link))).await
}

async fn answer(desk: &SharedDesk, form: String, opened: Option<(String, String)>) -> PageAnswer {
    let rows = desk.served.list_rows(&ReachedRepositories::All).await;
    let rows = rows.into_iter().map(|row| RepositoryLine {
        name: mark(&row.name),
        path: mark(&row.path.to_string_lossy()),
        folder: row.path.to_string_lossy().into_owned(),
        branch: row.branch.as_deref().map(mark).unwrap_or_default(),
        waiting: match row.waiting {
            Some(1) => "1 open request".to_owned(),
            Some(count) => format!("{count} open requests"),
            None => "its state could not be read in time".to_owned(),
        },
    });
    Ok(render(&RepositoriesPage {
        form,
        rows: rows.collect(),
        opened,
    }))
}
