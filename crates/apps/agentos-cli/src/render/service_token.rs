//! Tokens of the service as text for people.
//!
//! Owns: the table, and the words for what a token reaches. Never: shows a secret.

use agentos_host::{ListedToken, ServiceToken, TokenLife, TokenList, TokenScope};

use super::format_columns;
use crate::escape;

/// Returns a table with a line for each token.
pub fn format_tokens(list: &TokenList) -> String {
    let head = ["TOKEN", "REACHES", "ENDS", "STATE"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(list.tokens.iter().map(list_cells));
    format!("{}\n", format_columns(&rows))
}

/// Returns what a token reaches, as in "`agent` in shop".
pub fn describe_reach(token: &ServiceToken) -> String {
    let what = match token.scope {
        TokenScope::Models => "your models",
        TokenScope::Agent => "the tools of agents",
        TokenScope::Read => "the reports",
    };
    let names: Vec<String> = token
        .repositories
        .iter()
        .map(|known| escape::line(&known.name))
        .collect();
    match names.is_empty() {
        true => what.to_owned(),
        false => format!("{what} in {}", names.join(", ")),
    }
}

fn list_cells(listed: &ListedToken) -> Vec<String> {
    let token = &listed.token;
    vec![
        escape::line(&token.name),
        describe_reach(token),
        token.ends.as_str().get(..10).unwrap_or_default().to_owned(),
        match listed.state {
            TokenLife::Valid => "valid",
            TokenLife::EndsSoon => "ends soon",
            TokenLife::Ended => "ended",
        }
        .to_owned(),
    ]
}
