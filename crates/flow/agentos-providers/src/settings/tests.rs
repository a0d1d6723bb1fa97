//! Tests of the settings: precedence, mistakes and edits.

use super::*;

const FILE: &str = "config.toml";

fn of_file(text: &str) -> Settings {
    Settings {
        file: file::parse_values(FILE, text).unwrap(),
        ..Settings::default()
    }
}

fn with_variables(text: &str, vars: &[(&str, &str)]) -> Settings {
    let vars = vars
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let environment = Environment::new(vars, ".".into());
    Settings {
        variables: read_variables(&environment).unwrap(),
        ..of_file(text)
    }
}

#[test]
fn a_mistake_is_named_with_its_place_and_what_was_meant() {
    let mut seen = String::new();
    for text in [
        "modle = \"x\"",
        "# mine\nconnect-timeout = 3",
        "colour = \"always\"",
        "color = \"blue\"",
        "attempts = 0",
        "attempts = \"2\"",
        "provider = \"\"",
        "provider = 3",
        "provider = llamacpp",
        "[run]\nprovider = \"x\"",
        "provider = \"a\"\nprovider = \"b\"",
        "check = \"a\\u001bb\"",
    ] {
        let error = file::parse_values(FILE, text).unwrap_err();
        assert_eq!(error.code, "bad-settings");
        let hint = error.hint.unwrap_or_default();
        seen.push_str(&format!("{}\n  {hint}\n", error.message));
    }
    insta::assert_snapshot!(seen, @r#"
    config.toml:1:1: there is no setting `modle`
      did you mean `model`?
    config.toml:2:1: there is no setting `connect-timeout`
      did you mean `connect_timeout`?
    config.toml:1:1: there is no setting `colour`
      did you mean `color`?
    config.toml:1:9: `blue` is no value for `color`: write one of auto, always, never
      
    config.toml:1:12: `0` is no value for `attempts`: write a whole number from 1 to 10
      
    config.toml:1:12: `attempts` must be a whole number
      
    config.toml:1:12: `provider` must not be empty
      
    config.toml:1:12: `provider` must be a text in quotes
      
    config.toml:1:12: string values must be quoted, expected literal string
      write one `key = "value"` on each line
    config.toml:1:2: there is no setting `run`
      
    config.toml:2:1: duplicate key
      write one `key = "value"` on each line
    config.toml:1:9: `check` must not contain control characters
    "#);
}

#[test]
fn the_call_comes_first_then_a_variable_then_the_file() {
    let text = "provider = \"ollama\"\nmodel = \"qwen\"\ntimeout = 90\n";
    let env = |vars: &[(&str, &str)]| {
        let vars = vars
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Environment::new(vars, ".".into())
    };
    /// Variables, provider of the call, model of the call, and the provider and model that are used.
    type Case<'a> = (
        &'a [(&'a str, &'a str)],
        Option<&'a str>,
        Option<&'a str>,
        &'a str,
    );
    let cases: &[Case<'_>] = &[
        (&[], None, None, "ollama qwen"),
        (&[], Some("ollama"), None, "ollama qwen"),
        (&[], Some("openai"), None, "openai -"),
        (&[], None, Some("phi"), "ollama phi"),
        (&[("AGENTOS_PROVIDER", "openai")], None, None, "openai -"),
        (
            &[("AGENTOS_PROVIDER", "openai")],
            Some("ollama"),
            None,
            "ollama qwen",
        ),
        (&[("AGENTOS_MODEL", "phi")], None, None, "ollama phi"),
        (&[("AGENTOS_MODEL", "phi")], Some("openai"), None, "openai -"),
        (
            &[("AGENTOS_PROVIDER", "openai"), ("AGENTOS_MODEL", "gpt")],
            None,
            None,
            "openai gpt",
        ),
        (&[("AGENTOS_OLLAMA_MODEL", "own")], None, None, "ollama -"),
        (&[("AGENTOS_PROVIDER", "")], None, None, "ollama qwen"),
        (
            &[("AGENTOS_PROVIDER", "openai/gpt-4o")],
            None,
            None,
            "openai gpt-4o",
        ),
        (&[], Some("openai/gpt-4o"), None, "openai gpt-4o"),
        (&[], Some("openai"), Some("openai/gpt-4o"), "openai gpt-4o"),
        (&[], Some("ollama/phi"), None, "ollama phi"),
        (
            &[("AGENTOS_MODEL", "phi")],
            Some("ollama/llama"),
            None,
            "ollama llama",
        ),
        (&[], Some("command"), None, "command -"),
    ];
    for (vars, provider, model, expected) in cases {
        let settings = with_variables(text, vars);
        let mut choice = ProviderChoice::default();
        choice.overrides.model = model.map(str::to_owned);
        let named = CallNames {
            provider: *provider,
            remembered: None,
        };
        let found = settings
            .complete_choice((&env(vars), &ModelNames::default()), named, choice)
            .unwrap();
        let model = found.overrides.model.as_deref().unwrap_or("-");
        assert_eq!(
            format!("{} {model}", found.provider.name()),
            *expected,
            "{vars:?} {provider:?}"
        );
        assert_eq!(found.overrides.timeout_seconds, Some(90));
    }
}

#[test]
fn nothing_chooses_a_provider_for_the_user() {
    for text in ["", "model = \"qwen\"", "check = \"cargo test\""] {
        let settings = of_file(text);
        assert_eq!(settings.default_provider(), None);
        let environment = Environment::new([], ".".into());
        let names = ModelNames::default();
        let refused = settings.complete_choice(
            (&environment, &names),
            CallNames::default(),
            ProviderChoice::default(),
        );
        assert_eq!(refused.unwrap_err().code, "missing-provider");
    }
}

#[test]
fn every_setting_has_a_meaning_and_a_usual_value_that_is_valid() {
    for known in SETTINGS {
        assert!(
            !known.meaning.ends_with('.') && !known.meaning.is_empty(),
            "{}",
            known.key
        );
        if let Some(usual) = known.usual {
            assert!(known.check_text(usual).is_ok(), "{}", known.key);
        }
    }
}

#[test]
fn an_edit_keeps_every_other_line() {
    let name = |text: &str| SettingValue::Text(text.to_owned());
    let set = |text: &str| edit::set_value(text, "provider", &name("a \"b\""));
    for (before, after) in [
        ("", "provider = \"a \\\"b\\\"\"\n"),
        (
            "# mine\nattempts = 3",
            "# mine\nattempts = 3\nprovider = \"a \\\"b\\\"\"\n",
        ),
        (
            "provider  =  'old' # why\nattempts = 3\n",
            "provider  =  \"a \\\"b\\\"\" # why\nattempts = 3\n",
        ),
    ] {
        // TOML writes a text with quotes in it between apostrophes.
        let shown = set(before).replace("'a \"b\"'", "\"a \\\"b\\\"\"");
        assert_eq!(shown, after);
        assert_eq!(of_file(&set(before)).text("provider"), Some("a \"b\""));
    }
    for (before, after) in [
        ("provider = \"x\"", ""),
        ("# a\nprovider = \"\"\"x\"\"\" # why\n# b\n", "# a\n# b\n"),
        ("attempts = 3\n", "attempts = 3\n"),
    ] {
        assert_eq!(edit::remove_value(before, "provider"), after);
    }
}
