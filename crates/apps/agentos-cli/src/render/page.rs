//! Evidence as one page for a browser.
//!
//! Owns: the page. Never: contains a script, an address outside the export, or unescaped untrusted text: every text passes
//! through one function, and the page's content security policy lets nothing run or load.
//!
//! The filter is made of radio buttons and style rules alone, so the page works without scripts, and where a browser does not
//! know a rule, every run is shown. A link to a blob asks the browser to save it: a model wrote it, and must not be shown as a page.

use agentos_host::{ExportFacts, LoggedRun, RecordKind, ResultKind, VerifyReport};

use super::log::describe_result;
use crate::escape;

/// Run on the page.
#[derive(Debug, Default)]
pub struct RunPage {
    /// Id of the run.
    pub run: String,
    /// The run as the log shows it. `None` if its records cannot be summarised.
    pub logged: Option<LoggedRun>,
    /// Records of the run, in order.
    pub stations: Vec<RecordRow>,
    /// Text of the change. `None` if there is none.
    pub change: Option<ChangeText>,
}

/// Text of a change on the page.
#[derive(Debug)]
pub struct ChangeText {
    /// Description of the text.
    pub title: &'static str,
    /// The text; untrusted.
    pub text: String,
    /// True if only the beginning is shown.
    pub is_cut: bool,
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
    /// Blobs that the record names: a word for each, and its SHA-256 in hexadecimal digits.
    pub blobs: Vec<(String, String)>,
}

const HEAD: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><meta name=\"referrer\" content=\"no-referrer\">\n\
<title>AgentOS evidence</title>\n<style>\n\
:root{color-scheme:light dark;--good:#1a7f37;--bad:#cf222e;--warn:#9a6700;--line:#8884;--soft:#8881}\n\
@media(prefers-color-scheme:dark){:root{--good:#4ac26b;--bad:#ff7b72;--warn:#e3b341}}\n\
body{font:15px/1.5 system-ui,sans-serif;max-width:72em;margin:1.5em auto;padding:0 1em}\n\
code,pre,td.words{font-family:ui-monospace,monospace;font-size:13px}\n\
pre{overflow-x:auto;padding:.6em;border:1px solid var(--line);border-radius:6px;background:var(--soft)}\n\
h1{margin-bottom:.2em;overflow-wrap:anywhere}h3{margin:1em 0 .2em;font-size:1em}\n\
table{border-collapse:collapse}td{padding:.15em .8em .15em 0;vertical-align:top;white-space:nowrap}\n\
td.words{white-space:normal;overflow-wrap:anywhere}\n\
details.run{border:1px solid var(--line);border-left:4px solid var(--line);border-radius:6px;margin:.4em 0;padding:.4em .8em;overflow-wrap:anywhere}\n\
details.good{border-left-color:var(--good)}details.bad{border-left-color:var(--bad)}details.warn{border-left-color:var(--warn)}\n\
details:target{outline:2px solid var(--warn)}summary{cursor:pointer}summary .about{display:block;margin-left:1.1em}\n\
.mark{font-weight:600}.good>summary .mark,p.good{color:var(--good)}.bad>summary .mark,p.bad,li.bad{color:var(--bad)}.warn>summary .mark{color:var(--warn)}\n\
.add{color:var(--good)}.del{color:var(--bad)}.hunk,.dim,.about{opacity:.7}\n\
.filter{margin:1em 0}.filter label{border:1px solid var(--line);border-radius:1em;padding:.2em .8em;margin:0 .3em .3em 0;display:inline-block;cursor:pointer}\n\
.filter input{position:absolute;opacity:0}.filter input:checked+label{background:var(--soft);font-weight:600}.filter input:focus-visible+label{outline:2px solid}\n\
body:has(#show-landed:checked) details.run:not(.landed),body:has(#show-refused:checked) details.run:not(.refused),\
body:has(#show-waiting:checked) details.run:not(.waiting),body:has(#show-other:checked) details.run:not(.other){display:none}\n\
@media(max-width:45em){td{display:block;padding:0}tr{display:block;border-top:1px solid var(--line);padding:.3em 0}}\n\
@media print{details.run{break-inside:avoid}.filter{display:none}}\n\
</style></head><body>\n";

/// Returns the page as HTML.
pub fn render_page(facts: &ExportFacts, found: &VerifyReport, runs: &[RunPage]) -> String {
    let mut out = HEAD.to_owned();
    out.push_str(&format!(
        "<h1>Evidence of {}</h1>\n",
        escape_html(&facts.repository)
    ));
    out.push_str(&format!(
        "<p class=\"dim\">exported by {} at {}</p>\n",
        escape_html(&facts.exporter),
        escape_html(&facts.created)
    ));
    out.push_str(&render_verification(found));
    if facts.redacted {
        out.push_str("<p>This copy is redacted: the texts of tasks, answers and decisions are replaced by salted digests.</p>\n");
    }
    if !runs.is_empty() {
        out.push_str(&format!("<h2>Runs, newest first ({})</h2>\n", runs.len()));
        out.push_str(&render_filter(runs));
    }
    runs.iter().for_each(|run| out.push_str(&render_run(run)));
    out.push_str("</body></html>\n");
    out
}

fn render_verification(found: &VerifyReport) -> String {
    let (class, word) = if found.ok {
        ("good", "✓ whole")
    } else {
        ("bad", "✗ NOT WHOLE")
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

/// Look of a run: the group of the filter, the class of its color, and a mark for readers who do not see colors.
struct RunLook {
    group: &'static str,
    color: &'static str,
    mark: &'static str,
}

/// Groups of the filter, with their words.
const GROUPS: [(&str, &str); 4] = [
    ("landed", "landed"),
    ("refused", "refused or failed"),
    ("waiting", "waiting for a person"),
    ("other", "other"),
];

fn look_of(run: &RunPage) -> RunLook {
    let (group, color, mark) = match run.logged.as_ref().map(|logged| logged.result.kind) {
        Some(ResultKind::Landed | ResultKind::Approved) => ("landed", "good", "✓"),
        Some(ResultKind::Refused | ResultKind::Denied) => ("refused", "bad", "✗"),
        Some(ResultKind::Failed) => ("refused", "bad", "!"),
        Some(ResultKind::Waiting) => ("waiting", "warn", "?"),
        Some(ResultKind::DryRun) => ("other", "good", "~"),
        Some(ResultKind::NotEnded) => ("other", "warn", "…"),
        Some(
            ResultKind::Void
            | ResultKind::Expired
            | ResultKind::Declined
            | ResultKind::NothingToDo
            | ResultKind::Ended,
        )
        | None => ("other", "plain", "·"),
    };
    RunLook { group, color, mark }
}

/// Returns the choice of the runs that are shown. Groups without a run are left out.
fn render_filter(runs: &[RunPage]) -> String {
    let mut out = "<div class=\"filter\" role=\"group\" aria-label=\"runs to show\">\n".to_owned();
    let mut add = |id: &str, words: &str, count: usize, checked: &str| {
        out.push_str(&format!(
            "<input type=\"radio\" name=\"show\" id=\"show-{id}\"{checked}><label for=\"show-{id}\">{words} ({count})</label>\n"
        ));
    };
    add("all", "all", runs.len(), " checked");
    for (group, words) in GROUPS {
        let count = runs.iter().filter(|run| look_of(run).group == group).count();
        if count > 0 {
            add(group, words, count, "");
        }
    }
    out.push_str("</div>\n");
    out
}

fn render_run(run: &RunPage) -> String {
    let look = look_of(run);
    let anchor = anchor_of(&run.run);
    let mut out = format!(
        "<details class=\"run {} {}\" id=\"{anchor}\">{}\n<table>\n",
        look.group,
        look.color,
        render_summary(run, &look, &anchor)
    );
    for station in &run.stations {
        out.push_str(&format!(
            "<tr><td class=\"dim\">{}</td><td>{}</td><td class=\"words\">{}{}</td></tr>\n",
            escape_html(&station.time),
            station.kind.as_str().replace('_', " "),
            escape_html(&station.words),
            render_blobs(&station.blobs)
        ));
    }
    out.push_str("</table>\n");
    if let Some(change) = &run.change {
        out.push_str(&render_change(change));
    }
    out.push_str("</details>\n");
    out
}

/// Returns the closed row of a run: its end, its task, and where it landed or would have.
fn render_summary(run: &RunPage, look: &RunLook, anchor: &str) -> String {
    let began = run
        .stations
        .first()
        .map(|station| station.time.as_str())
        .unwrap_or_default();
    let Some(logged) = &run.logged else {
        return format!(
            "<summary><code>{}</code> {}</summary>",
            escape_html(&run.run),
            escape_html(began)
        );
    };
    let mut about: Vec<String> = Vec::new();
    about.extend(
        logged
            .branch
            .as_ref()
            .map(|branch| format!("on {}", escape_html(branch))),
    );
    about.extend(
        logged
            .provider
            .as_ref()
            .map(|provider| format!("by {}", escape_html(provider))),
    );
    let files = u64::try_from(logged.files.len()).unwrap_or(u64::MAX);
    about.push(super::count_noun(files, "file"));
    about.push(escape_html(began));
    about.push(format!(
        "<a href=\"#{anchor}\">run {}</a>",
        escape_html(&logged.short)
    ));
    format!(
        "<summary><span class=\"mark\">{} {}</span> {}\n<span class=\"about\">{}</span></summary>",
        look.mark,
        escape_html(&describe_result(&logged.result)),
        escape_html(logged.task.as_deref().unwrap_or("no task")),
        about.join(" · ")
    )
}

fn render_blobs(blobs: &[(String, String)]) -> String {
    let link = |(word, digits): &(String, String)| {
        let short: String = digits.chars().take(8).collect();
        let word = escape_html(word);
        format!(" <a href=\"blobs/{digits}\" download=\"{word}-{short}.txt\">{word}</a>")
    };
    // Digits from a tape become part of an address, so nothing else may be in them.
    let is_digest = |digits: &str| digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    blobs
        .iter()
        .filter(|(_, digits)| is_digest(digits))
        .map(link)
        .collect()
}

fn render_change(change: &ChangeText) -> String {
    let mut out = format!("<h3>{}</h3>\n<pre>", escape_html(change.title));
    for line in change.text.lines() {
        let class = match line.as_bytes().first() {
            Some(b'+') => "add",
            Some(b'-') => "del",
            Some(b'@') => "hunk",
            Some(_) | None => "ctx",
        };
        out.push_str(&format!("<span class=\"{class}\">{}</span>\n", escape_html(line)));
    }
    if change.is_cut {
        out.push_str("<span class=\"dim\">… cut here; the whole text is among the blobs</span>\n");
    }
    out.push_str("</pre>\n");
    out
}

/// Returns the name of a run's place on the page.
fn anchor_of(run: &str) -> String {
    // On tapes of earlier versions a run may be any text.
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    format!("run-{}", run.chars().map(plain).take(64).collect::<String>())
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
mod tests;
