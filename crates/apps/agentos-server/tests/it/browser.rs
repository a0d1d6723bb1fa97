//! The page in a real browser, if the machine has one.

use agentos_testkit::browser::RealBrowser;
use agentos_testkit::repo::TestRepo;
use serde_json::json;

use crate::support::Service;
use crate::talk::{add_models, add_provider, start_echo, start_model};

const TOTAL: &str = "/// Sums the prices of an order, in cents.\npub fn total(prices: &[u64]) -> u64 {\n    let mut sum = 0;\n    \
                     for price in prices {\n        sum -= price;\n    }\n    sum\n}\n";

/// A repository with the files that the script changes.
fn shop() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("src/total.rs", TOTAL);
    repo.write(
        ".github/workflows/ci.yml",
        "name: ci\non: push\njobs:\n  test:\n    steps:\n      - run: cargo build\n",
    );
    for at in 0..200 {
        let text = format!(
            "// Part {at}.\npub fn value() -> u64 {{\n    let base = {at};\n    let one = 1;\n    let two = 2;\n    base + one + two\n}}\n// End.\n"
        );
        repo.write(&format!("src/parts/part_{at:03}.rs"), text);
    }
    repo.commit_all("begin");
    repo
}

/// Runs a script against a service, and shows what it printed.
fn run_script(browser: &RealBrowser, script: &str, service: &Service) {
    let port = service.address.split_once(':').unwrap().1;
    let facts = json!({ "address": service.address, "url": service.origin(), "device": format!("http://localhost:{port}"), "socket": service.socket(),
        "token": service.token, "repository": service.repo.path() });
    let (code, printed) = browser.run_script(script, facts).unwrap();
    eprintln!("{printed}");
    assert_eq!(code, Some(0), "{printed}");
}

#[test]
fn another_device_is_paired_and_signs_approvals() {
    let Some(browser) = RealBrowser::find() else {
        return;
    };
    run_script(&browser, "devices.mjs", &Service::start_for_devices(shop()));
}

#[test]
fn no_page_of_somebody_else_has_an_effect() {
    let Some(browser) = RealBrowser::find() else {
        return;
    };
    let model = start_echo();
    let service = Service::start_with(shop(), |cli| add_provider(cli, "echo", &model));
    run_script(&browser, "attacks.mjs", &service);
}

#[test]
fn a_person_works_on_the_page_in_a_browser() {
    let Some(browser) = RealBrowser::find() else {
        return;
    };
    let model = start_model();
    let service = Service::start_with(shop(), |cli| add_models(cli, &model));
    run_script(&browser, "page.mjs", &service);
}
