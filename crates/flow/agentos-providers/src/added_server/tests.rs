//! Names of added servers.

use agentos_testkit::repo::TestRepo;

use super::*;
use crate::Providers;
use crate::server_probe::ServerSort;
use agentos_ground::Ground;
use agentos_ground::environment::Environment;

#[test]
fn a_server_elsewhere_never_takes_the_name_of_a_provider_of_the_product() {
    let repo = TestRepo::new();
    let home = ("HOME".to_owned(), repo.outside().to_str().unwrap().to_owned());
    let ground = Ground::new(Environment::new([home], repo.path().to_owned()));
    let name = |sort, url: &str| {
        let seen = SeenServer {
            sort,
            base_url: url.to_owned(),
            models: Vec::new(),
        };
        Providers::of(&ground)
            .name_server(&seen, &HttpUrl::parse(url).unwrap(), None)
            .unwrap()
            .0
    };
    let names = [
        name(ServerSort::Ollama, "http://127.0.0.1:11434"),
        name(ServerSort::Ollama, "https://gpu.example.com"),
        name(ServerSort::OpenAi, "http://openai.lan:8080"),
        name(ServerSort::OpenAi, "https://x.tool.lan"),
        name(ServerSort::OpenAi, "https://api.shop.example"),
        name(ServerSort::OpenAi, "http://10.0.0.7:8000"),
    ];
    assert_eq!(
        names,
        [
            "ollama",
            "ollama-example",
            "openai-openai",
            "tool-tool",
            "shop",
            "server"
        ]
    );
}
