//! Signing in at a server of tools over HTTP, and the place of its tokens.
//!
//! Owns: where a sign-in is stored, and the page that leads the browser to the authorization server. Never: shows a token, or puts the
//! address of a sign-in on a command line: whoever reads its `state` there could answer in the place of the browser.
//!
//! | what | where | life |
//! |---|---|---|
//! | tokens, and what refreshing them needs | one entry `NAME.sign-in` in the store of keys | until `tool auth clear`, or a key is set |
//! | the lock of a refresh | `~/.agentos/NAME.sign-in.lock` | stays, empty |
//! | the page that leads the browser there | `NAME.sign-in.html` in the folder of the user's state | while the browser is waited for |

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentos_api::{NextStep, SignInStatus};
use agentos_credentials::{
    CredentialError, FileStore, KeyringStore, SecretStore, StoreKind, find_key, lock_own_file,
    remove_own_file,
};
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_mcp_client::{
    Grant, GrantStore, PendingSignIn, SignInChoices, SignInError, SignInOffer, StoreFault, TokenKeeper,
    make_sign_in_client,
};
use agentos_net::{CallbackError, CallbackListener, HttpUrl, NetError};
use agentos_profile::ResolvedProfile;
use agentos_tool::{Secret, Timestamp};

use crate::Providers;
use crate::tools::Tools;
use agentos_ground::Ground;
use agentos_ground::environment::Environment;
use agentos_ground::error::usage_error;
use agentos_ground::keys;
use agentos_ground::options::{KeyStore, ProviderOverrides};
use agentos_ground::own_file::write_own_text;

/// Code of errors of a sign-in that did not succeed.
const FAILED: &str = "sign-in-failed";
/// Code of errors of a server that nobody is signed in at, or not any more.
pub(crate) const NEEDED: &str = "sign-in-needed";

/// Choices of the user for a sign-in.
#[derive(Debug, Clone)]
pub struct SignInSpec {
    /// Name of the provider.
    pub provider: String,
    /// Scopes to request. Empty for those that the server names.
    pub scopes: Vec<String>,
    /// Store of the tokens.
    pub store: KeyStore,
    /// Longest wait for the browser.
    pub limit: Duration,
}

/// Sign-in that waits for the user's browser. Dropping it closes the port to which the browser returns.
#[derive(Debug)]
pub struct SignInAttempt {
    spec: SignInSpec,
    server: String,
    issuer: String,
    page_host: String,
    pending: PendingSignIn,
    listener: CallbackListener,
    page: Option<PageFile>,
}

impl SignInAttempt {
    /// Returns the address of the authorization server. Untrusted.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Returns the address of the server that the tokens are sent to.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Returns the host of the page on which the user agrees. Untrusted.
    #[must_use]
    pub fn page_host(&self) -> &str {
        &self.page_host
    }

    /// Returns the scopes that are requested, separated by blanks. Empty if none is named. Untrusted.
    #[must_use]
    pub fn scopes(&self) -> &str {
        self.pending.scopes()
    }

    /// Returns the address that the user's browser opens.
    #[must_use]
    pub fn address(&self) -> &Secret {
        self.pending.address()
    }
}

impl Providers<'_> {
    /// Asks a server how to sign in at it, and opens the port to which the browser returns.
    ///
    /// # Errors
    /// If the provider is no server of tools, or offers no sign-in that is safe to use.
    pub async fn begin_sign_in(self, spec: SignInSpec) -> Result<SignInAttempt, EffectError> {
        let (server, client_id) = self.find_sign_in_server(&spec.provider)?;
        // Before the browser, whose answer could otherwise not be kept.
        keys::check_store(self.ground, spec.store)?;
        let http = make_sign_in_client().map_err(|error| net_error(&error))?;
        let failed = |error: SignInError| word_error(&error, &spec.provider);
        let offer = SignInOffer::discover(&http, &server).await.map_err(failed)?;
        let listener = CallbackListener::open()
            .await
            .map_err(|error| callback_error(&error))?;
        let (issuer, page_host) = (offer.issuer(), offer.page_host());
        let choices = SignInChoices {
            client_id,
            scopes: spec.scopes.clone(),
        };
        let pending = offer
            .begin(&http, choices, listener.address())
            .await
            .map_err(failed)?;
        Ok(SignInAttempt {
            spec,
            server: server.to_string(),
            issuer,
            page_host,
            pending,
            listener,
            page: None,
        })
    }

    /// Opens the address of a sign-in in the user's browser. A browser that does not open is no error, because the user can open the
    /// address in another way.
    ///
    /// # Errors
    /// If the page that leads there cannot be written.
    pub fn open_sign_in(self, attempt: &mut SignInAttempt) -> Result<(), EffectError> {
        let folder = self.ground.environment().state_dir().ok_or_else(no_home)?;
        let page = folder.join(format!("{}.html", entry_name(&attempt.spec.provider)));
        write_own_text(&page, &write_page(attempt.address().expose()), FAILED)?;
        attempt.page = Some(PageFile(page.clone()));
        let programs = self.ground.find_user_programs();
        // On a thread of its own: a browser that was not running yet stays in the foreground of whoever started it.
        std::thread::spawn(move || agentos_launch::open_in_browser(&page, &programs));
        Ok(())
    }

    /// Waits for the browser, requests the tokens and stores them.
    ///
    /// # Errors
    /// If the browser does not return in time, somebody refuses, or the tokens cannot be stored.
    pub async fn finish_sign_in(self, attempt: SignInAttempt) -> Result<SignInStatus, EffectError> {
        let spec = attempt.spec;
        let state = attempt.pending.state().clone();
        let callback = attempt.listener.receive(&state, spec.limit).await;
        // The page has the `state`, which is of no use any more.
        drop(attempt.page);
        let callback = callback.map_err(|error| callback_error(&error))?;
        let grant = attempt.pending.finish(callback, now()).await;
        let grant = grant.map_err(|error| word_error(&error, &spec.provider))?;
        let name = entry_name(&spec.provider);
        let _lock = lock_sign_in(self.ground, &spec.provider)?;
        keys::store_key(self.ground, spec.store, &name, &grant.to_entry())?;
        // An older sign-in in another store could be found first.
        keys::clear_other_stores(self.ground, spec.store, &name)?;
        Ok(describe_grant(&grant))
    }

    /// Returns the address of a server of tools, and the id of the client that its profile names.
    fn find_sign_in_server(self, provider: &str) -> Result<(HttpUrl, Option<String>), EffectError> {
        let tools = Tools::read(self.ground, None)?;
        tools.require_known(provider)?;
        let resolved = match tools.has_profile(provider) {
            true => Some(tools.resolve_profile(self.ground, provider, &ProviderOverrides::default())?),
            false => None,
        };
        let profile = resolved.map(|resolved| resolved.profile);
        let server = profile.filter(|profile| profile.adapter == agentos_profile::AdapterKind::Mcp);
        let found = server.and_then(|profile| Some((profile.base_url?, profile.client_id)));
        let (url, client_id) = found.ok_or_else(|| {
            usage_error(format!(
                "nobody signs in at `{provider}`: it is no MCP server with an address"
            ))
            .hint("its profile needs the adapter `mcp` and a `base_url`")
        })?;
        let url = HttpUrl::parse(url.as_str()).map_err(|error| usage_error(error.to_string()))?;
        Ok((url, client_id))
    }
}

/// Page that leads a browser to a sign-in. It is removed with this value.
#[derive(Debug)]
struct PageFile(PathBuf);

impl Drop for PageFile {
    fn drop(&mut self) {
        if let Err(error) = remove_own_file(&self.0) {
            tracing::debug!(%error, "the page of a sign-in is left");
        }
    }
}

/// Writes a page that leads to an address.
fn write_page(address: &str) -> String {
    let mut escaped = String::with_capacity(address.len());
    for letter in address.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={escaped}\">\n<title>AgentOS</title>\n<a href=\"{escaped}\">Sign in</a>\n"
    )
}

/// Returns the name of a provider's sign-in in the stores of keys. No key has it, so that no server is sent the entry as a key.
pub(crate) fn entry_name(provider: &str) -> String {
    format!("{provider}.sign-in")
}

/// Returns the keeper of the tokens of a provider. `None` if nobody is signed in there.
pub(crate) fn find_keeper(
    ground: &Ground,
    resolved: &ResolvedProfile,
    url: &HttpUrl,
) -> Result<Option<Arc<TokenKeeper>>, EffectError> {
    let provider = &resolved.profile.provider;
    if find_grant(ground, provider).is_none() {
        return Ok(None);
    }
    let http = make_sign_in_client().map_err(|error| net_error(&error))?;
    let store = HostGrantStore::new(ground.environment(), provider).ok_or_else(no_home)?;
    Ok(Some(Arc::new(TokenKeeper::new(
        url.clone(),
        http,
        Arc::new(store),
    ))))
}

/// Reads the sign-in of a provider, with the kind of its store. `None` if nobody is signed in, or no store can be read.
pub fn find_grant(ground: &Ground, provider: &str) -> Option<(Grant, StoreKind)> {
    let found = find_key(&keys::user_stores(ground), &entry_name(provider)).found?;
    Some((Grant::from_entry(&found.key)?, found.store))
}

/// Waits until no session refreshes the sign-in of a provider, and keeps it so until the value is dropped. Otherwise a refresh that was
/// sent before would bring back what is removed or replaced meanwhile.
///
/// # Errors
/// If there is no home folder, or no place for the lock.
pub(crate) fn lock_sign_in(ground: &Ground, provider: &str) -> Result<File, EffectError> {
    let file = ground.environment().credentials_file().ok_or_else(no_home)?;
    lock_own_file(&file.with_file_name(entry_name(provider)))
        .map_err(|error| EffectError::from_error(Cause::Tool, FAILED, &error))
}

/// Removes the sign-in of a provider from every store. Returns true if there was one.
///
/// # Errors
/// If a store cannot be asked, or the lock not be taken.
pub fn clear_sign_in(ground: &Ground, provider: &str) -> Result<bool, EffectError> {
    // Without one, nothing refreshes it, and no file of a lock is made.
    let _lock = match find_grant(ground, provider) {
        Some(_) => Some(lock_sign_in(ground, provider)?),
        None => None,
    };
    keys::clear_key(ground, &entry_name(provider))
}

/// Describes a sign-in without its tokens.
pub fn describe_grant(grant: &Grant) -> SignInStatus {
    SignInStatus {
        server: grant.server().to_string(),
        issuer: grant.issuer(),
        until: grant
            .ends_at()
            .map(|end| Timestamp::from_unix_seconds(end).to_string()),
        refreshes: grant.can_refresh(),
    }
}

/// Makes the error of a sign-in, with the next step.
fn word_error(error: &SignInError, provider: &str) -> EffectError {
    let code = if error.needs_sign_in() { NEEDED } else { FAILED };
    let effect = EffectError::from_error(Cause::Tool, code, error);
    match error {
        SignInError::NoClient => {
            effect.hint("register a client there, and write its id as `client_id` into the profile")
        }
        SignInError::NotOffered(_) => effect.suggest_steps([NextStep::SetKey {
            provider: Some(provider.to_owned()),
            in_file: false,
        }]),
        _ => effect,
    }
}

fn callback_error(error: &CallbackError) -> EffectError {
    EffectError::from_error(Cause::Tool, FAILED, error)
}

fn net_error(error: &NetError) -> EffectError {
    EffectError::from_error(Cause::Tool, FAILED, error)
}

fn no_home() -> EffectError {
    EffectError::new(
        Cause::Usage,
        "no-home",
        "there is no home folder to keep a sign-in in",
    )
    .hint("set `HOME`")
}

fn now() -> u64 {
    agentos_ground::clock::now_ms() / 1000
}

/// Entry of a sign-in in the user's stores of keys.
struct HostGrantStore {
    name: String,
    bus: Option<PathBuf>,
    file: PathBuf,
    /// Store in which the entry was found. `None` before that.
    found: Mutex<Option<StoreKind>>,
}

impl HostGrantStore {
    /// Makes the store of a provider's sign-in. `None` without a home folder.
    fn new(environment: &Environment, provider: &str) -> Option<Self> {
        Some(Self {
            name: entry_name(provider),
            bus: environment.bus_socket(),
            file: environment.credentials_file()?,
            found: Mutex::default(),
        })
    }

    /// Returns the stores, in the order in which they are asked.
    fn stores(&self) -> [SecretStore; 2] {
        [
            self.keyring(keys::LOOKING),
            SecretStore::File(FileStore::new(self.file.clone())),
        ]
    }

    fn keyring(&self, patience: Duration) -> SecretStore {
        SecretStore::Keyring(KeyringStore::system_keyring(patience, self.bus.clone()))
    }
}

impl GrantStore for HostGrantStore {
    fn now(&self) -> u64 {
        now()
    }

    fn lock(&self) -> Result<Box<dyn Send>, StoreFault> {
        Ok(Box::new(lock_own_file(&self.file.with_file_name(&self.name))?))
    }

    fn load(&self) -> Result<Option<Secret>, StoreFault> {
        let lookup = find_key(&self.stores(), &self.name);
        if let Some(found) = lookup.found {
            *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(found.store);
            return Ok(Some(found.key));
        }
        // A locked keyring may have the entry. One that does not exist has none.
        let unread = lookup.problems.into_iter().map(|(_, problem)| problem);
        let mut unread = unread.filter(|problem| !matches!(problem, CredentialError::NoKeyring { .. }));
        unread.next().map_or(Ok(None), |problem| Err(problem.into()))
    }

    fn save(&self, entry: &Secret) -> Result<(), StoreFault> {
        // Into the store in which it was found, and no other one: the user chose that one.
        let found = *self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let store = match found {
            Some(StoreKind::Keyring) => self.keyring(keys::STORING),
            Some(StoreKind::File) => SecretStore::File(FileStore::new(self.file.clone())),
            None => return Err("no entry was read before".into()),
        };
        store.set_key(&self.name, entry).map_err(Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_escaped_on_its_page() {
        let page = write_page("https://as.example/a?x=1&y='\"><script>");
        insta::assert_snapshot!(page, @r#"
        <!doctype html>
        <meta charset="utf-8">
        <meta name="referrer" content="no-referrer">
        <meta http-equiv="refresh" content="0; url=https://as.example/a?x=1&amp;y=&#39;&quot;&gt;&lt;script&gt;">
        <title>AgentOS</title>
        <a href="https://as.example/a?x=1&amp;y=&#39;&quot;&gt;&lt;script&gt;">Sign in</a>
        "#);
    }
}
