//! The helper: the same program, started again to confine itself and become a tool's parent.
//!
//! Owns: the hidden verb and which part of the way it asks for. Never: reads a task, a setting or a file of the
//! user's; everything comes from the order on standard input.
//!
//! Two processes stand between us and the tool. The first opens the namespaces; the second is process 1 of the new
//! process namespace, so that everything ends with it: it builds the root, gives up its rights and starts the tool.

#[cfg(target_os = "linux")]
mod bpf;
#[cfg(target_os = "linux")]
mod cover;
#[cfg(target_os = "linux")]
mod enter;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod hearing;
#[cfg(target_os = "linux")]
mod hold;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod intake;
#[cfg(target_os = "linux")]
mod relay;
#[cfg(target_os = "linux")]
mod root;
#[cfg(target_os = "linux")]
mod rules;
#[cfg(any(target_os = "macos", test))]
mod seatbelt;
#[cfg(target_os = "linux")]
mod user;

use std::ffi::OsString;
#[cfg(target_os = "linux")]
use std::path::Path;

#[cfg(any(target_os = "linux", target_os = "macos"))]
use crate::report::Said;

/// The hidden verb. Not for people: it expects an order on standard input.
pub const VERB: &str = "__confine";

/// What the helper is asked for first.
#[cfg(target_os = "linux")]
pub(crate) const FIRST: &str = "namespaces";
/// What the helper is asked for first.
#[cfg(target_os = "macos")]
pub(crate) const FIRST: &str = "seatbelt";

/// The helper's end when the order could not be carried out.
#[cfg(any(target_os = "linux", target_os = "macos"))]
const REFUSED: u8 = 125;

/// Runs the helper if these arguments (without the program's name) ask for it; gives its exit code. Must be called
/// before anything else in a process: the helper may have one thread only.
pub fn run(args: impl Iterator<Item = OsString>) -> Option<u8> {
    let args: Vec<String> = args
        .take(4)
        .map(|arg| arg.to_string_lossy().into_owned())
        .collect();
    let (verb, rest) = args.split_first()?;
    (verb == VERB).then(|| dispatch(rest))
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn dispatch(args: &[String]) -> u8 {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let wrongly = || Err(Refusal::Layer("the helper was called wrongly".to_owned()));
    let done = match words.as_slice() {
        #[cfg(target_os = "linux")]
        [FIRST] => enter::namespaces(None).map_err(Refusal::Layer),
        #[cfg(target_os = "linux")]
        [FIRST, group] => enter::namespaces(Some(Path::new(group))).map_err(Refusal::Layer),
        #[cfg(target_os = "linux")]
        ["hold", who, group] => {
            user::Role::parse(who).map_or_else(wrongly, |role| hold::hold(&role, *group == enter::IN_GROUP))
        }
        #[cfg(target_os = "macos")]
        [FIRST] => seatbelt::hold(),
        _ => wrongly(),
    };
    done.unwrap_or_else(|refusal| {
        intake::say(&match refusal {
            Refusal::Layer(why) => Said::Refused(why),
            Refusal::Overlay(why) => Said::NoOverlay(why),
        });
        REFUSED
    })
}

/// Why the helper starts nothing.
#[cfg(any(target_os = "linux", target_os = "macos"))]
enum Refusal {
    /// A layer cannot be put up.
    Layer(String),
    /// An overlay cannot be mounted.
    Overlay(String),
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self::Layer(why)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn dispatch(_args: &[String]) -> u8 {
    1
}
