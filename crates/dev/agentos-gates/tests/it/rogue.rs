//! The rogue gate's own test: the product with its sandbox switched off fails, attempt by attempt.
//!
//! Owns: the helper that confines nothing and says it does. A debug build takes it from `AGENTOS_TEST_HELPER`; a release
//! build has no such variable. Skipped, saying so, where `agentos` was not built beside the gates.

use std::collections::BTreeSet;
use std::path::Path;

use agentos_testkit::cli::Cli;
use agentos_testkit::repo::{set_mode, write_file};
use serde_json::Value;

use crate::live::agentos;

/// Stands where the sandbox's own helper does: reads the order, claims every layer, makes a plain copy of what it is to
/// show and starts the program in it as an ordinary user, with nothing around it. What would harm the machine is not
/// started. A run that forges the report is started before the report is written, and inherits the record of refused calls. Every
/// other program than the rogue ends with this helper, and its processes end with it.
const UNCONFINED: &str = r#"#!/usr/bin/python3
import ctypes, json, os, shutil, signal, socket, subprocess, sys, tempfile, time
os.setsid()
length = int(os.read(0, 8))
text = b""
while len(text) < length:
    text += os.read(0, length - len(text))
order = json.loads(text)
layers = ["mount-namespace", "pid-namespace", "network-namespace", "ipc-namespace", "landlock", "seccomp",
          "no-new-privileges", "unprivileged", "limits"]
report = json.dumps({"confined": {"layers": layers, "landlock_abi": 7}}) + "\n"
mode = order["args"][-1] if order["args"] else ""
forges = mode.startswith("report-")
if not forges:
    os.write(1, report.encode())
# Of the rogue only what ends by itself and touches its own places alone.
if order["program"] is None or "rogue.py" in order["args"] and mode != "rogue.json" and not forges:
    sys.exit()
if not forges:
    # The confirmation of the report.
    os.read(0, 1)
record = socket.socket(socket.AF_UNIX)
if order["refusals"]:
    os.chdir(os.path.dirname(order["refusals"]))
    record.connect(os.path.basename(order["refusals"]))
copy = tempfile.mkdtemp()
os.chmod(copy, 0o777)
# A toolbox and the adapter of the model that calls it have no copy.
show = order["overlays"][0] if order["overlays"] else {"lower": copy, "upper": copy}
for folder in order["overlays"] and (show["lower"], show["upper"]):
    shutil.copytree(folder, copy, symlinks=True, dirs_exist_ok=True)
# What is shown inside the copy, such as the folder of hooks.
inside = [(view["lower"], view["at"]) for view in order["overlays"][1:]] + [(share["from"], share["at"]) for share in order["shares"]]
for folder, at in inside:
    if at.startswith(show.get("at", "-") + "/"):
        shutil.copytree(folder, copy + at[len(show["at"]):], symlinks=True, dirs_exist_ok=True)
subprocess.run(["chmod", "-R", "a+rwX", copy], check=True)
plain = {"user": 65533, "group": 65533, "extra_groups": []} if os.geteuid() == 0 else {}
parent = open(f"/proc/{os.getppid()}/environ").read().split("\0")
inherited = dict(variable.split("=", 1) for variable in parent if "=" in variable)
# The program of a built-in adapter is the product itself, in whose place this stands.
is_adapter = "__tool" in order["args"]
program = os.readlink(f"/proc/{os.getppid()}/exe") if is_adapter else order["program"]
attempts = [word for word in order["args"] if word.endswith(("rogue.py", "toolbox.py"))]
if not attempts and not is_adapter:
    plain["start_new_session"] = True
    # PR_SET_PDEATHSIG, after the change of the user, which clears it.
    plain["preexec_fn"] = lambda: ctypes.CDLL(None).prctl(1, signal.SIGKILL)
started = subprocess.Popen([program, *order["args"]], env=inherited, cwd=copy, pass_fds=[record.fileno()] * forges, **plain)
if forges:
    time.sleep(1)
    os.write(1, report.encode())
code = started.wait()
if "start_new_session" in plain:
    try:
        os.killpg(started.pid, signal.SIGKILL)
    except OSError:
        pass
# Nothing is refused here, so the record is that of the one call that the sandbox refuses to each of these runs.
if order["refusals"]:
    record.sendall(b"heard\n1 bpf\ncomplete\n")
record.close()
for name in order["overlays"] and os.listdir(copy):
    new = os.path.join(copy, name)
    if os.path.isfile(new) and not os.path.exists(os.path.join(show["lower"], name)):
        shutil.copy(new, show["upper"])
shutil.rmtree(copy, ignore_errors=True)
sys.exit(code if code >= 0 else 128 - code)
"#;

fn verdict(agentos: &Path, helper: &Path, out: &Path) -> (Option<i32>, Value) {
    let gate = Cli::new(env!("CARGO_BIN_EXE_gate")).unwrap();
    let gate = gate.env("AGENTOS_TEST_HELPER", helper);
    let (agentos, place) = (agentos.display().to_string(), out.display().to_string());
    let output = gate
        .run(&["rogue", "--agentos", &agentos, "--out", &place])
        .unwrap();
    let results = std::fs::read_to_string(out.join("reports/gate_results.json")).unwrap_or_else(|_| {
        panic!("no verdict: {} {}", output.stdout, output.stderr);
    });
    (output.code, serde_json::from_str(&results).unwrap())
}

/// The checks that ended so, by id.
fn ids<'a>(verdict: &'a Value, status: &str) -> Vec<&'a str> {
    let checks = verdict["checks"].as_array().unwrap();
    let found = checks.iter().filter(|check| check["status"] == status);
    found.map(|check| check["id"].as_str().unwrap()).collect()
}

/// The ids of the runs that forge a report and that must change it without a sandbox.
fn forged_reports() -> Vec<String> {
    let table: toml::Table = include_str!("../../../../../scripts/rogue/runs.toml")
        .parse()
        .unwrap();
    let groups = table["group"].as_array().unwrap().iter();
    let runs = groups.flat_map(|group| group["runs"].as_array().unwrap());
    let must = runs.filter(|run| run.get("recorded").is_some() && run.get("needs").is_none());
    must.map(|run| run["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn without_a_sandbox_the_suite_fails_attempt_by_attempt() {
    let Some(agentos) = agentos() else { return };
    let folder = tempfile::tempdir().unwrap();
    // The ordinary user that root starts the product as must reach the helper.
    set_mode(folder.path(), 0o755);
    let helper = folder.path().join("helper");
    write_file(&helper, UNCONFINED);
    set_mode(&helper, 0o755);
    let out = folder.path().join("out");
    let (code, verdict) = verdict(&agentos, &helper, &out);
    if verdict["counts"]["failed"] == 0 {
        println!("skipped: {}", verdict["checks"][0]["details"]);
        return;
    }
    assert_eq!((code, verdict["status"].as_str()), (Some(1), Some("failed")));
    let tape = std::fs::read_to_string(out.join("audit/run_tape.jsonl")).unwrap();
    let attempts: Vec<Value> = tape
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|record| record["kind"] == "attempt")
        .map(|record| record["body"].clone())
        .collect();
    let failed = ids(&verdict, "failed");
    let halves: BTreeSet<&str> = attempts
        .iter()
        .map(|attempt| attempt["half"].as_str().unwrap())
        .collect();
    assert!(!halves.is_empty());
    for half in halves {
        for check in verdict["checks"].as_array().unwrap() {
            let id = check["id"].as_str().unwrap();
            if id.starts_with(&format!("ROGUE-{half}/scene-")) {
                println!("{id}: {}", check["details"]);
            }
        }
        for (is_toolbox, least) in [(false, 200), (true, 100)] {
            let alone = |attempt: &&Value| {
                let place = (&attempt["half"], &attempt["verdict"]["scene"]);
                place == (&half.into(), &"alone".into()) && (attempt["toolbox"] == true) == is_toolbox
            };
            let made: Vec<&Value> = attempts
                .iter()
                .filter(alone)
                .map(|attempt| &attempt["verdict"])
                .collect();
            let is_made = |verdict: &&Value| verdict["said"] != "the attempt was not made";
            // A half whose scene cannot be played without a sandbox fails as a whole, which is seen below.
            let counts_unmade = !made.iter().any(is_made);
            let works =
                |verdict: &&&Value| verdict["succeeded"] == true && (counts_unmade || is_made(verdict));
            let worked = made.iter().filter(works).count();
            println!(
                "{half}, toolbox {is_toolbox}: {worked} of {} attempts work without a sandbox",
                made.len()
            );
            // Whatever an ordinary user may do unconfined works, and is found; every other row says why it may not.
            let cannot = |verdict: &&&Value| verdict["needs"].is_null() && verdict["succeeded"] == false;
            let silent: Vec<String> = made
                .iter()
                .filter(cannot)
                .map(|verdict| format!("{}: {}", verdict["attempt"], verdict["said"]))
                .collect();
            // Some things can be reached only once, such as a message in a queue, and the first scene had them.
            assert!(is_toolbox || silent.is_empty(), "{half}: never work: {silent:#?}");
            assert!(worked >= least, "{half}: only {worked} work");
        }
        // Each source of names shows a secret to each program.
        let widened: Vec<&Value> = attempts
            .iter()
            .filter(|attempt| {
                (&attempt["half"], &attempt["verdict"]["scene"]) == (&half.into(), &"widening".into())
            })
            .map(|attempt| &attempt["verdict"])
            .collect();
        let unread: Vec<&Value> = widened
            .iter()
            .copied()
            .filter(|verdict| {
                verdict["needs"].is_null() && verdict["said"] != "a file of the user's was read"
            })
            .collect();
        println!(
            "{half}: {} of {} sources of names work without a sandbox",
            widened.len() - unread.len(),
            widened.len()
        );
        assert!(widened.len() >= 150 && unread.is_empty(), "{half}: {unread:#?}");
        // And each way to forge a report changes it, unless the row says why it may not.
        let unchanged: Vec<String> = forged_reports()
            .into_iter()
            .map(|id| format!("ROGUE-{half}/{id}"))
            .filter(|id| !failed.contains(&id.as_str()))
            .collect();
        assert!(unchanged.is_empty(), "{half}: {unchanged:?}");
        // And what the rogue did is seen from outside, whatever it says.
        for seen in ["repository", "outside", "silence", "nothing-left-outside"] {
            assert!(
                failed.contains(&format!("ROGUE-{half}/{seen}").as_str()),
                "{half}/{seen}: {failed:?}"
            );
        }
    }
}
