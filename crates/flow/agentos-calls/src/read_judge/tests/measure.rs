//! What it costs to decide the reads of a long session again. The times are printed for people, and no test fails because of one.
//!
//! `AGENTOS_READS=1000 cargo nextest run -p agentos-calls reads_are_decided_again --no-capture`

use super::*;

/// Reads of the usual test.
const READS: usize = 40;
/// Rounds of which the fastest counts: other programs disturb the rest.
const ROUNDS: usize = 9;
/// Reads of one turn.
const OF_TURN: usize = 4;

/// Returns the processor time of this thread in milliseconds. `None` if the system has no such number.
fn processor_time() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: u64 = text.split_whitespace().next()?.parse().ok()?;
    Some(nanoseconds as f64 / 1e6)
}

/// Makes a session of turns that read every file.
fn make_reads(count: usize) -> (ReadFixture, Vec<RepositoryReads>) {
    let mut fixture = ReadFixture::new(&[]);
    let path = |at: usize| match at % 100 {
        7 => format!("private/part{at}.md"),
        _ => format!("src/module{}/file{at}.rs", at % 20),
    };
    for at in 0..count {
        let text: String = (0..60)
            .map(|line| format!("    let value_{line} = compute({at}, {line});\n"))
            .collect();
        fixture.repo.write(&path(at), text);
    }
    fixture.repo.commit_all("Files");
    let port = open_port(&fixture.ground, &SessionOptions::default()).unwrap();
    fixture.reads.commit = port.target().unwrap().base_commit;
    let listed = fixture.repo.git(&["ls-tree", "-r", "HEAD"]);
    let ids: BTreeMap<&str, &str> = listed
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .filter_map(|(about, path)| Some((path, about.rsplit(' ').next()?)))
        .collect();
    let file = |at: usize| FileRead {
        by: "read_file".to_owned(),
        path: path(at),
        lines: Vec::new(),
        commit: None,
        blobs: vec![ids[path(at).as_str()].to_owned()],
        text_hash: String::new(),
        bytes: 2_000,
    };
    let turns = (0..count.div_ceil(OF_TURN)).map(|turn| RepositoryReads {
        files: (turn * OF_TURN..count.min((turn + 1) * OF_TURN))
            .map(file)
            .collect(),
        ..fixture.reads.clone()
    });
    let turns = turns.collect();
    (fixture, turns)
}

#[test]
fn the_reads_of_a_long_session_are_decided_again() {
    // Read when the test is compiled: nothing in this crate but one module reads the environment.
    let count = option_env!("AGENTOS_READS")
        .and_then(|text| text.parse().ok())
        .unwrap_or(READS);
    let (fixture, turns) = make_reads(count);
    let reads: Vec<&RepositoryReads> = turns.iter().collect();
    let other = ModelFacts {
        provider: "other".to_owned(),
        ..near()
    };
    let private = (0..count).filter(|at| at % 100 == 7).count();
    for is_moved in [false, true] {
        if is_moved {
            fixture.repo.write("open.txt", "open again\n");
            fixture.repo.commit_all("Go on");
        }
        let base = if is_moved { "a later base" } else { "the same base" };
        for (what, model, withheld) in [
            ("the same model", near(), 0),
            ("another local model", other.clone(), 0),
            ("a model of a cloud", far(), private),
        ] {
            let judge = |ground: &Ground| {
                let began = processor_time();
                let found = ReadJudge::new(ground, [&model], &[])
                    .list_withheld(&reads)
                    .unwrap();
                let took = began
                    .zip(processor_time())
                    .map_or(f64::NAN, |(began, ended)| ended - began);
                assert_eq!(found.len(), withheld, "{what}");
                took
            };
            let (mut first, mut later) = (f64::INFINITY, f64::INFINITY);
            for _ in 0..ROUNDS {
                // A host of its own knows no answers yet, as in a process that has just been started.
                let ground = Ground::new(fixture.ground.environment().clone());
                first = first.min(judge(&ground));
                later = later.min(judge(&ground));
            }
            println!(
                "{count} reads, {base}, {what}: {first:.2} ms of processor time in the first turn, {later:.2} ms later"
            );
        }
    }
}
