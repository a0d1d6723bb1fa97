//! `agentos serve token`: the tokens with which programs reach the service.
//!
//! Owns: the meaning of the flags. Never: writes a secret anywhere but to standard output.

use agentos_host::{EffectError, KnownRepository, NewToken, TokenLife, TokenList, TokenScope};

use crate::app::{App, Done, output_failed, usage_error};
use crate::args::service_token::{TokenAddArgs, TokenVerb};
use crate::exit::Exit;
use crate::render;

/// Does what a verb of `serve token` says.
pub fn run_token_verb(app: &App, verb: &TokenVerb) -> Done {
    match verb {
        TokenVerb::Add(args) => add_token(app, args),
        TokenVerb::List => {
            let list = app.host.list_service_tokens()?;
            show_list(app, &list)
        }
        TokenVerb::Revoke(args) => {
            let token = app.host.revoke_service_token(&args.name)?;
            if app.printer.json {
                return show_list(app, &app.host.list_service_tokens()?);
            }
            app.printer.show_note(&format!("revoked `{}`", token.name));
            Ok(Exit::Done)
        }
    }
}

fn add_token(app: &App, args: &TokenAddArgs) -> Done {
    let scope = TokenScope::from(args.scope);
    let made = app.host.add_service_token(&NewToken {
        name: args.name.clone(),
        scope,
        repositories: find_repositories(app, args, scope)?,
        days: args.days,
    })?;
    let reached = render::service_token::describe_reach(&made.token);
    app.printer.show_note(&format!(
        "`{}` reaches {reached} until {}; this is the only time its secret is shown",
        made.token.name,
        made.token.ends.as_str().get(..10).unwrap_or_default()
    ));
    // Alone on standard output, so that a shell can put it into a variable.
    app.printer
        .write_data(&format!("{}\n", made.secret.expose()))
        .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

fn find_repositories(
    app: &App,
    args: &TokenAddArgs,
    scope: TokenScope,
) -> Result<Vec<KnownRepository>, EffectError> {
    if args.repositories.is_empty() {
        return Ok(match scope {
            TokenScope::Models => Vec::new(),
            TokenScope::Agent | TokenScope::Read => app.host.known_repository().into_iter().collect(),
        });
    }
    let find = |folder: &std::path::PathBuf| {
        let host = app.host.clone().with_repository(Some(folder.clone()));
        let known = host.known_repository();
        known.ok_or_else(|| usage_error(format!("`{}` is in no repository", folder.display())))
    };
    args.repositories.iter().map(find).collect()
}

fn show_list(app: &App, list: &TokenList) -> Done {
    if app.printer.json {
        app.printer
            .write_json(list)
            .map_err(|error| output_failed(&error))?;
        return Ok(Exit::Done);
    }
    if list.tokens.is_empty() {
        app.printer
            .show_note("there is no token; `agentos serve token add NAME` makes one");
        return Ok(Exit::Done);
    }
    app.print_paged(&render::service_token::format_tokens(list))
        .map_err(|error| output_failed(&error))?;
    let ending = list
        .tokens
        .iter()
        .filter(|listed| listed.state == TokenLife::EndsSoon);
    for listed in ending {
        app.printer.show_note(&format!(
            "`{0}` ends in less than seven days; make another one, and revoke `{0}`",
            listed.token.name
        ));
    }
    Ok(Exit::Done)
}
