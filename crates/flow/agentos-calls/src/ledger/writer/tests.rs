//! Groups of turns on a real tape.

use agentos_evidence::VerifyChecks;
use agentos_ledger::{TurnEnd, TurnSource};
use agentos_testkit::repo::write_file;

use super::*;
use agentos_ground::clock::new_run;
use agentos_ground::environment::Environment;

fn host_in(home: &std::path::Path) -> Ground {
    let vars = [("HOME".to_owned(), home.display().to_string())];
    Ground::new(Environment::new(vars, home.to_owned()))
}

fn record() -> TurnRecord {
    TurnRecord {
        session: None,
        caller: None,
        source: TurnSource::Message,
        repository: None,
        runs: Vec::new(),
        reads: Vec::new(),
        messages: Vec::new(),
        choice: None,
        discarded: Vec::new(),
        calls: Vec::new(),
        end: TurnEnd::Answered,
    }
}

#[test]
fn turns_of_many_threads_are_each_on_the_tape_with_their_end() {
    let home = tempfile::tempdir().unwrap();
    let ground = host_in(home.path());
    let writer = LedgerWriter::start(&ground).unwrap();
    let send = || {
        let sent: Vec<_> = (0..25)
            .map(|_| {
                let turn = new_run();
                let result = writer.send_turn(&turn, record());
                (turn, result)
            })
            .collect();
        let written = sent.into_iter().map(|(turn, result)| {
            result.blocking_recv().unwrap().unwrap();
            turn.to_string()
        });
        written.collect::<Vec<String>>()
    };
    let mut turns: Vec<String> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(send)).collect();
        let turns = threads.into_iter().map(|thread| thread.join().unwrap());
        turns.flatten().collect()
    });
    // One that nobody waits for is written before the thread ends.
    let unheard = new_run();
    drop(writer.send_turn(&unheard, record()));
    turns.push(unheard.to_string());
    drop(writer);
    let tape = Ledger::open(&ground).unwrap();
    let kinds_of = |turn: &str| {
        let records = tape.tape().run(turn).unwrap();
        records.into_iter().map(|record| record.kind).collect::<Vec<_>>()
    };
    for turn in &turns {
        assert_eq!(
            kinds_of(turn).len(),
            2,
            "a turn and its end: {:?}",
            kinds_of(turn)
        );
    }
    let report = tape.tape().verify(&VerifyChecks::default()).unwrap();
    assert!(report.findings.is_empty(), "{report:?}");
}

#[test]
fn each_turn_of_a_group_hears_that_it_is_not_durable() {
    let home = tempfile::tempdir().unwrap();
    let ground = host_in(home.path());
    let writer = LedgerWriter::start(&ground).unwrap();
    let folder = home.path().join(".local/state/agentos/ledger");
    // In the place of the tape is a folder now, in which nothing can be written.
    write_file(&folder.join("tape.jsonl/x"), "");
    let sent: Vec<_> = (0..3).map(|_| writer.send_turn(&new_run(), record())).collect();
    for result in sent {
        assert!(result.blocking_recv().unwrap().is_err());
    }
}
