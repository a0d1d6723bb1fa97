//! Files that the links of the base give another name.

use crate::support::*;

fn linked(set: PolicySet, links: &[(&str, &str)]) -> PolicySet {
    let links: Vec<_> = links
        .iter()
        .map(|(path, target)| ((*path).to_owned(), (*target).to_owned()))
        .collect();
    set.with_links(&links)
}

const LINKS: &[(&str, &str)] = &[
    ("Makefile", "build/rules.txt"),
    (".envrc", "env.txt"),
    ("CLAUDE.md", "docs/ai.txt"),
    (".vscode", "tools/code"),
    (".cargo", "cargocfg"),
    ("README.md", "docs/readme.md"),
];

#[test]
fn a_file_is_judged_by_each_name_under_which_it_is_reached() {
    let set = linked(PolicySet::builtin().unwrap(), LINKS);
    let judge = |change: &Change| {
        let decision = set.judge(change, &local());
        let reasons: Vec<_> = decision
            .deciding()
            .map(|reason| format!("{}: {}", reason.rule, reason.sentence()))
            .collect();
        format!("{} {}", decision.effect().as_str(), reasons.join(" | "))
    };
    let paths = [
        "build/rules.txt",
        "env.txt",
        "docs/ai.txt",
        "tools/code/tasks.json",
        "cargocfg/config.toml",
    ];
    let answers = paths.map(|path| {
        assert_eq!(judge(&modify(path)), judge(&create(path)));
        judge(&modify(path))
    });
    insta::assert_snapshot!(answers.join("\n"), @r"
    ask default.build: build scripts run on every machine that builds the project: also reached as `Makefile`
    ask default.build: build scripts run on every machine that builds the project: also reached as `.envrc` | default.key-files: files of this name usually hold keys: also reached as `.envrc`
    ask default.agents: coding agents obey this file: also reached as `CLAUDE.md`
    ask default.editor: editors run tasks and load settings from this file: also reached as `.vscode/tasks.json`
    ask default.build: build scripts run on every machine that builds the project: also reached as `.cargo/config.toml`
    ");
    for path in ["docs/readme.md", "build/rules.md", "tools/coder/tasks.json"] {
        assert!(judge(&modify(path)).starts_with("allow"), "{path}");
    }
}

#[test]
fn a_rule_of_a_person_holds_for_what_a_link_leads_to() {
    let deny = "[[rule]]\nid = \"team.make\"\neffect = \"deny\"\nwhy = \"ours\"\npaths = [\"Makefile\"]\n";
    let set = linked(with(deny), LINKS);
    let decision = set.judge(&modify("build/rules.txt"), &local());
    let reason = decision.deciding().next().unwrap();
    assert_eq!(reason.sentence(), "ours: also reached as `Makefile`");
    assert_eq!(word(&decision), "deny protected-path");
    assert!(set.deny_ahead(&["build/rules.txt"], &local()).is_some());
    let read = set.decide_read("build/rules.txt", b"", &local());
    assert_eq!(word(&read), "deny protected-path");
}

#[test]
fn an_allowed_name_does_not_open_the_file_behind_it() {
    let rules = "preset = \"none\"\n[[rule]]\nid = \"team.docs\"\neffect = \"allow\"\nwhy = \"docs\"\npaths = [\"docs/**\"]\n\
                 [[rule]]\nid = \"team.land\"\neffect = \"allow\"\nwhy = \"land\"\naction = [\"land\"]\n";
    let set = linked(with(rules), &[("docs/main.rs", "../src/main.rs")]);
    assert_eq!(word(&set.judge(&modify("docs/a.md"), &local())), "allow");
    assert_eq!(
        word(&set.judge(&modify("src/main.rs"), &local())),
        "deny protected-path"
    );
}

#[test]
fn a_file_behind_the_name_of_a_key_file_is_not_sent() {
    let set = linked(PolicySet::builtin().unwrap(), &[(".env", "config/local.txt")]);
    assert_eq!(
        word(&set.decide_read("config/local.txt", b"", &cloud())),
        "deny secret"
    );
    assert_eq!(word(&set.decide_read("config/other.txt", b"", &cloud())), "allow");
    assert_ne!(
        set.read_scope(&cloud()),
        PolicySet::builtin().unwrap().read_scope(&cloud())
    );
}

#[test]
fn a_file_of_more_names_than_are_compared_is_asked_about() {
    let links: Vec<_> = (0..501)
        .map(|at| (format!("p{at}/a.txt"), "../a.txt".to_owned()))
        .collect();
    let set = PolicySet::builtin().unwrap().with_links(&links);
    let decision = set.judge(&modify("a.txt"), &local());
    assert_eq!(word(&decision), "ask protected-path");
    let reason = decision.deciding().next().unwrap();
    assert_eq!(
        reason.found.as_deref(),
        Some("also reached by links under many names")
    );
    let links = links.split_last().unwrap().1;
    let set = PolicySet::builtin().unwrap().with_links(links);
    assert_eq!(word(&set.judge(&modify("a.txt"), &local())), "allow");
}
