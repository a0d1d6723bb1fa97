//! The stamp of real files.

use agentos_testkit::repo::write_file;

use super::*;
use agentos_ground::environment::Environment;

#[test]
fn a_stamp_differs_when_a_file_of_the_settings_comes_or_changes() {
    let home = tempfile::tempdir().unwrap();
    let vars = [("HOME".to_owned(), home.path().display().to_string())];
    let ground = Ground::new(Environment::new(vars, home.path().to_owned()));
    let folder = ground.environment().config_dir().unwrap();
    let credentials = ground.environment().credentials_file().unwrap();
    let names = ["config.toml", "models.json", "budgets.json", "profiles/fast.json"];
    let files = names.map(|name| folder.join(name));
    for file in files.iter().chain([&credentials]) {
        let without = SettingsMarks::take(&ground, "fast");
        assert!(without.is_unchanged(), "{}", file.display());
        write_file(file, "{}");
        assert!(!without.is_unchanged(), "{} is new", file.display());
        let with = SettingsMarks::take(&ground, "fast");
        write_file(file, "{ }");
        assert!(!with.is_unchanged(), "{} has changed", file.display());
    }
    let before = SettingsMarks::take(&ground, "fast");
    write_file(&folder.join("profiles/other.json"), "{}");
    assert!(
        before.is_unchanged(),
        "another provider's profile has no part in it"
    );
}
