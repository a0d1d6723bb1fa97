//! Killed at any call by which it changes the disk, a landing is wholly made or wholly not.
//!
//! Owns: SIGKILL at system calls, our own and libgit2's. The normal run takes a sample; `AGENTOS_KILL_ALL=1` takes
//! every call. Each state that is left must be a row of the executor's table, and recovery must do what that row says.

use agentos_testkit::cli::CliOutput;

use crate::calls::{self, Fault};
use crate::kill::{Kind, Place, every, everything};
use crate::kill_states::{Contents, CrashTable, WatchedLanding};

/// In the normal run: every so many calls.
const SAMPLE: usize = 40;

#[test]
fn killed_at_any_call_a_landing_is_wholly_made_or_wholly_not() {
    if !calls::can_trace() {
        return;
    }
    let (mut killed, mut all) = (0, 0);
    for (kind, target) in [
        (Kind::Normal, &[][..]),
        (Kind::Linked, &["--no-commit"]),
        (Kind::Bare, &["--branch", "main"]),
    ] {
        let (some, there) = kill(kind, target);
        killed += some;
        all += there;
    }
    let sample = if every() {
        ""
    } else {
        ", a sample; AGENTOS_KILL_ALL=1 takes every one"
    };
    eprintln!("killed at {killed} of {all} calls{sample}");
    assert!(if every() { killed >= 200 } else { killed >= 5 }, "{killed}");
}

fn kill(kind: Kind, target: &[&str]) -> (usize, usize) {
    let agentos = env!("CARGO_BIN_EXE_agentos");
    let program = [&[agentos, "apply", "-", "--yes"][..], target].concat();
    let mut place = Place::new(kind);
    let before = place.state();
    let found = calls::calls(&place.tracer(), &program, &everything());
    let after = place.state();
    assert_ne!(before, after);
    place = Place::new(kind);
    let mut table = CrashTable::read();
    let (mut killed, mut fresh) = (0, true);
    for (at, call) in found.iter().enumerate() {
        if !every() && at % SAMPLE != SAMPLE / 2 {
            continue;
        }
        if !fresh {
            place = Place::new(kind);
        }
        let landing = WatchedLanding::new(&place, target, &before, &after);
        let output = calls::spoiled(&place.tracer(), &program, &everything(), call, &Fault::Killed);
        let what = format!("{kind:?} {target:?} at {call:?}");
        // Which thread syncs what is not the same each time: a call may not come.
        killed += usize::from(output.code.is_none());
        assert!(matches!(output.code, None | Some(0)), "{what}: {output}");
        fresh = !recover(&place, &landing, (&before, &after), &mut table, &what);
    }
    (killed, found.len())
}

/// Has what is left of a landing recovered, and checks it by the table; returns whether the change is made.
fn recover(
    place: &Place,
    landing: &WatchedLanding<'_>,
    (before, after): (&Contents, &Contents),
    table: &mut CrashTable,
    what: &str,
) -> bool {
    let left = landing.observe(place);
    let recovered = place.run(&["recover", "--json"], "", 0);
    assert_eq!(recovered.code, Some(0), "{what}: {recovered}");
    let is_made = table.check_recovery(&left, &recovered, what);
    let state = place.state();
    let wanted = if is_made { after } else { before };
    assert!(state == *wanted, "{what}: {left:?} {recovered}\n{state:#?}");
    place.assert_sound(what);
    is_made
}

/// Runs a landing where names cannot be exchanged (renameat2(2), `EINVAL`), killed at a call if one is given.
fn land_without_exchange(place: &Place, killed: Option<(&str, u32)>) -> CliOutput {
    let kill = killed.map(|(name, number)| format!("inject={name}:signal=KILL:when={number}"));
    let mut args = vec!["-f", "-o", "/dev/null", "-e", "trace=renameat2,linkat,unlink"];
    args.extend(["-e", "inject=renameat2:error=EINVAL"]);
    args.extend(kill.iter().flat_map(|kill| ["-e", kill]));
    args.extend([env!("CARGO_BIN_EXE_agentos"), "apply", "-", "--yes"]);
    place
        .tracer()
        .run_with_input(&args, everything().as_bytes())
        .unwrap()
}

#[test]
fn without_an_exchange_of_names_a_landing_is_wholly_made_or_wholly_not() {
    if !calls::can_trace() {
        return;
    }
    let mut place = Place::new(Kind::Normal);
    let before = place.state();
    let landed = land_without_exchange(&place, None);
    assert_eq!(landed.code, Some(0), "{landed}");
    let after = place.state();
    place.assert_sound("not killed");
    let mut table = CrashTable::read();
    let mut killed = 0;
    for name in ["linkat", "unlink"] {
        for number in (1..40).filter(|number| every() || number % 6 == 1) {
            place = Place::new(Kind::Normal);
            let what = format!("{name} {number}");
            let landing = WatchedLanding::new(&place, &[], &before, &after);
            if land_without_exchange(&place, Some((name, number))).code.is_some() {
                break;
            }
            killed += 1;
            recover(&place, &landing, (&before, &after), &mut table, &what);
        }
    }
    eprintln!("killed at {killed} calls");
    assert!(killed > 2, "{killed}");
}
