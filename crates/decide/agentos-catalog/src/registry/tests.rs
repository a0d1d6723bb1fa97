//! What an entry may contain, and registering at run time.

use super::*;

fn entry(text: &str) -> UserModel {
    serde_json::from_str(text).unwrap()
}

// LB-04, LB-27, LM-07, LM-08: an id that is freely named, for a model of any provider under any name.
#[test]
fn an_id_is_free_and_leads_to_a_model_of_a_provider() {
    let custom = entry(
        r#"{"id":"custom/my-model","provider":"openai","name":"my-model-v1","context_window":32000,"output_limit":4096}"#,
    );
    assert_eq!(
        (custom.served_by(), custom.server_name()),
        ("openai", "my-model-v1")
    );
    assert_eq!(custom.source, "user");
    let plain = entry(r#"{"id":"openrouter/openai/gpt-4o"}"#);
    assert_eq!(
        (plain.served_by(), plain.server_name()),
        ("openrouter", "openai/gpt-4o")
    );
}

// LB-20, LM-14: models come and go at run time.
#[test]
fn models_are_registered_and_unregistered_at_run_time() {
    let mut registry = ModelRegistry::default();
    let first = entry(r#"{"id":"custom/a","context_window":1000}"#);
    let second = entry(r#"{"id":"custom/a","context_window":2000}"#);
    assert_eq!(registry.register(first.clone()), Ok(None));
    assert_eq!(registry.register(second.clone()), Ok(Some(first)));
    assert_eq!(registry.find_served("custom", "a"), Some(&second));
    assert_eq!(registry.unregister("custom/a"), Some(second));
    assert_eq!(registry.unregister("custom/a"), None);
    assert_eq!(registry.find_served("custom", "a"), None);
}

#[test]
fn two_ids_do_not_describe_one_model() {
    let mut registry = ModelRegistry::default();
    let alias = entry(r#"{"id":"custom/a","provider":"openai","name":"gpt-4o"}"#);
    assert_eq!(registry.register(alias.clone()), Ok(None));
    let same = entry(r#"{"id":"openai/gpt-4o"}"#);
    assert_eq!(
        registry.register(same),
        Err(EntryFault::Twice("custom/a".to_owned()))
    );
    assert_eq!(registry.find_served("openai", "gpt-4o"), Some(&alias));
    // The id of an alias is no name on a server.
    assert_eq!(registry.find_served("custom", "a"), None);
}

#[test]
fn an_entry_that_cannot_be_used_says_why() {
    let cases = [
        (r#"{"id":"my-model"}"#, EntryFault::Id),
        (r#"{"id":"/a"}"#, EntryFault::Id),
        (r#"{"id":"a/"}"#, EntryFault::Id),
        (r#"{"id":"A/b"}"#, EntryFault::Id),
        ("{\"id\":\"a/b\\u001b[2J\"}", EntryFault::Id),
        (r#"{"id":"a/b","provider":"x y"}"#, EntryFault::Name("provider")),
        (r#"{"id":"a/b","name":""}"#, EntryFault::Name("name")),
        (
            r#"{"id":"a/b","context_window":0}"#,
            EntryFault::Zero("context_window"),
        ),
        (
            r#"{"id":"a/b","output_limit":0}"#,
            EntryFault::Zero("output_limit"),
        ),
        (
            r#"{"id":"a/b","context_window":10,"output_limit":11}"#,
            EntryFault::Limit,
        ),
        (
            r#"{"id":"a/b","abilities":{"Größe":"x"}}"#,
            EntryFault::AbilityKey("Größe".to_owned()),
        ),
        (
            r#"{"id":"a/b","abilities":{"vision":"yes"}}"#,
            EntryFault::KnownAbility("vision".to_owned()),
        ),
        (
            r#"{"id":"a/b","abilities":{"sql":""}}"#,
            EntryFault::AbilityValue("sql".to_owned()),
        ),
    ];
    for (text, fault) in cases {
        assert_eq!(entry(text).check_entry(), Err(fault), "{text}");
    }
    // LM-06: the open map of abilities.
    let open = r#"{"id":"a/b","abilities":{"sql":"expert","languages":"de, en"},"vision":"unknown"}"#;
    assert_eq!(entry(open).check_entry(), Ok(()));
}

#[test]
fn a_file_is_read_as_it_was_written_and_a_mistake_is_named() {
    let text = r#"{"version":1,"models":[
        {"id":"b/two","price":{"input":"0.15","output":"0.6","cached":"0.075","cache_write":"0.3"}},
        {"id":"a/one","abilities":{"sql":"expert"},"source":"table.json sha256:00"}]}"#;
    let registry = ModelRegistry::parse_json(text).unwrap();
    let ids: Vec<&str> = registry.iter_models().map(|model| model.id.as_str()).collect();
    assert_eq!(ids, ["a/one", "b/two"]);
    let again = ModelRegistry::parse_json(&registry.format_json().unwrap()).unwrap();
    assert_eq!(again, registry);
    let wrong = [
        (
            r#"{"version":2,"models":[]}"#,
            "it has version 2, and this program reads version 1",
        ),
        (
            r#"{"version":1,"models":[{"id":"a/b","colour":"red"}]}"#,
            "unknown field `colour`",
        ),
        (r#"{"version":1,"models":[],"more":1}"#, "unknown field `more`"),
        (
            r#"{"version":1,"models":[{"id":"a/b"},{"id":"a/b"}]}"#,
            "model `a/b`: `a/b` describes the same model of the same provider",
        ),
        (
            r#"{"version":1,"models":[{"id":"a/b","price":{"input":"-1"}}]}"#,
            "is not a decimal number of 0 or more",
        ),
        (
            r#"{"version":1,"models":[{"id":"b"}]}"#,
            "model `b`: an id is a provider",
        ),
    ];
    for (text, message) in wrong {
        let error = ModelRegistry::parse_json(text).unwrap_err().to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
}

#[test]
fn the_number_of_models_is_bounded() {
    let mut registry = ModelRegistry::default();
    let model = |number: usize| UserModel {
        id: format!("custom/model-{number}"),
        ..UserModel::default()
    };
    for number in 0..MOST_MODELS {
        assert_eq!(registry.register(model(number)), Ok(None));
    }
    assert_eq!(registry.register(model(MOST_MODELS)), Err(EntryFault::TooMany));
    // One that is there already can still be replaced, and makes room when it is removed.
    assert_eq!(registry.register(model(7)), Ok(Some(model(7))));
    assert_eq!(registry.unregister("custom/model-7"), Some(model(7)));
    assert_eq!(registry.find_served("custom", "model-7"), None);
    assert_eq!(registry.register(model(MOST_MODELS)), Ok(None));
}
