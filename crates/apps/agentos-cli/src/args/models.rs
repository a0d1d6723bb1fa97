//! Arguments of `models`.
//!
//! Owns: their names, flags and help. Never: decides whether an entry can be used; the host does.

use std::collections::BTreeMap;
use std::path::PathBuf;

use agentos_host::{UserModel, UserPrices};
use agentos_tool::{Ability, TokenPrice};
use clap::{Args, Subcommand, ValueEnum};

/// Examples of `models`.
pub const EXAMPLES: &[&str] = &["agentos models list", "agentos models show gpt-4o"];
/// Examples of `models list`.
pub const LIST_EXAMPLES: &[&str] = &[
    "agentos models list --all --prices",
    "agentos models list --available",
    "agentos models list --disputed",
];
/// Examples of `models show`.
pub const SHOW_EXAMPLES: &[&str] = &[
    "agentos models show openai/gpt-4o",
    "agentos models show gpt-4o --json",
];
/// Examples of `models add`.
pub const ADD_EXAMPLES: &[&str] = &[
    "agentos models add custom/my-model --context-window 32000 --output-limit 4096 --vision no",
    "agentos models add http://127.0.0.1:8080",
    "agentos models add custom/fast -p llamacpp --name qwen3-coder --ability sql=expert",
];
/// Examples of `models remove`.
pub const REMOVE_EXAMPLES: &[&str] = &[
    "agentos models remove custom/my-model",
    "agentos models remove custom/my-model --json",
];
/// Examples of `models import`.
pub const IMPORT_EXAMPLES: &[&str] = &[
    "agentos models import api.json --provider openrouter",
    "agentos models import team-models.json --json",
];
/// Examples of `models default`.
pub const DEFAULT_EXAMPLES: &[&str] = &["agentos models default custom/my-model", "agentos models default"];

/// Examples of `models load`.
pub const LOAD_EXAMPLES: &[&str] = &[
    "agentos models load lmstudio/qwen/qwen3-coder-30b",
    "agentos models load qwen3-coder:30b -p ollama --json",
];
/// Examples of `models unload`.
pub const UNLOAD_EXAMPLES: &[&str] = &[
    "agentos models unload ollama/qwen3-coder:30b",
    "agentos models unload qwen3 -p llamacpp --timeout 20",
];
/// Examples of `models warmup`.
pub const WARMUP_EXAMPLES: &[&str] = &[
    "agentos models warmup ollama/qwen3-coder:30b",
    "agentos models warmup qwen3 -p llamacpp --json",
];

/// Verbs of `models`.
#[derive(Debug, Subcommand)]
pub enum ModelsVerb {
    /// List the known models; `--available` asks the servers which models they have
    List(ModelsListArgs),
    /// Show the limits, capabilities and prices of a model, and the source of each value
    Show(ModelsShowArgs),
    /// Add a server by its address, or a model of your own
    Add(Box<ModelsAddArgs>),
    /// Remove a model that you added
    Remove(ModelsRemoveArgs),
    /// Add the models of a table: of this program, of models.dev or of LiteLLM
    Import(ModelsImportArgs),
    /// Show or choose the model of tasks that name none
    Default(ModelsDefaultArgs),
    /// Have a server on this machine load a model; several calls at once load it once
    Load(ModelMemoryArgs),
    /// Have a server on this machine unload a model
    Unload(ModelMemoryArgs),
    /// Load a model and let it answer one token, so that the first answer waits for nothing
    Warmup(ModelMemoryArgs),
}

/// Arguments of `models load`, `models unload` and `models warmup`.
#[derive(Debug, Args)]
#[command(
    after_help = "LM Studio (from 0.4), Ollama, the router of llama.cpp and llama-swap take such requests; other servers get the \
                        code `no-loading`. Nothing is loaded that no call names."
)]
pub struct ModelMemoryArgs {
    /// Model, as in `ollama/qwen3`; with `--provider`, its name on that server
    #[arg(value_name = "MODEL")]
    pub model: String,
    /// Provider whose server has the model
    #[arg(short, long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Longest time for all of it, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub timeout: u64,
}

/// Arguments of `models list`.
#[derive(Debug, Args)]
pub struct ModelsListArgs {
    /// Show only models of this provider
    #[arg(short, long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Show only models that use this wire format
    #[arg(long = "api-type", visible_alias = "api", value_name = "WIRE")]
    pub api: Option<String>,
    /// Show every model of the catalogue, not only those that are built in and your own
    #[arg(long)]
    pub all: bool,
    /// Show prices instead of limits, in US dollars per million tokens
    #[arg(long)]
    pub prices: bool,
    /// Show only models on whose price the public tables disagree, with the lowest and the highest
    #[arg(long)]
    pub disputed: bool,
    /// Ask the servers which models they have now, and show those
    #[arg(long, conflicts_with_all = ["all", "disputed"])]
    pub available: bool,
}

/// Arguments of `models show`.
#[derive(Debug, Args)]
pub struct ModelsShowArgs {
    /// Model, as in `openai/gpt-4o`
    #[arg(value_name = "MODEL")]
    pub model: String,
}

/// Knowledge about an ability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AbilityArg {
    /// The model has it
    Yes,
    /// The model does not have it
    No,
    /// Nobody knows
    Unknown,
}

/// Arguments of `models add`.
#[derive(Debug, Args)]
#[command(
    after_help = "With an address, the server is asked what it is (llama.cpp, Ollama, LM Studio, vLLM, or another one with OpenAI's wire), \
                        which models it has and which window is loaded.\nIt becomes a provider of your own, and your default if you have none. \
                        No key is sent, and a server on another machine never gets the name of a built-in provider.\n\nThe entry is written to `models.json` in your own settings folder, in place of one with the same id. It \
                        wins over the catalogue for\nevery value that it states; if it states a price, all prices are its own. \
                        A repository cannot add models."
)]
pub struct ModelsAddArgs {
    /// Id: provider, `/` and the model's name on its server, as in `custom/my-model`; or the address of a server
    #[arg(value_name = "ID|URL")]
    pub id: String,
    /// Provider that reaches the model [default: the part of ID before the first `/`], or the name of the new server
    #[arg(short, long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Name of the model on the server [default: the part of ID after the first `/`, or the model that is loaded]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Maximum tokens of prompt and answer together
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub context_window: Option<u64>,
    /// Maximum tokens of one answer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub output_limit: Option<u64>,
    /// Ability to call tools
    #[arg(long, value_enum, value_name = "ABILITY")]
    pub tools: Option<AbilityArg>,
    /// Ability to read images
    #[arg(long, value_enum, value_name = "ABILITY")]
    pub vision: Option<AbilityArg>,
    /// Ability to constrain answers to a JSON Schema
    #[arg(long, value_enum, value_name = "ABILITY")]
    pub json_mode: Option<AbilityArg>,
    /// Ability to reason before the answer
    #[arg(long, value_enum, value_name = "ABILITY")]
    pub reasoning: Option<AbilityArg>,
    /// Price of the prompt, in US dollars per million tokens
    #[arg(long, value_name = "USD")]
    pub price_input: Option<TokenPrice>,
    /// Price of the answer
    #[arg(long, value_name = "USD")]
    pub price_output: Option<TokenPrice>,
    /// Price of the part of the prompt that is read from a cache [default: the price of the prompt]
    #[arg(long, value_name = "USD")]
    pub price_cached: Option<TokenPrice>,
    /// Price of the part of the prompt that is written to a cache [default: the price of the prompt]
    #[arg(long, value_name = "USD")]
    pub price_cache_write: Option<TokenPrice>,
    /// Ability of your own, which is kept and shown; can be repeated
    #[arg(long = "ability", value_name = "KEY=VALUE", value_parser = split_ability)]
    pub abilities: Vec<(String, String)>,
}

/// Arguments of `models remove`.
#[derive(Debug, Args)]
pub struct ModelsRemoveArgs {
    /// Id of the model that you added
    #[arg(value_name = "ID")]
    pub id: String,
}

/// Arguments of `models import`.
#[derive(Debug, Args)]
#[command(
    after_help = "The table is a file of this program (`agentos schema models-file`), `api.json` of models.dev, or LiteLLM's\n\
                        `model_prices_and_context_window.json`. Entries with a mistake are named and skipped; then the exit code is 2."
)]
pub struct ModelsImportArgs {
    /// File with the table
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Take only models of this provider
    #[arg(short, long, value_name = "NAME")]
    pub provider: Option<String>,
}

/// Arguments of `models default`.
#[derive(Debug, Args)]
pub struct ModelsDefaultArgs {
    /// Provider and model, as in `openai/gpt-4o`; without it, show the present one
    #[arg(value_name = "ID")]
    pub id: Option<String>,
}

/// Splits an ability of the user's own at its first `=`.
fn split_ability(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

impl From<AbilityArg> for Ability {
    fn from(arg: AbilityArg) -> Self {
        match arg {
            AbilityArg::Yes => Self::Yes,
            AbilityArg::No => Self::No,
            AbilityArg::Unknown => Self::Unknown,
        }
    }
}

impl From<&ModelsAddArgs> for UserModel {
    fn from(args: &ModelsAddArgs) -> Self {
        let price = UserPrices {
            input: args.price_input,
            cached: args.price_cached,
            cache_write: args.price_cache_write,
            output: args.price_output,
        };
        Self {
            id: args.id.clone(),
            provider: args.provider.clone(),
            name: args.name.clone(),
            context_window: args.context_window,
            output_limit: args.output_limit,
            tools: args.tools.map(Into::into),
            vision: args.vision.map(Into::into),
            json_mode: args.json_mode.map(Into::into),
            reasoning: args.reasoning.map(Into::into),
            price: (price != UserPrices::default()).then_some(price),
            abilities: BTreeMap::from_iter(args.abilities.iter().cloned()),
            source: "user".to_owned(),
        }
    }
}
