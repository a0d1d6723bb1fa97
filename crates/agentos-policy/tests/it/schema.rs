//! The published schema of policy files is the one that the types give.

use agentos_policy::PolicyFile;
use agentos_schema::SchemaName;

#[test]
fn the_committed_schema_is_fresh() {
    let generated = serde_json::to_value(schemars::schema_for!(PolicyFile)).unwrap();
    let committed: serde_json::Value =
        serde_json::from_str(agentos_schema::text(SchemaName::Policy)).unwrap();
    assert_eq!(
        committed, generated,
        "regenerate crates/agentos-schema/schemas/policy.json with `cargo xtask schemas`"
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
    ] {
        let value: serde_json::Value = toml::from_str(text).unwrap();
        agentos_schema::validate(SchemaName::Policy, &value).unwrap();
    }
}
