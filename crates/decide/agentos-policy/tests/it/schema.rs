//! The published schema of policy files is the one that the types give.

use agentos_policy::PolicyFile;
use agentos_schema::SchemaName;

#[test]
fn the_committed_schema_is_fresh() {
    let generated = serde_json::to_value(schemars::schema_for!(PolicyFile)).unwrap();
    let committed: serde_json::Value =
        serde_json::from_str(agentos_schema::schema_text(SchemaName::Policy)).unwrap();
    assert_eq!(
        committed, generated,
        "regenerate crates/words/agentos-schema/schemas/policy.json with `cargo xtask schemas`"
    );
}

#[test]
fn the_built_in_files_follow_the_schema() {
    for text in [
        include_str!("../../policy/floor.toml"),
        include_str!("../../policy/default.toml"),
        include_str!("../../policy/solo.toml"),
        include_str!("../../policy/team.toml"),
        include_str!("../../policy/strict.toml"),
        agentos_policy::FACTS,
    ] {
        let value: serde_json::Value = toml::from_str(text).unwrap();
        agentos_schema::validate_value(SchemaName::Policy, &value).unwrap();
    }
}

#[test]
fn every_fact_is_documented_by_a_rule_whose_examples_hold() {
    let facts = agentos_policy::FACTS;
    let file = crate::support::source(agentos_policy::Layer::Repository, "facts.toml", facts);
    agentos_policy::PolicySet::load(&[file]).unwrap();
    let schema: serde_json::Value =
        serde_json::from_str(agentos_schema::schema_text(SchemaName::Policy)).unwrap();
    let mut words: Vec<String> = schema["$defs"]["RuleText"]["properties"]
        .as_object()
        .unwrap()
        .keys()
        .filter(|field| !["fix", "code"].contains(&field.as_str()))
        // A limit has two fields, which mean the same number.
        .map(|field| {
            field
                .trim_start_matches("max_")
                .trim_start_matches("over_")
                .to_owned()
        })
        .collect();
    for kind in ["Action", "FileKind", "FindingKind", "Touch", "Ecosystem"] {
        for one in schema["$defs"][kind]["oneOf"].as_array().unwrap() {
            words.push(one["const"].as_str().unwrap().to_owned());
        }
    }
    let missing: Vec<String> = words
        .into_iter()
        .filter(|word| !facts.contains(word.as_str()))
        .collect();
    assert_eq!(missing, Vec::<String>::new());
}
