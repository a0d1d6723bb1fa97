//! Notices of the host, as lines on standard error.
//!
//! Owns: their layout. Never: prints untrusted text unescaped.

use agentos_host::{HostObserver, Notice};

use crate::escape;
use crate::printer::Printer;
use crate::render::next_step::word_hint;

/// Observer that prints notices of work outside a run.
pub struct PrintedNotices(pub Printer);

impl HostObserver for PrintedNotices {
    fn on_notice(&self, notice: Notice) {
        print_notice(self.0, &notice);
    }
}

/// Prints a notice, unless `--quiet` is set.
pub fn print_notice(printer: Printer, notice: &Notice) {
    // A recovery changed the repository, so it must stand out from remarks that need no action.
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
    printer.show_note(&text);
}
