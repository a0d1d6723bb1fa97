//! Who gets the key to the executor.

use agentos_policy::{ApprovalHashes, BoundTo, Consent, LandingTarget, NotApproved, approve};
use agentos_tool::Timestamp;

use crate::support::*;

const BASE: &str = "1111111111111111111111111111111111111111";
const REF: &str = "refs/heads/main";
const WRITES: &str = "commit-and-work-tree";
const PLACE: LandingTarget<'_> = LandingTarget {
    base_commit: BASE,
    target_ref: REF,
    writes: WRITES,
};

fn consent(hashes: ApprovalHashes) -> Consent {
    Consent {
        who: "A Person <person@example.org>".to_owned(),
        when: Timestamp::from_unix_seconds(0),
        how: "terminal".to_owned(),
        hashes,
        proof: None,
        releases_withheld: false,
    }
}

fn needed(set: &PolicySet, edit: &Change) -> ApprovalHashes {
    match approve(edit.clone(), &set.judge(edit, &local()), &PLACE, None) {
        Err(NotApproved::ConsentNeeded(hashes)) => hashes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_allowed_change_is_approved_and_bound() {
    let set = PolicySet::builtin().unwrap();
    let edit = modify("src/a.rs");
    let approved = approve(edit.clone(), &set.judge(&edit, &local()), &PLACE, None).unwrap();
    assert_eq!(approved.value(), &edit);
    let (value, hashes) = approved.into_parts();
    assert_eq!(value, edit);
    assert_eq!(
        hashes,
        ApprovalHashes {
            diff_sha256: edit.sha256().to_owned(),
            base_commit: BASE.to_owned(),
            policy_sha256: set.sha256().to_owned(),
            target_ref: REF.to_owned(),
            writes: WRITES.to_owned(),
        }
    );
}

#[test]
fn a_consent_opens_exactly_what_it_was_given_for() {
    let set = PolicySet::builtin().unwrap();
    let edit = modify("Cargo.toml");
    let decision = set.judge(&edit, &local());
    let hashes = needed(&set, &edit);
    assert!(approve(edit.clone(), &decision, &PLACE, Some(&consent(hashes.clone()))).is_ok());
    // One byte, at each end and in the middle, of each of what it is bound to.
    let flipped = |text: &str| {
        [0, text.len() / 2, text.len() - 1].map(|at| {
            let mut bytes = text.as_bytes().to_vec();
            bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
            String::from_utf8(bytes).unwrap()
        })
    };
    type Field = fn(&mut ApprovalHashes) -> &mut String;
    let fields: [(BoundTo, Field); 5] = [
        (BoundTo::Diff, |hashes| &mut hashes.diff_sha256),
        (BoundTo::BaseCommit, |hashes| &mut hashes.base_commit),
        (BoundTo::Policy, |hashes| &mut hashes.policy_sha256),
        (BoundTo::TargetRef, |hashes| &mut hashes.target_ref),
        (BoundTo::Writes, |hashes| &mut hashes.writes),
    ];
    for (expected, field) in fields {
        for other in flipped(field(&mut hashes.clone())) {
            let mut changed = hashes.clone();
            *field(&mut changed) = other;
            match approve(edit.clone(), &decision, &PLACE, Some(&consent(changed))) {
                Err(NotApproved::ConsentVoid { bound_to, .. }) => assert_eq!(bound_to, expected),
                other => panic!("{expected}: {other:?}"),
            }
        }
    }
}

#[test]
fn no_consent_overrides_a_deny() {
    let set = with("[[rule]]\nid = \"r\"\neffect = \"deny\"\nwhy = \"w\"\npaths = [\"Cargo.toml\"]\n");
    let edit = modify("Cargo.toml");
    let hashes = ApprovalHashes {
        diff_sha256: edit.sha256().to_owned(),
        base_commit: BASE.to_owned(),
        policy_sha256: set.sha256().to_owned(),
        target_ref: REF.to_owned(),
        writes: WRITES.to_owned(),
    };
    let outcome = approve(
        edit.clone(),
        &set.judge(&edit, &local()),
        &PLACE,
        Some(&consent(hashes)),
    );
    assert_eq!(outcome.unwrap_err(), NotApproved::Denied);
}

#[test]
fn a_decision_approves_no_other_change() {
    let set = PolicySet::builtin().unwrap();
    let decision = set.judge(&modify("src/a.rs"), &local());
    let other = approve(modify("Cargo.toml"), &decision, &PLACE, None);
    assert_eq!(other.unwrap_err(), NotApproved::OtherChange);
    let read = set.decide_read("src/a.rs", b"", &local());
    let by_read = approve(modify("src/a.rs"), &read, &PLACE, None);
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
