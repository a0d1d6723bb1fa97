//! What a person reads who wrote a wrong policy file.

use crate::support::*;

/// The message and the hint for a file with one mistake.
fn mistake(text: &str) -> String {
    let error = PolicySet::load(&[source(Layer::Repository, "team.toml", text)]).unwrap_err();
    match error.hint() {
        None => error.to_string(),
        Some(hint) => format!("{error}\n  hint: {hint}"),
    }
}

/// The same for a rule that is right but for the given lines.
fn in_rule(lines: &str) -> String {
    mistake(&format!(
        "version = 1\n\n[[rule]]\nid = \"r\"\neffect = \"deny\"\nwhy = \"w\"\n{lines}\n"
    ))
}

#[test]
fn mistakes_in_the_file() {
    let texts = [
        "",
        "version = 2\n",
        "version = \"1\"\n",
        "version = 1\nrules = []\n",
        "version = 1\n[[rule]\n",
        "version = 1\n[[rule]]\nid = \"r\"\nwhy = \"w\"\n",
        "version = 1\n[[rule]]\nid = \"r\"\neffect = \"alow\"\nwhy = \"w\"\n",
        "version = 1\n[[rule]]\nid = \"r\"\nefect = \"allow\"\nwhy = \"w\"\n",
        "version = 1\n[[rule]]\nid = \"a b\"\neffect = \"deny\"\nwhy = \"w\"\n",
        "version = 1\n[[rule]]\nid = \"r\"\neffect = \"deny\"\nwhy = \" \"\n",
        "version = 1\n[[rule]]\neffect = \"deny\"\nwhy = \"w\"\n",
        "version = 1\n[[rule]]\nid = \"r\"\neffect = \"deny\"\n",
        "version = 1\n[[rule]]\nid = r\n",
        "version = 1\npreset = \"teams\"\n",
        "version = 1\npreset = true\n",
        "version = 1\nversion = 1\n",
        "version = 1\n[rule]\nid = \"r\"\n",
        "version = 1\nrule = [3]\n",
        "version = 1\n[[rule]]\nid = \"r\"\neffect = \"deny\"\nwhy = [\"w\"]\n",
        "version = 1\n[[rule]]\nid = \"r\"\neffect = \"deny\"\nwhy = \"w\"\n[[rule]]\nid = \"r\"\neffect = \"ask\"\nwhy = \"w\"\n",
    ];
    let all: Vec<String> = texts.into_iter().map(mistake).collect();
    insta::assert_snapshot!(all.join("\n"), @r#"
    team.toml:1:1: missing field `version`
      hint: begin the file with `version = 1`
    team.toml:1:11: `version` is `2`, and this agentos supports only version 1
      hint: write `version = 1`, or use a newer agentos
    team.toml:1:11: found the text "1", expected a whole number of 0 or more
      hint: lists and numbers are written without quotes around them
    team.toml:2:1: unknown field `rules`
      hint: did you mean `rule`?
    team.toml:2:8: unclosed array table, expected `]`
    team.toml:2:1: missing field `effect`
      hint: write `effect = "deny"`, `"ask"` or `"allow"`
    team.toml:4:10: unknown value `alow`
      hint: did you mean `allow`?
    team.toml:4:1: unknown field `efect`
      hint: did you mean `effect`?
    team.toml:3:6: rule `a b`: the id has a character that is not allowed, or a wrong length
      hint: use 1 to 64 letters, digits, `-`, `_` and `.`
    team.toml:5:7: rule `r`: `why` is empty
      hint: say in one sentence what the rule protects; it is shown with every refusal
    team.toml:2:1: missing field `id`
      hint: give the rule a name: `id = "no-cloud-ci"`
    team.toml:2:1: missing field `why`
      hint: say in one sentence what the rule protects: `why = "…"`
    team.toml:3:6: string values must be quoted, expected literal string
    team.toml:2:10: unknown value `teams`
      hint: did you mean `team`?
    team.toml:2:10: expected a word in quotes
    team.toml:2:1: duplicate key
      hint: write each field of a rule once
    team.toml:2:1: found a table, expected a list in `[` and `]`
      hint: each rule begins with two brackets: `[[rule]]`
    team.toml:2:9: found the number `3`, expected a rule, which begins with `[[rule]]`
    team.toml:5:7: found a list, expected a string
    team.toml:7:6: rule `r`: the rule on line 2 has the same id
      hint: give each rule of a file its own id
    "#);
}

#[test]
fn mistakes_in_a_rule() {
    let rules = [
        "action = [\"modfy\"]",
        "action = []",
        "paths = []",
        "paths = [\"\"]",
        "paths = [\"src\\\\**\"]",
        "paths = [\"/src/**\"]",
        "paths = [\"src/\"]",
        "paths = [\"../x\"]",
        "paths = [\"!src/**\"]",
        "paths = [\"src/\u{ff0a}\"]",
        "paths = [\"src/[a\"]",
        "paths = \"src/**\"",
        "paths = [\"src/**\"]\naction = [\"land\"]",
        "kinds = [\"executabel\"]",
        "execution_mode = \"clod\"",
        "enforcement = \"sandbox\"",
        "touches = [\"dependency\"]",
        "findings = [\"secrets\"]",
        "max_added = -1",
        "max_added = \"ten\"",
        "over_files = 10\nmax_files = 10",
        "max_line = 3",
        "code = \"protected\"",
        "provider = [\"a[\"]",
        "provider = [\"a\u{ff0a}\"]",
        "paths = [\"src/**\"]\nexamples.match = [{ path = \"docs/a\" }]",
        "paths = [\"src/**\"]\nexamples.no_match = [{ path = \"docs/a\" }, { path = \"SRC/a\" }]",
        "examples.matches = []",
        "hours = [\"9-17\"]",
        "hours = [\"09:00-09:00\"]",
        "weekdays = [\"monday\"]",
        "ecosystems = [\"rust\"]",
        "findings = [\"only-weakens-tests\"]",
        "action = [\"read\"]\nmax_added = 3",
        "action = [\"read\"]\nfindings = [\"weakens-tests\"]",
        "examples.match = [{ hour = \"noon\" }]",
        "max_context = 3",
        "target_ref = []",
        "except_target_ref = []",
        "target_ref = [\"refs/heads/a\", \"main\"]",
        "target_ref = [\"refs/heads/[a\"]",
        "branch = [\"main\"]",
    ];
    let all: Vec<String> = rules.into_iter().map(in_rule).collect();
    insta::assert_snapshot!(all.join("\n"), @r#"
    team.toml:7:11: unknown value `modfy`
      hint: did you mean `modify`?
    team.toml:7:10: rule `r`: `action` is empty, so the rule would never match
      hint: leave it out if it should not matter
    team.toml:7:9: rule `r`: `paths` is empty, so the rule would never match
      hint: leave it out if it should not matter
    team.toml:7:10: rule `r`: the glob `` is empty
    team.toml:7:10: rule `r`: the glob `src\**` has a backslash; write `/` between folders
    team.toml:7:10: rule `r`: the glob `/src/**` must begin at the repository's root without `/` or `./`
    team.toml:7:10: rule `r`: the glob `src/` ends with `/`; write `/**` for everything in a folder
    team.toml:7:10: rule `r`: the glob `../x` has a part `..`, which no path has
    team.toml:7:10: rule `r`: the glob `!src/**` begins with `!`; write it into `except_paths`
    team.toml:7:10: rule `r`: the glob `src/＊` has a full-width form of a glob character; write `?` for that character
    team.toml:7:10: rule `r`: `src/[a` is not a glob: unclosed character class; missing ']'
    team.toml:7:9: found the text "src/**", expected a list in `[` and `]`
      hint: lists and numbers are written without quotes around them
    team.toml:7:9: rule `r`: `land` asks about the change as a whole and has no path
      hint: leave out `action`, or use `touches`
    team.toml:7:10: unknown value `executabel`
      hint: did you mean `executable`?
    team.toml:7:18: unknown value `clod`, expected `local` or `cloud`
      hint: did you mean `cloud`?
    team.toml:7:15: unknown value `sandbox`, expected `kernel` or `observed`
    team.toml:7:12: unknown value `dependency`
      hint: did you mean `dependencies`?
    team.toml:7:13: unknown value `secrets`
      hint: did you mean `secret`?
    team.toml:7:13: found the number `-1`, expected a whole number of 0 or more
    team.toml:7:13: found the text "ten", expected a whole number of 0 or more
      hint: lists and numbers are written without quotes around them
    team.toml:8:13: rule `r`: no number can be more than `over_files` and at most `max_files`
    team.toml:7:1: unknown field `max_line`
      hint: did you mean `max_lines`?
    team.toml:7:8: unknown value `protected`
      hint: did you mean `protected-path`?
    team.toml:7:13: rule `r`: `a[` in `provider` is not a glob: unclosed character class; missing ']'
    team.toml:7:13: rule `r`: `a＊` in `provider` has a full-width form of a glob character
    team.toml:8:19: rule `r` does not match its example 1 of `match`
      hint: correct the rule or the example; they contradict each other
    team.toml:8:43: rule `r` matches its example 2 of `no_match`
      hint: correct the rule or the example; they contradict each other
    team.toml:7:10: unknown field `matches`, expected `match` or `no_match`
      hint: did you mean `match`?
    team.toml:7:10: rule `r`: `9-17` in `hours` is not a range of times
      hint: write it as `22:00-06:00`, in UTC
    team.toml:7:10: rule `r`: `09:00-09:00` in `hours` is not a range of times
      hint: write it as `22:00-06:00`, in UTC
    team.toml:7:13: unknown value `monday`, expected one of `mon`, `tue`, `wed`, `thu`, `fri`, `sat`, `sun`
    team.toml:7:15: unknown value `rust`, expected one of `cargo`, `npm`, `python`, `go`, `ruby`, `php`, `jvm`, `dotnet`, `apple`, `dart`, `elixir`, `haskell`, `cpp`, `zig`, `nix`, `machine`
    team.toml:7:12: rule `r`: `only-weakens-tests` can only be found in a change as a whole
      hint: write `action = ["land"]`
    team.toml:8:13: rule `r`: `max_added` is about a change, and `read` changes nothing
      hint: a rule for `read` can use the path, its findings, the tool and `context_bytes`
    team.toml:8:12: rule `r`: `findings` is about a change, and `read` changes nothing
      hint: a rule for `read` can use the path, its findings, the tool and `context_bytes`
    team.toml:7:28: rule `r`: `noon` in `hour` of an example is not a time of day
      hint: write it as `23:30`, in UTC
    team.toml:7:1: unknown field `max_context`, expected one of `id`, `effect`, `why`, `fix`, `code`, `action`, `paths`, `except_paths`, `kinds`, `provider`, `model`, `execution_mode`, `enforcement`, `checked`, `target_ref`, `except_target_ref`, `findings`, `touches`, `ecosystems`, `hours`, `weekdays`, `max_added`, `over_added`, `max_removed`, `over_removed`, `max_lines`, `over_lines`, `max_bytes`, `over_bytes`, `max_files`, `over_files`, `max_deleted`, `over_deleted`, `max_lost_files`, `over_lost_files`, `max_old_lines`, `over_old_lines`, `max_net_removed`, `over_net_removed`, `max_lost_percent`, `over_lost_percent`, `max_attempt`, `over_attempt`, `max_context_bytes`, `over_context_bytes`, `examples`
    team.toml:7:14: rule `r`: `target_ref` is empty, so the rule would never match
      hint: leave it out if it should not matter
    team.toml:7:21: rule `r`: `except_target_ref` is empty, so it excludes nothing
      hint: leave it out if it should not matter
    team.toml:7:31: rule `r`: `main` in `target_ref` is not the name of a ref
      hint: write `refs/heads/main`
    team.toml:7:15: rule `r`: `refs/heads/[a` in `target_ref` is not a glob: unclosed character class; missing ']'
    team.toml:7:1: unknown field `branch`, expected one of `id`, `effect`, `why`, `fix`, `code`, `action`, `paths`, `except_paths`, `kinds`, `provider`, `model`, `execution_mode`, `enforcement`, `checked`, `target_ref`, `except_target_ref`, `findings`, `touches`, `ecosystems`, `hours`, `weekdays`, `max_added`, `over_added`, `max_removed`, `over_removed`, `max_lines`, `over_lines`, `max_bytes`, `over_bytes`, `max_files`, `over_files`, `max_deleted`, `over_deleted`, `max_lost_files`, `over_lost_files`, `max_old_lines`, `over_old_lines`, `max_net_removed`, `over_net_removed`, `max_lost_percent`, `over_lost_percent`, `max_attempt`, `over_attempt`, `max_context_bytes`, `over_context_bytes`, `examples`
    "#);
}
