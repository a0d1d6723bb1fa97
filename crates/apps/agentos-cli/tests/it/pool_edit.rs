//! Pools that are made and changed by hand.

use std::path::Path;

use agentos_testkit::cli::Cli;
use agentos_testkit::repo::{read_file, write_file};
use serde_json::{Value, json};

use crate::pool::call;
use crate::support::agentos;

fn show(args: &[&str], cli: &Cli) -> String {
    let output = call(cli, args);
    format!("{}{}", output.stdout, output.stderr)
}

#[test]
fn members_are_added_to_a_pool_and_removed_from_it() {
    let cli = agentos();
    let shown = [
        show(
            &["pool", "add", "mine", "openai/gpt-4o-mini", "--alias", "fast"],
            &cli,
        ),
        show(
            &[
                "pool",
                "add",
                "mine",
                "anthropic/claude-sonnet-4-20250514",
                "--default",
            ],
            &cli,
        ),
        show(
            &["pool", "add", "mine", "openai/gpt-4o", "--alias", "model2"],
            &cli,
        ),
        show(&["pool", "remove", "mine", "fast"], &cli),
        // What cannot be used is not written.
        show(&["pool", "add", "mine", "nobody/x"], &cli),
        show(
            &["pool", "add", "mine", "openai/gpt-4o", "--alias", "model2"],
            &cli,
        ),
        show(&["pool", "add", "mine", "ollama/llama3.3"], &cli),
        show(&["pool", "remove", "mine", "fast"], &cli),
        show(&["pool", "remove", "other", "fast"], &cli),
        show(&["pool", "add", "openai", "openai/gpt-4o"], &cli),
        show(&["pool", "list"], &cli),
    ];
    insta::assert_snapshot!(shown.join("---\n"), @r#"
    mine  (selector default; default fast)
      fast  openai/gpt-4o-mini  cloud
    ---
    mine  (selector default; default claude-sonnet-4-20250514)
      fast                      openai/gpt-4o-mini                  cloud
      claude-sonnet-4-20250514  anthropic/claude-sonnet-4-20250514  cloud
    ---
    mine  (selector default; default claude-sonnet-4-20250514)
      fast                      openai/gpt-4o-mini                  cloud
      claude-sonnet-4-20250514  anthropic/claude-sonnet-4-20250514  cloud
      model2                    openai/gpt-4o                       cloud
    note: the alias `model2` says nothing about the model: a name such as `fast` or `vision` says when it is chosen
    ---
    mine  (selector default; default claude-sonnet-4-20250514)
      claude-sonnet-4-20250514  anthropic/claude-sonnet-4-20250514  cloud
      model2                    openai/gpt-4o                       cloud
    ---
    error [bad-pool] pool `mine`: `members`: `x` needs the provider `nobody`, and there is none of this name
      next: nothing was written
    ---
    error [bad-pool] pool `mine`: `members`: two members have the alias `model2`
      next: nothing was written
    ---
    error [bad-pool] pool `mine`: `llama3.3` is on this machine and `claude-sonnet-4-20250514` in the cloud: without `"allow_cloud": true` in `mine`, no turn may go from one to the other
      next: nothing was written
    ---
    error [usage] the pool `mine` has no member `fast`
      next: members: claude-sonnet-4-20250514, model2
    ---
    error [usage] there is no pool `other`
      next: see the verb's `--help`
    ---
    error [bad-pool] pool `openai`: `openai` is the name of a provider: a pool of this name would replace it
      next: nothing was written
    ---
    mine  (selector default; default claude-sonnet-4-20250514)
      claude-sonnet-4-20250514  anthropic/claude-sonnet-4-20250514  cloud
      model2                    openai/gpt-4o                       cloud
    "#);
}

#[test]
fn a_removed_member_leaves_the_fallbacks() {
    let cli = agentos();
    for alias in ["a-fast", "b-large", "c-sharp"] {
        let added = call(&cli, &["pool", "add", "mine", "openai/gpt-4o", "--alias", alias]);
        assert_eq!(added.code, Some(0), "{added}");
    }
    let file = cli.home().join(".config/agentos/profiles/mine.json");
    let mut profile: Value = serde_json::from_slice(&read_file(&file)).unwrap();
    profile["pool"]["fallback"] = json!(["b-large", "c-sharp"]);
    profile["pool"]["default"] = json!("b-large");
    write_file(&file, profile.to_string());
    let removed = call(&cli, &["pool", "remove", "mine", "b-large"]);
    insta::assert_snapshot!(removed.stdout, @r#"
    mine  (selector default; default a-fast; fallback c-sharp)
      a-fast   openai/gpt-4o  cloud
      c-sharp  openai/gpt-4o  cloud
    "#);
}

#[test]
fn the_pool_of_the_examples_is_chosen_from_by_words() {
    let cli = agentos();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scripts/examples/pool.json");
    let file = cli.home().join(".config/agentos/profiles/sight.json");
    write_file(&file, read_file(&example));
    for (message, expected) in [("describe this image", "eyes"), ("describe this file", "text")] {
        let chosen = call(&cli, &["pool", "select", "--message", message]);
        assert!(
            chosen.stdout.starts_with(&format!("chosen  {expected}\n")),
            "{chosen}"
        );
    }
}
