//! Log of runs, as a table with one line for each.
//!
//! Owns: the columns, what is left out on a narrow screen, and the words for the end of a run. Never: reads a tape.

use agentos_host::{LoggedRun, ResultKind, RunResult};
use agentos_tool::Timestamp;

use super::run_ids::shorten_runs;
use super::when::format_when;
use crate::escape;
use crate::printer::{paint, style};

/// Screen and clock for which a log is laid out.
#[derive(Debug, Clone)]
pub struct LogLayout {
    /// Current time.
    pub now: Timestamp,
    /// Difference of local time from UTC in minutes.
    pub offset_minutes: i32,
    /// Columns of the screen. `None` for output that is not cut.
    pub width: Option<usize>,
}

/// Fewest columns for the task. If there are fewer, other columns are left out.
const LEAST_TASK: usize = 24;
/// Most columns of a provider, branch or result. Longer names are shortened on a screen.
const WIDEST_CELL: usize = 24;
/// Columns between two cells.
const GAP: usize = 2;

/// Column of the table.
struct Column {
    head: &'static str,
    cells: Vec<String>,
    /// Order in which columns are left out on a narrow screen: the highest first. 0 is never left out.
    spare: u8,
}

impl Column {
    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|cell| cell.chars().count());
        cells.max().unwrap_or(0).max(self.head.len())
    }
}

/// Returns a table with a line for each run, in the given order.
pub fn format_log(runs: &[LoggedRun], layout: &LogLayout) -> String {
    let columns = choose_columns(make_columns(runs, layout), layout.width);
    let used = columns.iter().map(|column| column.width() + GAP).sum();
    let room = layout.width.map(|width| width.saturating_sub(used).max(1));
    let mut out = String::new();
    for column in &columns {
        push_cell(&mut out, column.head, style::DIM, column.width());
    }
    out.push_str(&paint(style::DIM, "TASK"));
    out.push('\n');
    for (at, run) in runs.iter().enumerate() {
        for column in &columns {
            let cell = column.cells.get(at).map_or("", String::as_str);
            let painted = match column.head {
                "RUN" => style::BOLD,
                "RESULT" => style_of(run.result.kind),
                _ => "",
            };
            push_cell(&mut out, cell, painted, column.width());
        }
        // The task of an approval or an undo is the id of another run. A denial has no task of its own.
        let closes = run.answers.as_ref();
        let closes = closes.map(|earlier| format!("closes the request of {earlier}"));
        let task = shorten_runs(run.task.as_ref().or(closes.as_ref()).map_or("-", String::as_str));
        let task = escape::line(&task);
        out.push_str(&room.map_or_else(|| task.clone(), |room| shorten_text(&task, room)));
        out.push('\n');
    }
    out
}

/// Adds a cell and its padding. The padding is measured without color codes, which have no width on the screen.
fn push_cell(out: &mut String, cell: &str, painted: &str, width: usize) {
    let blanks = " ".repeat(width.saturating_sub(cell.chars().count()) + GAP);
    match painted {
        "" => out.push_str(cell),
        painted => out.push_str(&paint(painted, cell)),
    }
    out.push_str(&blanks);
}

fn style_of(kind: ResultKind) -> &'static str {
    match kind {
        ResultKind::Landed | ResultKind::DryRun | ResultKind::Approved => style::GOOD,
        ResultKind::Refused | ResultKind::Denied | ResultKind::Failed => style::BAD,
        ResultKind::Waiting | ResultKind::NothingToDo | ResultKind::NotEnded => style::WARN,
        ResultKind::Expired | ResultKind::Declined | ResultKind::Void | ResultKind::Ended => style::DIM,
    }
}

fn make_columns(runs: &[LoggedRun], layout: &LogLayout) -> Vec<Column> {
    let column = |head, spare, cell: &dyn Fn(&LoggedRun) -> String| Column {
        head,
        spare,
        cells: runs
            .iter()
            .map(|run| {
                let text = escape::line(&cell(run));
                layout
                    .width
                    .map_or(text.clone(), |_| shorten_text(&text, WIDEST_CELL))
            })
            .collect(),
    };
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    vec![
        column("RUN", 0, &|run| run.short.clone()),
        column("WHEN", 1, &|run| {
            format_when(&run.began, &layout.now, layout.offset_minutes)
        }),
        column("BY", 2, &|run| or_dash(&run.provider)),
        column("BRANCH", 4, &|run| or_dash(&run.branch)),
        column("RESULT", 0, &|run| describe_result(&run.result)),
        column("FILES", 3, &|run| match run.files.len() {
            0 => "-".to_owned(),
            count => count.to_string(),
        }),
    ]
}

/// Leaves columns out until the task has room.
fn choose_columns(mut columns: Vec<Column>, width: Option<usize>) -> Vec<Column> {
    let Some(width) = width else { return columns };
    for spare in [4, 3, 2, 1] {
        let used: usize = columns.iter().map(|column| column.width() + GAP).sum();
        if used + LEAST_TASK > width {
            columns.retain(|column| column.spare != spare);
        }
    }
    columns
}

/// Shortens a text to so many columns, with a mark where it was cut.
fn shorten_text(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(room.saturating_sub(1)).collect();
    short.truncate(short.trim_end().len());
    short.push('…');
    short
}

/// Returns the end of a run in a few words. The caller must escape the text: codes come from the tape.
pub fn describe_result(result: &RunResult) -> String {
    let with_code = |words: &str| match &result.code {
        Some(code) => format!("{words} {code}"),
        None => words.to_owned(),
    };
    match result.kind {
        ResultKind::Landed => match &result.commit {
            Some(commit) => format!("landed {}", commit.get(..10).unwrap_or(commit)),
            None => "landed, no commit".to_owned(),
        },
        ResultKind::DryRun => "dry run".to_owned(),
        ResultKind::Refused => with_code("refused"),
        ResultKind::Denied => with_code("denied"),
        ResultKind::Waiting => "waits for you".to_owned(),
        ResultKind::Expired => "request expired".to_owned(),
        ResultKind::Approved => "approved later".to_owned(),
        ResultKind::Declined => "declined".to_owned(),
        ResultKind::Void => "request void".to_owned(),
        ResultKind::NothingToDo => "nothing to do".to_owned(),
        // A person or a signal stopped the run: that is no failure of anything.
        ResultKind::Failed if result.code.as_deref() == Some("interrupted") => "interrupted".to_owned(),
        ResultKind::Failed => with_code("failed"),
        ResultKind::Ended => "ended".to_owned(),
        ResultKind::NotEnded => "did not end".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(short: &str, kind: ResultKind, task: &str) -> LoggedRun {
        LoggedRun {
            run: format!("20261121T091400Z-{short}"),
            short: short.to_owned(),
            began: "2026-11-21T09:14:00.000Z".to_owned(),
            verb: Some("run".to_owned()),
            provider: Some("a-provider-with-a-very-long-name".to_owned()),
            model: None,
            branch: Some("main".to_owned()),
            result: RunResult {
                kind,
                code: Some("does-not-apply".to_owned()),
                commit: None,
            },
            files: vec!["a".to_owned(), "b".to_owned()],
            task: Some(task.to_owned()),
            answers: None,
            comment: None,
        }
    }

    fn plain(width: Option<usize>) -> String {
        let runs = [
            run(
                "1a2b3c4d",
                ResultKind::Refused,
                "fix \u{1b}[2Jadd(), which subtracts its second argument",
            ),
            run("ffee9999", ResultKind::Waiting, "short"),
        ];
        let layout = LogLayout {
            now: Timestamp::from_unix_seconds(0),
            offset_minutes: 0,
            width,
        };
        anstream::adapter::strip_str(&format_log(&runs, &layout)).to_string()
    }

    #[test]
    fn a_log_fits_its_screen_and_is_whole_without_one() {
        for width in [40, 60, 80, 100, 120, 200] {
            let text = plain(Some(width));
            // Id, result and the beginning of the task are on every screen that has room for them.
            assert!(
                text.contains("1a2b3c4d") && text.contains("refused does-not-apply"),
                "{text}"
            );
            assert!(
                text.lines().all(|line| line.chars().count() <= width),
                "{width}:\n{text}"
            );
        }
        insta::assert_snapshot!(plain(Some(100)), @r"
        RUN       WHEN              RESULT                  TASK
        1a2b3c4d  2026-11-21 09:14  refused does-not-apply  fix \u{1b}[2Jadd(), which subtracts its second…
        ffee9999  2026-11-21 09:14  waits for you           short
        ");
        insta::assert_snapshot!(plain(None), @r"
        RUN       WHEN              BY                                BRANCH  RESULT                  FILES  TASK
        1a2b3c4d  2026-11-21 09:14  a-provider-with-a-very-long-name  main    refused does-not-apply  2      fix \u{1b}[2Jadd(), which subtracts its second argument
        ffee9999  2026-11-21 09:14  a-provider-with-a-very-long-name  main    waits for you           2      short
        ");
    }
}
