//! Facts of a run's records that its signed statements repeat.
//!
//! Owns: taking those facts from bodies, and building the statements. Never: repeats content; a statement holds digests
//! instead.
//!
//! | predicate | states |
//! |---|---|
//! | SLSA provenance v1 | that an answer became a commit |
//! | verification summary (VSA v1) | that policy allowed it |
//! | `urn:agentos:checkpoint:1` | the last record of the tape at a run's end |
//! | `urn:agentos:decision:1` | a decision with three values, and a person's consent |
//!
//! The last two are our own, since no published predicate can state these facts.

use agentos_chain::parse_hash;
use serde_json::{Value, json};

use crate::checkpoint::RunStatements;
use crate::dsse::STATEMENT_TYPE;
use crate::runs::fact_of;
use crate::{RecordKind, RecordRef};

/// Predicate type of a run's end.
pub(crate) const CHECKPOINT: &str = "urn:agentos:checkpoint:1";
/// Predicate type of a decision.
pub(crate) const DECISION: &str = "urn:agentos:decision:1";
const PROVENANCE: &str = "https://slsa.dev/provenance/v1";
const SUMMARY: &str = "https://slsa.dev/verification_summary/v1";
const BUILD_TYPE: &str = "urn:agentos:land:1";
const EXECUTOR: &str = "urn:agentos:executor:1";
const POLICY: &str = "urn:agentos:policy:1";

/// Facts of one run, collected record by record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFacts {
    began: Option<String>,
    verb: Option<String>,
    provider: Option<String>,
    model: Option<String>,
    refname: Option<String>,
    base: Option<String>,
    policy: Option<String>,
    answer: Option<String>,
    diff: Option<String>,
    decided: Option<String>,
    effect: Option<String>,
    rules: Vec<String>,
    consent: Option<(bool, Option<String>)>,
    /// Commit that the run made. `None` if it made none.
    pub(crate) commit: Option<String>,
    tree: Option<String>,
    code: Option<String>,
    end: Option<String>,
}

impl RunFacts {
    /// Adds the facts of one record. The body may be passed before or after secrets were removed from it.
    pub fn add_record(&mut self, kind: RecordKind, body: &Value, ts: &str) {
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        match kind {
            RecordKind::Task => {
                self.began = Some(ts.to_owned());
                self.verb = text("/verb");
                self.provider = text("/provider");
                self.model = text("/model");
                self.refname = text("/target/refname");
                self.policy = text("/policy_sha256");
            }
            RecordKind::Answer => self.answer = text("/answer_sha256"),
            RecordKind::Landing => {
                self.base = text("/base_commit");
                self.diff = text("/diff_sha256");
            }
            RecordKind::Decision => {
                self.decided = Some(ts.to_owned());
                self.effect = text("/decision/effect");
                self.rules = deciding_rules(body, self.effect.as_deref());
            }
            RecordKind::Consent => {
                let given = body.pointer("/given").and_then(Value::as_bool) == Some(true);
                self.consent = Some((given, text("/consent/who")));
            }
            RecordKind::Receipt => {
                self.commit = fact_of(body, "commit");
                self.tree = fact_of(body, "tree");
                self.end = Some("landed".to_owned());
                self.code = None;
            }
            RecordKind::Refusal => {
                self.code = text("/code");
                self.end = text("/outcome");
            }
            RecordKind::Attempt
            | RecordKind::ToolResult
            | RecordKind::Boundary
            | RecordKind::Check
            | RecordKind::Intent
            | RecordKind::Undo
            | RecordKind::Recovered
            | RecordKind::Turn
            | RecordKind::Session
            | RecordKind::Removed
            | RecordKind::Checkpoint => {}
        }
    }

    /// Builds the statements of a run that ends after the record `head`.
    pub(crate) fn build_statements(&self, run: &str, head: &RecordRef, now: &str) -> RunStatements {
        let mut others = Vec::new();
        if self.commit.is_some() {
            others.push(self.build_statement(head, PROVENANCE, self.provenance_predicate(run, head, now)));
        }
        // A verification summary can only say PASSED or FAILED. A decision to ask is neither.
        if let Some(effect) = &self.effect {
            others.push(if effect == "allow" {
                self.build_statement(head, SUMMARY, self.summary_predicate())
            } else {
                self.build_statement(head, DECISION, self.decision_predicate(effect))
            });
        }
        RunStatements {
            first: self.build_statement(head, CHECKPOINT, self.checkpoint_predicate(run, head, now)),
            others,
        }
    }

    /// Builds a statement about the commit, or about the tape up to `head` if the run made no commit.
    fn build_statement(&self, head: &RecordRef, predicate_type: &str, predicate: Value) -> Value {
        let subject = match &self.commit {
            // `gitCommit` is the name that in-toto's DigestSet has for the id of a commit.
            Some(commit) => json!({ "name": self.refname, "digest": { "gitCommit": commit } }),
            None => json!({ "name": "tape.jsonl", "digest": { "sha256": parse_hash(&head.hash) } }),
        };
        without_nulls(json!({
            "_type": STATEMENT_TYPE,
            "subject": [subject],
            "predicateType": predicate_type,
            "predicate": predicate,
        }))
    }

    fn checkpoint_predicate(&self, run: &str, head: &RecordRef, now: &str) -> Value {
        json!({
            "run": run,
            "tape": { "seq": head.seq, "head": head.hash },
            "began": self.began,
            "ended": now,
            "end": self.end,
            "code": self.code,
            "tree": self.tree,
        })
    }

    fn provenance_predicate(&self, run: &str, head: &RecordRef, now: &str) -> Value {
        // In-toto writes a digest as hexadecimal digits without a prefix.
        let digest = |name: &str, found: &Option<String>| {
            found.as_ref().map(
                |found| json!({ "name": name, "digest": { "sha256": found.trim_start_matches("sha256:") } }),
            )
        };
        let base = self
            .base
            .as_ref()
            .map(|base| json!({ "name": "base", "digest": { "gitCommit": base } }));
        let dependencies: Vec<Value> = [
            base,
            digest("answer", &self.answer),
            digest("canonical-diff", &self.diff),
            digest("policy", &self.policy),
        ]
        .into_iter()
        .flatten()
        .collect();
        // A statement cannot contain the hash of the record that will hold it, so it names the record before that one.
        let tape = json!({
            "name": "tape.jsonl",
            "digest": { "sha256": parse_hash(&head.hash) },
        });
        json!({
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {
                    "verb": self.verb,
                    "provider": self.provider,
                    "model": self.model,
                    "ref": self.refname,
                },
                "resolvedDependencies": dependencies,
            },
            "runDetails": {
                "builder": { "id": EXECUTOR },
                "metadata": { "invocationId": run, "startedOn": self.began, "finishedOn": now },
                "byproducts": [tape],
            },
        })
    }

    fn summary_predicate(&self) -> Value {
        let policy = self.policy.as_ref().map(|found| json!({ "sha256": found }));
        json!({
            "verifier": { "id": POLICY },
            "timeVerified": self.decided,
            "resourceUri": self.refname,
            "policy": { "uri": POLICY, "digest": policy },
            "verificationResult": "PASSED",
            // VSA v1 allows a level of one's own if it does not begin with `SLSA_`.
            "verifiedLevels": ["AGENTOS_POLICY_ALLOW"],
        })
    }

    fn decision_predicate(&self, effect: &str) -> Value {
        let consent = self
            .consent
            .as_ref()
            .map(|(given, who)| json!({ "given": given, "who": who }));
        json!({
            "effect": effect,
            "rules": self.rules,
            "consent": consent,
            "policy_sha256": self.policy,
            "diff_sha256": self.diff,
            "base_commit": self.base,
            "target_ref": self.refname,
        })
    }
}

/// Lists the ids of the rules that led to the effect.
fn deciding_rules(body: &Value, effect: Option<&str>) -> Vec<String> {
    // The strictest effect wins. Rules with another effect matched, but did not decide.
    let reasons = body.pointer("/decision/reasons").and_then(Value::as_array);
    let mut rules: Vec<String> = Vec::new();
    for reason in reasons.into_iter().flatten() {
        let text = |name: &str| reason.get(name).and_then(Value::as_str);
        if let (true, Some(rule)) = (text("effect") == effect, text("rule"))
            && rules.iter().all(|known| known != rule)
        {
            rules.push(rule.to_owned());
        }
    }
    rules
}

/// Removes members that are null. Strict readers of predicates accept a missing member and refuse a null.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name, without_nulls(value)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}
