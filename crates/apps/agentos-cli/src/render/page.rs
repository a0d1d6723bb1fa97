//! Evidence as one page for a browser.
//!
//! Owns: the page. Never: contains a script, a link, or unescaped untrusted text: every text passes through one function,
//! and the page's content security policy lets nothing run or load.

use agentos_host::{RecordKind, VerifyReport};

use crate::escape;

/// Run on the page.
#[derive(Debug, Default)]
pub struct RunPage {
    /// Summary of the run.
    pub run: String,
    /// Records of the run, in order.
    pub stations: Vec<RecordRow>,
    /// Diff that landed or would have landed. `None` if there is none.
    pub diff: Option<String>,
    /// True if only the beginning of the diff is shown.
    pub diff_cut: bool,
}

/// Record on the page.
#[derive(Debug)]
pub struct RecordRow {
    /// Time of the record.
    pub time: String,
    /// Kind of the record.
    pub kind: RecordKind,
    /// Content in one line.
    pub words: String,
}

const HEAD: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
<meta name=\"viewport\" content=\"width=device-width\"><meta name=\"referrer\" content=\"no-referrer\">\n\
<title>AgentOS evidence</title>\n<style>\n\
:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em}\n\
code,pre,td.words{font-family:ui-monospace,monospace;font-size:13px}pre{overflow-x:auto;padding:.6em;border:1px solid #8884}\n\
table{border-collapse:collapse}td{padding:.1em .8em .1em 0;vertical-align:top;white-space:nowrap}td.words{white-space:normal;overflow-wrap:anywhere}\n\
details{border-top:1px solid #8884;padding:.4em 0;overflow-wrap:anywhere}summary{cursor:pointer}\n\
.good{color:#1a7f37}.bad{color:#cf222e}.add{color:#1a7f37}.del{color:#cf222e}.dim{opacity:.65}\n\
</style></head><body>\n";

/// Returns the page as HTML.
pub fn render_page(found: &VerifyReport, runs: &[RunPage], redacted: bool) -> String {
    let mut out = HEAD.to_owned();
    out.push_str("<h1>AgentOS evidence</h1>\n");
    out.push_str(&render_verification(found));
    if redacted {
        out.push_str("<p>This copy is redacted: the texts of tasks, answers and decisions are replaced by salted digests.</p>\n");
    }
    if !runs.is_empty() {
        out.push_str(&format!("<h2>Runs, newest first ({})</h2>\n", runs.len()));
    }
    runs.iter().for_each(|run| out.push_str(&render_run(run)));
    out.push_str("</body></html>\n");
    out
}

fn render_verification(found: &VerifyReport) -> String {
    let (class, word) = if found.ok {
        ("good", "whole")
    } else {
        ("bad", "NOT WHOLE")
    };
    let mut out = format!(
        "<p class=\"{class}\"><strong>When it was exported, the evidence was {word}:</strong> {} records, {} blobs, \
         {} signed runs, {} without a signature.</p>\n<p class=\"dim\">A page cannot prove itself: check the folder, \
         see README.txt.</p>\n",
        found.records, found.blobs, found.signed, found.unsigned
    );
    if !found.findings.is_empty() || !found.notes.is_empty() {
        out.push_str("<ul>\n");
        // People read this page, and a tape can have thousands of faults.
        for finding in found.findings.iter().take(100) {
            let line = finding
                .line
                .map(|line| format!("line {line}: "))
                .unwrap_or_default();
            out.push_str(&format!(
                "<li class=\"bad\">{line}{}</li>\n",
                escape_html(&finding.detail)
            ));
        }
        for note in found.notes.iter().take(100) {
            out.push_str(&format!("<li>{}</li>\n", escape_html(note)));
        }
        out.push_str("</ul>\n");
    }
    for key in &found.keys {
        out.push_str(&format!(
            "<p>{} signed by <code>{}</code></p>\n",
            super::count_noun(key.signed, "run"),
            escape_html(&key.id)
        ));
    }
    out
}

fn render_run(run: &RunPage) -> String {
    let end = run
        .stations
        .iter()
        .rev()
        // A checkpoint ends the records of a run and does not say how the run itself ended.
        .find(|station| station.kind != RecordKind::Checkpoint);
    let began = run
        .stations
        .first()
        .map(|station| station.time.as_str())
        .unwrap_or_default();
    let mut out = format!(
        "<details><summary><code>{}</code> {} <strong>{}</strong></summary>\n<table>\n",
        escape_html(&run.run),
        escape_html(began),
        end.map(|end| escape_html(&end.words)).unwrap_or_default()
    );
    for station in &run.stations {
        out.push_str(&format!(
            "<tr><td class=\"dim\">{}</td><td>{}</td><td class=\"words\">{}</td></tr>\n",
            escape_html(&station.time),
            station.kind.as_str().replace('_', " "),
            escape_html(&station.words)
        ));
    }
    out.push_str("</table>\n");
    if let Some(diff) = &run.diff {
        out.push_str("<pre>");
        for line in diff.lines() {
            let class = match line.as_bytes().first() {
                Some(b'+') => "add",
                Some(b'-') => "del",
                Some(_) | None => "ctx",
            };
            out.push_str(&format!("<span class=\"{class}\">{}</span>\n", escape_html(line)));
        }
        if run.diff_cut {
            out.push_str("<span class=\"dim\">… cut here; the whole diff is among the blobs</span>\n");
        }
        out.push_str("</pre>\n");
    }
    out.push_str("</details>\n");
    out
}

/// Escapes untrusted text, so that it cannot begin a tag, end an attribute, or change the display of its neighbors.
fn escape_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escape::line(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_tape_says_the_page_holds_only_its_own_tags() {
        let evil = "<script>alert(1)</script><img src=x onerror='alert(2)'>\"><style>*{display:none}</style>&lt;\u{202e}\u{7}";
        let run = RunPage {
            run: evil.to_owned(),
            stations: vec![RecordRow {
                time: evil.to_owned(),
                kind: RecordKind::Task,
                words: evil.to_owned(),
            }],
            diff: Some(format!("+{evil}\n-{evil}\n</pre>{evil}")),
            diff_cut: true,
        };
        let found = VerifyReport {
            version: 1,
            ok: false,
            records: 1,
            blobs: 0,
            commits: None,
            moved: Vec::new(),
            tapes: Vec::new(),
            signed: 0,
            unsigned: 1,
            redacted: 0,
            unproved: 0,
            export: None,
            more_findings: 0,
            keys: Vec::new(),
            head: None,
            findings: Vec::new(),
            notes: vec![evil.to_owned()],
        };
        let page = render_page(&found, &[run], false);
        let body = page.strip_prefix(HEAD).unwrap();
        for tag in ["<script", "<img", "<style", "onerror='", "\u{202e}", "\u{7}"] {
            assert!(!body.contains(tag), "{tag}");
        }
        assert_eq!(body.matches("</pre>").count(), 1);
        assert!(body.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    }
}
