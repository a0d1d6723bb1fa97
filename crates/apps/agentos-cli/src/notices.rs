//! Notices of the host, as lines on standard error.
//!
//! Owns: how one looks. Never: lets untrusted text through unescaped.

use agentos_host::{HostObserver, Notice};

use crate::escape;
use crate::printer::Printer;
use crate::render::next_step::word_hint;

/// Prints notices of work that is no run.
pub struct PrintedNotices(pub Printer);

impl HostObserver for PrintedNotices {
    fn notice(&self, notice: Notice) {
        print(self.0, &notice);
    }
}

/// Shows a notice, unless the caller wants quiet.
pub fn print(printer: Printer, notice: &Notice) {
    let word = match notice.code.as_str() {
        Notice::RECOVERED => "recovered",
        _ => "note",
    };
    let mut text = format!("{word}: {}", escape::line(&notice.message));
    if let Some(hint) = word_hint(None, &notice.next) {
        text.push_str(&format!("\n  next: {}", escape::line(&hint)));
    }
    for detail in &notice.details {
        text.push_str(&format!("\n  {}", escape::line(detail)));
    }
    printer.note(&text);
}
