//! Who gets the key to the executor.

use agentos_policy::{BoundTo, Consent, Hashes, NotApproved, approve};
use agentos_tool::Timestamp;

use crate::support::*;

const BASE: &str = "1111111111111111111111111111111111111111";
const REF: &str = "refs/heads/main";

fn consent(hashes: Hashes) -> Consent {
    Consent {
        who: "A Person <person@example.org>".to_owned(),
        when: Timestamp::from_unix_seconds(0),
        how: "terminal".to_owned(),
        hashes,
    }
}

fn needed(set: &PolicySet, edit: &Change) -> Hashes {
    match approve(edit.clone(), &set.decide(edit, &local()), BASE, REF, None) {
        Err(NotApproved::ConsentNeeded(hashes)) => hashes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_allowed_change_is_approved_and_bound() {
    let set = PolicySet::builtin().unwrap();
    let edit = modify("src/a.rs");
    let approved = approve(edit.clone(), &set.decide(&edit, &local()), BASE, REF, None).unwrap();
    assert_eq!(approved.value(), &edit);
    let (value, hashes) = approved.into_parts();
    assert_eq!(value, edit);
    assert_eq!(
        hashes,
        Hashes {
            diff_sha256: edit.sha256().to_owned(),
            base_commit: BASE.to_owned(),
            policy_sha256: set.sha256().to_owned(),
            target_ref: REF.to_owned(),
        }
    );
}

#[test]
fn a_consent_opens_exactly_what_it_was_given_for() {
    let set = PolicySet::builtin().unwrap();
    let edit = modify("Cargo.toml");
    let decision = set.decide(&edit, &local());
    let hashes = needed(&set, &edit);
    assert!(approve(edit.clone(), &decision, BASE, REF, Some(&consent(hashes.clone()))).is_ok());
    let flip = |text: &str| format!("x{}", text.get(1..).unwrap());
    let others = [
        (
            BoundTo::Diff,
            Hashes {
                diff_sha256: flip(&hashes.diff_sha256),
                ..hashes.clone()
            },
        ),
        (
            BoundTo::BaseCommit,
            Hashes {
                base_commit: flip(&hashes.base_commit),
                ..hashes.clone()
            },
        ),
        (
            BoundTo::Policy,
            Hashes {
                policy_sha256: flip(&hashes.policy_sha256),
                ..hashes.clone()
            },
        ),
        (
            BoundTo::TargetRef,
            Hashes {
                target_ref: flip(&hashes.target_ref),
                ..hashes.clone()
            },
        ),
    ];
    for (expected, other) in others {
        match approve(edit.clone(), &decision, BASE, REF, Some(&consent(other))) {
            Err(NotApproved::ConsentVoid { bound_to, .. }) => assert_eq!(bound_to, expected),
            other => panic!("{expected}: {other:?}"),
        }
    }
}

#[test]
fn no_consent_overrides_a_deny() {
    let set = with("[[rule]]\nid = \"r\"\neffect = \"deny\"\nwhy = \"w\"\npaths = [\"Cargo.toml\"]\n");
    let edit = modify("Cargo.toml");
    let hashes = Hashes {
        diff_sha256: edit.sha256().to_owned(),
        base_commit: BASE.to_owned(),
        policy_sha256: set.sha256().to_owned(),
        target_ref: REF.to_owned(),
    };
    let outcome = approve(
        edit.clone(),
        &set.decide(&edit, &local()),
        BASE,
        REF,
        Some(&consent(hashes)),
    );
    assert_eq!(outcome.unwrap_err(), NotApproved::Denied);
}

#[test]
fn a_decision_approves_no_other_change() {
    let set = PolicySet::builtin().unwrap();
    let decision = set.decide(&modify("src/a.rs"), &local());
    let other = approve(modify("Cargo.toml"), &decision, BASE, REF, None);
    assert_eq!(other.unwrap_err(), NotApproved::OtherChange);
    let read = set.decide_read("src/a.rs", &local());
    let by_read = approve(modify("src/a.rs"), &read, BASE, REF, None);
    assert_eq!(by_read.unwrap_err(), NotApproved::OtherChange);
}

#[test]
fn another_policy_is_another_hash_and_order_is_not() {
    let a = source(Layer::Repository, "a.toml", "version = 1\n");
    let b = source(Layer::User, "b.toml", "version = 1\n# note\n");
    let sha = |sources: &[PolicySource]| PolicySet::load(sources).unwrap().sha256().to_owned();
    assert_eq!(sha(&[a.clone(), b.clone()]), sha(&[b.clone(), a.clone()]));
    assert_ne!(sha(std::slice::from_ref(&a)), sha(&[a, b]));
}
