//! What the page shows, and that no text of a tape becomes a part of it.

use agentos_host::RunResult;

use super::*;

fn report(note: &str) -> VerifyReport {
    VerifyReport {
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
        notes: vec![note.to_owned()],
    }
}

fn facts(text: &str) -> ExportFacts {
    ExportFacts {
        repository: text.to_owned(),
        exporter: text.to_owned(),
        created: text.to_owned(),
        redacted: false,
    }
}

fn logged(kind: ResultKind, text: &str) -> LoggedRun {
    LoggedRun {
        run: text.to_owned(),
        short: text.to_owned(),
        began: text.to_owned(),
        verb: Some(text.to_owned()),
        provider: Some(text.to_owned()),
        model: Some(text.to_owned()),
        branch: Some(text.to_owned()),
        result: RunResult {
            kind,
            code: Some(text.to_owned()),
            commit: None,
        },
        files: vec![text.to_owned()],
        task: Some(text.to_owned()),
        answers: Some(text.to_owned()),
        comment: Some(text.to_owned()),
    }
}

fn run_page(kind: ResultKind, text: &str) -> RunPage {
    RunPage {
        run: text.to_owned(),
        logged: Some(logged(kind, text)),
        stations: vec![RecordRow {
            time: text.to_owned(),
            kind: RecordKind::Task,
            words: text.to_owned(),
            blobs: vec![
                (text.to_owned(), text.to_owned()),
                (text.to_owned(), "ab".repeat(32)),
            ],
        }],
        change: Some(ChangeText {
            title: "change",
            text: format!("+{text}\n-{text}\n</pre>{text}"),
            is_cut: true,
        }),
    }
}

#[test]
fn whatever_a_tape_says_the_page_holds_only_its_own_tags() {
    let evil = "<script>alert(1)</script><img src=x onerror='alert(2)'>\"><style>*{display:none}</style>&lt;\u{202e}\u{7}";
    let runs = [run_page(ResultKind::Refused, evil)];
    let page = render_page(&facts(evil), &report(evil), &runs);
    let body = page.strip_prefix(HEAD).unwrap();
    for tag in ["<script", "<img", "<style", "onerror='", "\u{202e}", "\u{7}"] {
        assert!(!body.contains(tag), "{tag}");
    }
    assert_eq!(body.matches("</pre>").count(), 1);
    assert!(body.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    // Every address is a place on the page or a blob of the export, and every blob is saved and not shown.
    let addresses: Vec<&str> = body
        .split("href=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert_eq!(addresses.len(), 2, "{addresses:?}");
    for address in addresses {
        let is_plain = address
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"#/-_".contains(&b));
        assert!(
            is_plain && (address.starts_with("#run-") || address.starts_with("blobs/")),
            "{address}"
        );
    }
    assert_eq!(
        body.matches("href=\"blobs/").count(),
        body.matches("download=\"").count()
    );
}

#[test]
fn an_end_is_told_by_word_mark_color_and_group() {
    for (kind, group, color, words) in [
        (ResultKind::Landed, "landed", "good", "✓ landed"),
        (ResultKind::Refused, "refused", "bad", "✗ refused"),
        (ResultKind::Waiting, "waiting", "warn", "? waits"),
        (ResultKind::NotEnded, "other", "warn", "… "),
        (ResultKind::NothingToDo, "other", "plain", "· nothing to do"),
    ] {
        let page = render_page(&facts("shop"), &report("x"), &[run_page(kind, "fix-it")]);
        assert!(
            page.contains(&format!("class=\"run {group} {color}\" id=\"run-fix-it\"")),
            "{page}"
        );
        assert!(
            page.contains(&format!("<span class=\"mark\">{words}")),
            "{words}: {page}"
        );
        assert!(page.contains(&format!("id=\"show-{group}\"")), "{page}");
        for part in [
            "Evidence of shop",
            "exported by shop",
            "on fix-it · by fix-it · 1 file",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
}
