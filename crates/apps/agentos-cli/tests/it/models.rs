//! The user's own models: added, imported, used in runs, and asked of servers.

mod llama;

use agentos_schema::{SchemaName, validate_value};
use agentos_testkit::cli::Cli;
use agentos_testkit::repo::write_file;
use serde_json::{Value, json};

use crate::support::{LIB_FIXED, SLOPPY_FIX, agentos, chat_server, small_repo};

/// Runs the program and returns its exit code and both outputs, with the home's path replaced.
fn call(cli: &Cli, args: &[&str]) -> (Option<i32>, String) {
    let output = cli.run(args).unwrap_or_else(|error| panic!("{args:?}: {error}"));
    let text = format!("{}{}", output.stdout, output.stderr);
    (output.code, text.replace(&cli.home().display().to_string(), "~"))
}

/// LB-27's example: an id that is freely named, for a model of another name at another provider.
const CUSTOM: [&str; 13] = [
    "models",
    "add",
    "custom/my-model",
    "--provider",
    "openai",
    "--name",
    "my-model-v1",
    "--context-window",
    "32000",
    "--output-limit",
    "4096",
    "--ability",
    "sql=expert",
];

#[test]
fn a_model_is_added_shown_listed_replaced_and_removed() {
    let cli = agentos();
    let (code, text) = call(&cli, &CUSTOM);
    assert_eq!(code, Some(0), "{text}");
    insta::assert_snapshot!(text, @r"
    added custom/my-model (~/.config/agentos/models.json)
    ");
    let (_, text) = call(&cli, &["models", "show", "custom/my-model"]);
    insta::assert_snapshot!(text, @r"
    id              custom/my-model
    provider        openai
    model name      my-model-v1
    api             openai
    context         32000 tokens (user)
    longest answer  4096 (user)
    tools           unknown
    vision          unknown
    json            unknown
    reasoning       unknown
    sql             expert (user)
    price           unknown
    ");
    let listed = cli.run(&["models", "list", "--json"]).unwrap().json().unwrap();
    let ids = listed["models"].as_array().unwrap().iter();
    let ids: Vec<&str> = ids.filter_map(|model| model["id"].as_str()).collect();
    assert!(ids.is_sorted() && ids.contains(&"custom/my-model"), "{ids:?}");
    assert_eq!(ids.len(), 14);
    let (code, text) = call(&cli, &CUSTOM);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("replaced custom/my-model"), "{text}");
    let removed = cli
        .run(&["models", "remove", "custom/my-model", "--json"])
        .unwrap();
    let removed = removed.json().unwrap();
    assert_eq!(validate_value(SchemaName::ModelChange, &removed), Ok(()));
    let (code, text) = call(&cli, &["models", "remove", "custom/my-model"]);
    assert_eq!(code, Some(2), "{text}");
    insta::assert_snapshot!(text, @r"
    error [model-not-added] `custom/my-model` is not a model that you added
      next: `agentos models list --all` shows the known models
    ");
}

#[test]
fn an_entry_wins_over_the_catalogue_for_the_values_that_it_states() {
    let cli = agentos();
    let add = [
        "models",
        "add",
        "openai/gpt-4o",
        "--vision",
        "unknown",
        "--price-input",
        "2",
        "--price-output",
        "8.5",
    ];
    assert_eq!(call(&cli, &add).0, Some(0));
    let (_, text) = call(&cli, &["models", "show", "gpt-4o"]);
    insta::assert_snapshot!(text, @r"
    id              openai/gpt-4o
    provider        openai
    model name      gpt-4o
    api             openai
    context         128000 tokens (built-in)
    longest answer  16384 (built-in)
    tools           yes (built-in)
    vision          unknown (user)
    json            yes (built-in)
    reasoning       no (built-in)
    price           prompt $2, answer $8.5 per million tokens (user)
    ");
    let (_, text) = call(&cli, &["models", "list", "--prices", "-p", "openai"]);
    insta::assert_snapshot!(text, @r"
    MODEL               PROMPT  CACHED  ANSWER  STATED BY
    openai/gpt-4-turbo  10      -       30      models.dev, litellm, genai-prices
    openai/gpt-4o       2       -       8.5     user
    openai/gpt-4o-mini  0.15    0.075   0.6     models.dev, litellm, genai-prices
    openai/o1-mini      -       -       -       -

    US dollars per million tokens. Of a span, the price that most tables state is used, else the highest.
    ");
}

#[test]
fn a_wrong_entry_and_a_damaged_file_are_refused() {
    let cli = agentos();
    let file = cli.home().join(".config/agentos/models.json");
    for (args, message) in [
        (&["models", "add", "my-model"][..], "an id is a provider"),
        (
            &["models", "add", "a/b", "--ability", "tools=yes"],
            "`tools` has a field of its own",
        ),
        (&["models", "add", "a/b", "--ability", "tools"], "write KEY=VALUE"),
        (&["models", "add", "a/b", "--price-input", "-1"], "--price-input"),
        (
            &[
                "models",
                "add",
                "a/b",
                "--context-window",
                "10",
                "--output-limit",
                "11",
            ],
            "`output_limit` must not be larger",
        ),
    ] {
        let (code, text) = call(&cli, args);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains(message), "{text}");
        assert!(!file.exists());
    }
    write_file(&file, r#"{"version":1,"models":[{"id":"a/b","colour":"red"}]}"#);
    for args in [
        &["models", "list"][..],
        &["models", "add", "c/d"],
        &["chat", "send", "-p", "openai", "hi"],
    ] {
        let (code, text) = call(&cli, args);
        assert_eq!(code, Some(2), "{text}");
        assert!(
            text.contains("[bad-models] `~/.config/agentos/models.json`: unknown field `colour`"),
            "{text}"
        );
    }
    let (_, text) = call(&cli, &["models", "remove", "a/b"]);
    assert!(text.contains("bad-models"), "{text}");
}

// LB-20: the entries of a table that cannot be used are named and skipped, and the others are taken.
#[test]
fn a_table_is_imported_without_its_wrong_entries() {
    let cli = agentos();
    let table = cli.home().join("table.json");
    write_file(
        &table,
        r#"{"models":[{"id":"custom/a","context_window":1000,"price":{"input":1,"output":2}},{"id":"nobody"},{"id":"other/b"}]}"#,
    );
    let table = table.display().to_string();
    let (code, text) = call(&cli, &["models", "import", &table]);
    assert_eq!(code, Some(2), "{text}");
    insta::assert_snapshot!(text, @r"
    2 models of table.json sha256:85df41ca98c7a832864420cc64c1d98b7b49094cb44cacc3944fff93209601ca are in ~/.config/agentos/models.json
    skipped nobody: an id is a provider (small letters, digits and `-`), `/` and a name, without control characters
    error [some-not-imported] 1 of the table's entries contain mistakes
      next: correct the named entries and import the table again
    ");
    let (_, text) = call(&cli, &["models", "show", "custom/a"]);
    assert!(text.contains("1000 tokens (table.json sha256:"), "{text}");
    let output = cli
        .run(&["models", "import", &table, "-p", "custom", "--json"])
        .unwrap();
    let report = output.json().unwrap();
    assert_eq!(validate_value(SchemaName::ModelsImport, &report), Ok(()));
    assert_eq!((output.code, &report["taken"]), (Some(2), &json!(["custom/a"])));
    let file = cli.home().join(".config/agentos/models.json");
    let file: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(validate_value(SchemaName::ModelsFile, &file), Ok(()));
    assert_eq!(call(&cli, &["models", "import", "no-such-file"]).0, Some(2));
    let (code, text) = call(
        &cli,
        &[
            "models",
            "import",
            &cli.home().join(".config/agentos").display().to_string(),
        ],
    );
    assert_eq!(code, Some(2), "{text}");
}

#[test]
fn a_model_of_your_own_is_used_by_tasks_with_its_prices_in_the_record() {
    let repo = small_repo();
    let server = chat_server(SLOPPY_FIX, || {});
    let cli = agentos()
        .in_dir(repo.path())
        .env("AGENTOS_OPENAI_BASE_URL", format!("{}/v1", server.url()));
    let add = [
        "models",
        "add",
        "custom/my-model",
        "-p",
        "openai",
        "--name",
        "tiny-coder",
        "--price-input",
        "3",
        "--price-output",
        "15",
        "--output-limit",
        "777",
    ];
    assert_eq!(call(&cli, &add).0, Some(0));
    let (code, text) = call(&cli, &["models", "default", "custom/my-model"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("custom, model my-model"), "{text}");
    let (code, text) = call(&cli, &["run", "add must add", "--file", "src/lib.rs", "--json"]);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(repo.read("src/lib.rs"), LIB_FIXED.as_bytes());
    let sent = server.requests();
    let sent = sent
        .iter()
        .find(|request| request.path.ends_with("/chat/completions"))
        .unwrap();
    let sent: Value = serde_json::from_slice(&sent.body).unwrap();
    assert_eq!(
        (&sent["model"], &sent["max_tokens"]),
        (&json!("tiny-coder"), &json!(777))
    );
    let shown = call(&cli, &["evidence", "show", "--json"]).1;
    assert!(shown.contains(r#""source": "models.json: user""#), "{shown}");
    // 11 tokens of the prompt and 7 of the answer.
    assert!(shown.contains(r#""cost_usd": "0.000138""#), "{shown}");
    let (code, text) = call(&cli, &["evidence", "verify"]);
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn a_repository_that_names_another_server_gets_no_prices_of_yours() {
    let repo = small_repo();
    let server = chat_server("hello", || {});
    let cli = agentos().in_dir(repo.path());
    let add = [
        "models",
        "add",
        "ollama/tiny-coder",
        "--price-input",
        "0",
        "--price-output",
        "0",
    ];
    assert_eq!(call(&cli, &add).0, Some(0));
    let own = ["profile", "show", "ollama", "--origin"];
    let mine = cli
        .command(&own)
        .env("AGENTOS_OLLAMA_MODEL", "tiny-coder")
        .output()
        .unwrap();
    let mine = String::from_utf8_lossy(&mine.stdout).into_owned();
    assert!(mine.contains("models.json: user"), "{mine}");
    let profile = json!({ "provider": "ollama", "adapter": "openai", "base_url": format!("{}/v1", server.url()), "model": "tiny-coder" });
    write_file(
        &repo.path().join(".agentos/profiles/ollama.json"),
        profile.to_string(),
    );
    // The repository's profile changes neither the address nor the model.
    let (_, text) = call(&cli, &own);
    assert!(!text.contains(&server.url()), "{text}");
    assert!(!text.contains("tiny-coder"), "{text}");
}

#[test]
fn servers_say_which_models_they_have_and_silent_ones_are_reported() {
    let server = chat_server("hello", || {});
    let cli = agentos().env("AGENTOS_OPENAI_BASE_URL", format!("{}/v1", server.url()));
    let add = ["models", "add", "openai/tiny-coder", "--context-window", "5000"];
    assert_eq!(call(&cli, &add).0, Some(0));
    let (code, text) = call(&cli, &["models", "list", "--available", "-p", "openai"]);
    assert_eq!(code, Some(0), "{text}");
    insta::assert_snapshot!(text, @r"
    MODEL              API     CONTEXT  ANSWER  CAN
    openai/tiny-coder  openai  5000     -
    ");
    let (code, text) = call(&cli, &["models", "list", "--available", "-p", "vllm"]);
    assert_eq!(code, Some(5), "{text}");
    assert!(text.contains("vllm did not say which models it has: "), "{text}");
    assert!(text.contains("[no-models-listed]"), "{text}");
    let output = cli
        .run(&["models", "list", "--available", "-p", "vllm", "--json"])
        .unwrap();
    assert_eq!(output.code, Some(5));
    let json = output.json().unwrap();
    assert_eq!(validate_value(SchemaName::Models, &json), Ok(()));
    assert_eq!(json["silent"][0]["provider"], "vllm");
}
