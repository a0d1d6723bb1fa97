//! The gates that need no server over programs with one seeded violation each: exactly the right gate fails.
//!
//! Owns: the violations. Each is the real program behind a few lines of shell that spoil one thing. The normal run asks
//! the gate that must fail, over one program where the gate takes a while; `AGENTOS_MUTANTS_ALL=1` asks every gate of
//! every program, and none but that one may fail.
//! Skipped, saying so, where `agentos` was not built beside the gates.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::live::agentos;
use crate::stand_in::read;

/// A violation: the gate that must find it, the check that must fail, and the shell that does it. `$real` is the program;
/// what the shell lets through is the program's own.
type Mutant = (&'static str, &'static str, &'static str);

const MUTANTS: &[Mutant] = &[
    // A station that is not recorded.
    (
        "tl_r1_end_to_end",
        "TLR1-D",
        r#"case "$1 $2" in "evidence show") "$real" "$@" | grep -v '"kind": "intent"'; exit 0;; esac"#,
    ),
    // An undo in words only.
    (
        "tl_r1_end_to_end",
        "TLR1-H",
        r#"case "$1" in undo) echo '{"outcome":"landed"}'; exit 0;; esac"#,
    ),
    // Another commit than the one that was made.
    (
        "tl_r1_end_to_end",
        "TLR1-B",
        r#"case "$1" in run) out=$("$real" "$@"); code=$?
        printf '%s\n' "$out" | sed 's/"commit": "..../"commit": "0000/'; exit $code;; esac"#,
    ),
    // A diff in name only that is taken for one.
    (
        "tl_r1_negative_diffs",
        "N1-junk",
        r#"case "$1 $2" in "apply -") in=$(cat); case "$in" in *"+++ there"*) exit 0;; esac
        printf '%s\n' "$in" | "$real" "$@"; exit;; esac"#,
    ),
    // A diff for another state that is bent until it fits.
    (
        "tl_r1_negative_diffs",
        "N1-stale",
        r#"case "$1 $2" in "apply -") sed 's/a \* b/a - b/' | "$real" "$@"; exit;; esac"#,
    ),
    // A tool that leaves a file.
    (
        "tl_r1_power_boundary",
        "C1",
        r#"case "$1 $2" in "tool run") touch left.txt;; esac"#,
    ),
    // A tool that commits.
    (
        "tl_r1_power_boundary",
        "C1",
        r#"case "$1 $2" in "tool run") git commit --quiet --allow-empty -m x;; esac"#,
    ),
    // A dry run that is none.
    (
        "tl_r1_power_boundary",
        "C2",
        r#"case "$*" in *" --dry-run"*) exec "$real" apply - --json;; esac"#,
    ),
    // A look that sets a hook.
    (
        "tl_r1_power_boundary",
        "C5",
        r#"case "$1 $2" in "policy check") mkdir -p .git/hooks; touch .git/hooks/post-commit;; esac"#,
    ),
    // Words that are called a diff.
    (
        "okind_n1",
        "OKIND-words",
        r#"case "$1 $2" in "tool run") "$real" "$@" | sed 's/"output_kind": "explanation"/"output_kind": "diff"/'; exit 0;; esac"#,
    ),
    // A failure with the exit code of a success.
    (
        "okind_n1",
        "OKIND-stale",
        r#"case "$1 $2" in "tool run") "$real" "$@"; exit 0;; esac"#,
    ),
    // The health of somebody else.
    (
        "cap_sanity",
        "CAP-lmstudio-health",
        r#"case "$1 $2" in "tool health") "$real" "$@" | sed 's/"provider": "lmstudio"/"provider": "other"/'; exit 5;; esac"#,
    ),
    // A server that is said to be there and is not.
    (
        "cap_sanity",
        "CAP-lmstudio-health",
        r#"case "$1 $2" in "tool health") "$real" "$@" | sed 's/"status": "unreachable"/"status": "connected"/; /error_category/d'; exit 5;; esac"#,
    ),
    // Another provider in place of the one that is down.
    (
        "no_selection",
        "SEL-A",
        r#"case "$1 $3" in "run lmstudio") "$real" "$@" >/dev/null 2>&1; echo '{"outcome":"landed"}'; exit 0;; esac"#,
    ),
    // A provider that nobody named.
    (
        "no_selection",
        "SEL-C",
        r#"case "$1 $2" in "run fix add") exit 0;; esac"#,
    ),
    // A flag that chooses.
    (
        "no_selection",
        "SEL-E",
        r#"case "$1 $2" in "run --help") "$real" "$@"; echo "  --fallback <NAME>"; exit 0;; esac"#,
    ),
    // A pool that cannot choose, so that it proves nothing.
    (
        "no_selection",
        "SEL-F",
        r#"case "$1 $2" in "pool select") exit 2;; esac"#,
    ),
    // The only pool, although nobody named it.
    (
        "no_selection",
        "SEL-G",
        r#"case "$1 $2" in "run fix add") [ -e "$HOME/.config/agentos/profiles/mine.json" ] && exec "$real" run -p mine "fix add";; esac"#,
    ),
    // Another name in place of the placeholder.
    (
        "no_selection",
        "SEL-H",
        r#"case "$1 $2" in "evidence show") "$real" "$@" | sed 's/"local-model"/"loaded-model"/'; exit 0;; esac"#,
    ),
    // Another model than the one that was named.
    (
        "no_selection",
        "SEL-I",
        r#"case "$*" in *"--model qwen3-coder") exec "$real" run -p lmstudio --base-url "$4" "fix add" --model other;; esac"#,
    ),
    // Needs that are ignored.
    (
        "no_selection",
        "SEL-J",
        r#"case "$*" in *--require*) exec "$real" run -p lmstudio --base-url http://127.0.0.1:9 "fix add";; esac"#,
    ),
    // A crash over a value of the wrong type.
    (
        "type_robustness",
        "TYPE-edits-2",
        r#"case "$1 $2" in "apply -") in=$(cat); case "$in" in *"[null]"*) exit 101;; esac
        printf '%s\n' "$in" | "$real" "$@"; exit;; esac"#,
    ),
    // A policy that cannot be read and is passed over.
    (
        "type_robustness",
        "TYPE-policy-0",
        r#"case "$*" in *wrong.toml*) exec "$real" apply - --json;; esac"#,
    ),
    // Consent that lifts a deny.
    (
        "policy_not_widened",
        "WIDE-yes",
        r#"case "$*" in "apply - --json --yes") "$real" "$@"; exit 0;; esac"#,
    ),
    // A policy that is in force before it is committed.
    (
        "policy_not_widened",
        "WIDE-dirty",
        r#"[ -e .agentos/policy/more.toml ] && exit 0"#,
    ),
    // The user's policy in place of the repository's.
    (
        "policy_not_widened",
        "WIDE-user",
        r#"[ -e "$HOME/.config/agentos/policy/mine.toml" ] && exit 0"#,
    ),
    // A class of hostile answers that goes through.
    (
        "hostile_inputs",
        "HOSTILE-device",
        r#"case "$1 $2" in "apply -") in=$(cat); case "$in" in *src/nul.txt*) exit 0;; esac
        printf '%s\n' "$in" | "$real" "$@"; exit;; esac"#,
    ),
    // A harmless answer that does not.
    (
        "hostile_inputs",
        "BENIGN-dots",
        r#"case "$1 $2" in "apply -") in=$(cat); case "$in" in *..notes*) exit 6;; esac
        printf '%s\n' "$in" | "$real" "$@"; exit;; esac"#,
    ),
    // A verifier that does not look into blobs.
    (
        "evidence_tampering",
        "TAMPER-blob-0",
        r#"case "$1 $2" in "evidence verify") out=$("$real" "$@"); code=$?; printf '%s\n' "$out"
        case "$out" in *'"blob-'*) exit 0;; esac; exit $code;; esac"#,
    ),
    // A verifier that does not look at commits.
    (
        "evidence_tampering",
        "TAMPER-trailer",
        r#"case "$1 $2" in "evidence verify") out=$("$real" "$@"); code=$?; printf '%s\n' "$out"
        case "$out" in *'commit-'*|*'-commit'*) exit 0;; esac; exit $code;; esac"#,
    ),
    // A key on a stream.
    (
        "secrets_canary",
        "CANARY-key",
        r#"case "$1 $2" in "tool health") echo "with $AGENTOS_OPENAI_API_KEY" >&2;; esac"#,
    ),
    // A key in a file.
    (
        "secrets_canary",
        "CANARY-key",
        r#"case "$1 $2" in "tool run") echo "$OPENAI_API_KEY" > "$HOME/.cache";; esac"#,
    ),
    // An address with its password.
    (
        "secrets_canary",
        "CANARY-password",
        r#"case "$*" in *"@gate.invalid"*) echo "$*" >&2;; esac"#,
    ),
    // A landing in two halves.
    (
        "kill_points",
        "KILL-whole",
        r#"case "$1 $2" in "apply -") ;; "apply "*) sed -i 's/a - b/a + b/' src/lib.rs; sleep 1
        git checkout --quiet src/lib.rs;; esac"#,
    ),
];

const GATES: &[&str] = &[
    "tl_r1_end_to_end",
    "tl_r1_negative_diffs",
    "tl_r1_power_boundary",
    "okind_n1",
    "cap_sanity",
    "no_selection",
    "type_robustness",
    "policy_not_widened",
    "hostile_inputs",
    "evidence_tampering",
    "secrets_canary",
    "kill_points",
];

/// The program behind the shell that spoils it.
fn spoiled(real: &Path, shell: &str, folder: &TempDir) -> PathBuf {
    let program = folder.path().join("agentos");
    let script = format!(
        "#!/bin/sh\nreal='{}'\n{shell}\nexec \"$real\" \"$@\"\n",
        real.display()
    );
    agentos_testkit::repo::write_file(&program, script);
    agentos_testkit::repo::set_mode(&program, 0o755);
    program
}

/// The ids of the checks that failed.
fn failed(gate: &str, agentos: &Path) -> Vec<String> {
    let out = TempDir::new().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_gate"))
        .arg(gate)
        .arg("--agentos")
        .arg(agentos)
        .arg("--out")
        .arg(out.path())
        .output()
        .unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{gate}: {output:?}");
    let verdict = read(&out.path().join("reports/gate_results.json"));
    agentos_schema::validate_value(agentos_schema::SchemaName::GateResults, &verdict).unwrap();
    let checks = verdict["checks"].as_array().unwrap();
    let failed = checks.iter().filter(|check| check["status"] == "failed");
    let id = |check: &Value| check["id"].as_str().unwrap().to_owned();
    failed.map(id).collect()
}

fn all() -> bool {
    std::env::var_os("AGENTOS_MUTANTS_ALL").is_some()
}

/// The gates that take a while: in the normal run each is given one program only.
const LONG: &[&str] = &["hostile_inputs", "evidence_tampering", "policy_not_widened"];

/// The mutants of some gates. All that is wrong is told at once: to ask every gate of every program takes long.
fn judged(gates: &[&str]) {
    let Some(real) = agentos() else { return };
    let mut taken: Vec<&str> = Vec::new();
    let mut wrong: Vec<String> = Vec::new();
    for (gate, id, shell) in MUTANTS.iter().filter(|(gate, ..)| gates.contains(gate)) {
        if LONG.contains(gate) && taken.contains(gate) && !all() {
            continue;
        }
        taken.push(gate);
        let folder = TempDir::new().unwrap();
        let agentos = spoiled(&real, shell, &folder);
        let found = failed(gate, &agentos);
        if !found.contains(&(*id).to_owned()) {
            wrong.push(format!("{gate} does not find {id}: {found:?}"));
        }
        for other in GATES.iter().filter(|other| *other != gate && all()) {
            let found = failed(other, &agentos);
            if !found.is_empty() {
                wrong.push(format!("{other} fails over {gate} {id}: {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_wrong_on_the_way_of_a_change_is_found() {
    judged(&["tl_r1_end_to_end", "tl_r1_negative_diffs", "tl_r1_power_boundary"]);
}

#[test]
fn what_a_tool_claims_wrongly_is_found() {
    judged(&["okind_n1", "cap_sanity", "no_selection"]);
}

#[test]
fn what_is_taken_and_should_not_be_is_found() {
    judged(&["type_robustness", "policy_not_widened", "hostile_inputs"]);
}

#[test]
fn evidence_that_proves_nothing_is_found() {
    judged(&["evidence_tampering"]);
}

#[test]
fn secrets_that_leave_are_found() {
    judged(&["secrets_canary"]);
}

#[test]
fn a_landing_in_two_halves_is_found() {
    judged(&["kill_points"]);
}

#[test]
fn there_are_mutants_of_every_gate() {
    assert!(MUTANTS.len() >= 20, "{}", MUTANTS.len());
    for gate in GATES {
        assert!(MUTANTS.iter().any(|(of, ..)| of == gate), "{gate}");
    }
    let own = ["boundary", "rogue"];
    let mut listed = agentos_verdict::load_gates().unwrap();
    listed.retain(|gate| gate.provider.is_none() && !own.contains(&gate.name.as_str()));
    let listed: Vec<&str> = listed.iter().map(|gate| gate.name.as_str()).collect();
    assert_eq!(listed, GATES);
}
