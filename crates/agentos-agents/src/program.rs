//! One program and what it is given.
//!
//! Owns: the order for the sandbox. Never: passes on a variable that it was not told to.

use std::path::PathBuf;

use agentos_sandbox::{Forward, Limits, Order, Overlay, Scratch};
use agentos_tool::ExecutionMode;

use crate::{AgentError, Places};

/// A server that a program may reach, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its host, outside.
    pub host: String,
    /// Its port, outside and on the program's own loopback.
    pub port: u16,
}

/// A program that changes files.
#[derive(Debug, Clone)]
pub struct Program {
    /// The provider's name.
    pub provider: String,
    /// The program's name or path. One with a `/` that is not absolute lies in the copy.
    pub name: String,
    /// Its arguments; [`TASK`] stands for the task's words.
    pub args: Vec<String>,
    /// Variables beside those that every tool gets.
    pub env: Vec<(String, String)>,
    /// More files and folders that it may read.
    pub readable: Vec<PathBuf>,
    /// The one server it may reach.
    pub server: Option<Server>,
    /// Where the work is done.
    pub mode: ExecutionMode,
}

/// Stands for the task in a program's arguments.
pub const TASK: &str = "{task}";

impl Program {
    /// The order for one run.
    ///
    /// # Errors
    /// When there is no such program.
    pub(crate) fn order(
        &self,
        places: &Places,
        scratch: &Scratch,
        lower: PathBuf,
        task: &str,
    ) -> Result<Order, AgentError> {
        let copy = scratch.copy();
        let found = places
            .find(&self.name)
            .ok_or_else(|| AgentError::NoProgram(self.name.clone()))?;
        let program = if found.is_absolute() {
            found
        } else {
            copy.join(found)
        };
        let args = self.args.iter().map(|arg| arg.replace(TASK, task)).collect();
        let mut order = Order::new(program.clone(), args, copy.clone(), scratch.root());
        order.env = self.environment(places, scratch);
        order.readable = places.readable(&program);
        order.readable.extend(self.readable.iter().cloned());
        order.writable = vec![scratch.home(), scratch.tmp()];
        order.overlays = vec![Overlay {
            lower,
            upper: scratch.changes(),
            work: scratch.kernel(),
            at: copy,
        }];
        let forwards = self.server.iter().map(|server| Forward {
            port: server.port,
            socket: socket(scratch),
        });
        order.forwards = forwards.collect();
        order.limits = Limits::default();
        Ok(order)
    }

    fn environment(&self, places: &Places, scratch: &Scratch) -> Vec<(String, String)> {
        let text = |path: PathBuf| path.display().to_string();
        let mut all = vec![
            ("PATH".to_owned(), places.variable()),
            ("HOME".to_owned(), text(scratch.home())),
            ("TMPDIR".to_owned(), text(scratch.tmp())),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
            ("TERM".to_owned(), "dumb".to_owned()),
            ("USER".to_owned(), "tool".to_owned()),
            ("NO_COLOR".to_owned(), "1".to_owned()),
            ("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned()),
        ];
        if let Some(rustup) = places.rustup() {
            all.push(("RUSTUP_HOME".to_owned(), text(rustup)));
        }
        all.extend(self.env.iter().cloned());
        all
    }
}

/// Where the way to the server begins.
pub(crate) fn socket(scratch: &Scratch) -> PathBuf {
    scratch.tmp().join("server.sock")
}
