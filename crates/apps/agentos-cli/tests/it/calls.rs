//! The calls by which a program changes a disk, counted and spoiled with `strace`, so that places inside libgit2 are
//! met as well.
//!
//! Owns: finding them and what is done to one of them. Without `strace` there are none, and the tests say so.

use agentos_testkit::cli::{Cli, CliOutput};

/// Everything that makes, changes, renames, removes or syncs a file.
const CHANGING: &str = "write,pwrite64,writev,openat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,symlink,unlink,unlinkat,rmdir,fsync,fdatasync,syncfs,ftruncate,utimensat,chmod,fchmod,flock";

/// One call: the nth of its name in a thread of the program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    pub name: String,
    pub number: u32,
}

/// What happens at a call instead of it.
pub enum Fault {
    /// SIGKILL.
    Killed,
    /// This error, once.
    Fails(&'static str),
    /// This error, from then on.
    KeepsFailing(&'static str),
}

/// Is there a `strace` that may trace here? Said on screen where not.
pub fn can_trace() -> bool {
    let can = Cli::new("strace")
        .unwrap()
        .run(&["-f", "-e", "trace=none", "true"])
        .is_ok_and(|output| output.code == Some(0));
    if !can {
        eprintln!("skipped: there is no `strace`, or it may not trace here");
    }
    can
}

/// The changing calls of a program that runs undisturbed, by name and number.
pub fn calls(tracer: &Cli, program: &[&str], input: &str) -> Vec<Call> {
    let trace = tracer.home().join("calls");
    let file = trace.to_str().unwrap();
    let which = format!("trace={CHANGING}");
    let args = [&["-f", "-o", file, "-e", &which][..], program].concat();
    let output = tracer.run_with_input(&args, input.as_bytes()).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    let text = std::fs::read_to_string(&trace).unwrap();
    changing(&text)
}

/// `strace` counts each name for itself in each thread, and every opening of a file is counted, read or written.
fn changing(trace: &str) -> Vec<Call> {
    let mut seen = std::collections::BTreeMap::<(&str, &str), u32>::new();
    let mut found = std::collections::BTreeSet::new();
    for line in trace.lines() {
        let Some((thread, call)) = line.split_once(' ') else {
            continue;
        };
        let Some((name, args)) = call.trim_start().split_once('(') else {
            continue;
        };
        if !CHANGING.split(',').any(|known| known == name) {
            continue;
        }
        let number = seen.entry((thread, name)).or_default();
        *number += 1;
        if name != "openat" || args.contains("O_CREAT") {
            found.insert(Call {
                name: name.to_owned(),
                number: *number,
            });
        }
    }
    Vec::from_iter(found)
}

/// Runs a program with a fault at one call.
pub fn spoiled(tracer: &Cli, program: &[&str], input: &str, call: &Call, fault: &Fault) -> CliOutput {
    let (name, number) = (&call.name, call.number);
    let fault = match fault {
        Fault::Killed => format!("inject={name}:signal=KILL:when={number}"),
        Fault::Fails(error) => format!("inject={name}:error={error}:when={number}"),
        Fault::KeepsFailing(error) => format!("inject={name}:error={error}:when={number}+"),
    };
    let trace = format!("trace={name}");
    let args = [
        &["-f", "-o", "/dev/null", "-e", &trace, "-e", &fault][..],
        program,
    ]
    .concat();
    tracer.run_with_input(&args, input.as_bytes()).unwrap()
}

#[test]
fn changing_calls_are_counted_by_thread_and_name() {
    let trace = "\
10 openat(AT_FDCWD, \"a\", O_RDONLY) = 3
10 openat(AT_FDCWD, \"b\", O_WRONLY|O_CREAT, 0666) = 3
10 write(3, \"x\", 1)   = 1
11 fsync(4 <unfinished ...>
10 fsync(3)            = 0
11 <... fsync resumed>) = 0
11 fsync(5)            = 0
10 +++ exited with 0 +++
";
    let found: Vec<_> = changing(trace)
        .into_iter()
        .map(|call| (call.name, call.number))
        .collect();
    let expected = [("fsync", 1), ("fsync", 2), ("openat", 2), ("write", 1)];
    assert_eq!(found, expected.map(|(name, number)| (name.to_owned(), number)));
}
