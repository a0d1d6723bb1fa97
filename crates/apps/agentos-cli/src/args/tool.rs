//! Arguments of `tool` and `profile`.
//!
//! Owns: their names, flags and help. Never: keeps a key after the command has ended.

use std::path::PathBuf;

use agentos_host::{
    AdapterKind, CallNames, EffectError, KeyStore, ProviderChoice, ProviderOverrides, Recording, TimeoutsFile,
};
use agentos_tool::ThinkingLevel;
use clap::{Args, Subcommand, ValueEnum};

use crate::app::App;

use super::land::{EditFormatArg, ProgramFlags};

/// Examples of `tool run`.
pub const RUN_EXAMPLES: &[&str] = &[
    "agentos tool run -p ollama \"fix the typo\" --file README.md > fix.diff",
    "agentos tool run -p replay --replay reply.md \"fix the typo\" --file README.md",
];

/// Examples of `tool auth sign-in`.
pub const SIGN_IN_EXAMPLES: &[&str] = &[
    "agentos tool auth sign-in --provider tracker",
    "agentos tool auth sign-in --provider tracker --store file --no-browser",
];

/// Examples of `tool auth clear`.
pub const CLEAR_EXAMPLES: &[&str] = &[
    "agentos tool auth clear --provider openai",
    "agentos tool auth clear --provider openai --json",
];

/// Provider, and the settings that override its profile.
#[derive(Debug, Clone, Args)]
pub struct ProviderFlags {
    /// Provider to use, or provider and model as `openai/gpt-4o`; `agentos tool list` shows them all [default: the one that
    /// `agentos use` chose]
    #[arg(short, long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Use the text of this file as the answer (provider `replay`)
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
    /// Settings that override the profile.
    #[command(flatten)]
    pub over: OverrideFlags,
    /// Maximum number of tokens in the answer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_output_tokens: Option<u64>,
    /// Request thinking: on, off, low or high [default: the profile's]
    ///
    /// It is sent where the server has a field for it. A server that refuses the field is asked again without it.
    #[arg(long, value_name = "LEVEL", value_parser = parse_thinking)]
    pub thinking: Option<ThinkingLevel>,
    /// Edit format to request instead of the profile's; landing reads every format
    #[arg(long, value_enum, value_name = "FORM")]
    pub edit_format: Option<EditFormatArg>,
    /// Need of the turn, by which a pool of models chooses; can be repeated
    #[arg(long = "require", value_name = "NAME=VALUE")]
    pub needs: Vec<String>,
}

/// Settings that override a profile.
#[derive(Debug, Clone, Default, Args)]
pub struct OverrideFlags {
    /// Address of the service
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// Send the provider's key there, too
    ///
    /// Without it, a key that was stored for another address is not sent.
    #[arg(long)]
    pub send_key: bool,
    /// Model to use, as its server names it
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// End the call after so many seconds of silence; for a program, so many seconds in all. A health check takes at most 5
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: Option<u64>,
    /// Time limit for connecting to the server
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub connect_timeout: Option<u64>,
    /// Time limit for the first byte of the answer
    ///
    /// The server reads the prompt before it sends one.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub first_byte_timeout: Option<u64>,
    /// Time limit for silence in the middle of the answer
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub idle_timeout: Option<u64>,
    /// Time limit for the whole answer
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub total_timeout: Option<u64>,
}

/// Verbs of `tool`.
#[derive(Debug, Subcommand)]
pub enum ToolVerb {
    /// List the providers with their addresses, models and the sources of their keys
    List,
    /// Check the health of all providers at once
    Health(HealthArgs),
    /// Manage providers' keys
    #[command(subcommand)]
    Auth(AuthVerb),
    /// Run a tool once and print the result; lands nothing
    Run(ToolRunArgs),
    /// Show the tools of a toolbox, ask whether models may call them, and remember the answer
    #[command(
        after_help = "A toolbox is a program of yours with a profile of the adapter `toolbox`; models call its tools in `chat --tool \
                      NAME`. It is started in the sandbox, without a repository, your files, a key or your environment. Its bytes, \
                      tools, descriptions and schemas are remembered; if one of them changes, its tools are not offered until you \
                      are asked again. Without a terminal, `--json` shows the same with its `sha256`, and `--accept` consents to \
                      exactly that. `agentos schema toolbox-request` and `toolbox-message` print the protocol's schemas."
    )]
    Trust(TrustArgs),
    /// Check that a program speaks the tool protocol: JSON lines over its standard streams
    #[command(
        after_help = "`agentos schema tool-request` and `agentos schema tool-message` print the protocol's schemas."
    )]
    Conform(ConformArgs),
}

/// Arguments of `tool health`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exits with 0 if every provider named with --provider is connected; without --provider, \
                        if at least one is."
)]
pub struct HealthArgs {
    /// Check only this provider; can be repeated
    #[arg(short, long = "provider", value_name = "NAME")]
    pub providers: Vec<String>,
    /// Settings that override the profile. Only valid with exactly one --provider.
    #[command(flatten)]
    pub over: OverrideFlags,
    /// Let each connected tool make a tiny edit in each edit format, and rank the formats; may cost money
    #[arg(long)]
    pub probe: bool,
    /// Test the tool calls of each connected model; may cost money
    #[arg(long)]
    pub probe_tools: bool,
    /// Save the best format as `edit_format` in your profile
    #[arg(long, requires = "probe")]
    pub save: bool,
    /// Repeat the check every SECONDS seconds until Ctrl-C [default: 2]
    #[arg(
        long,
        value_name = "SECONDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "2",
        // A probe may cost money, so it must not be repeated without being requested each time.
        conflicts_with_all = ["probe", "probe_tools"],
        value_parser = clap::value_parser!(u64).range(1..=3600)
    )]
    pub watch: Option<u64>,
}

/// Arguments of `tool run`.
#[derive(Debug, Args)]
pub struct ToolRunArgs {
    /// Task in your own words; `-` reads it from standard input
    #[arg(value_name = "TASK", required_unless_present = "command")]
    pub task: Option<String>,
    /// Provider and its settings.
    #[command(flatten)]
    pub provider: ProviderFlags,
    /// Program to run as the tool, with what it may read.
    #[command(flatten)]
    pub program: ProgramFlags,
    /// Show this committed file to the tool; can be repeated
    #[arg(short, long = "file", value_name = "PATH")]
    pub files: Vec<String>,
    /// Show the definitions of this name, such as `open` or `Shop::open`; can be repeated
    #[arg(long = "symbol", value_name = "NAME")]
    pub symbols: Vec<String>,
}

/// Arguments of `tool conform`.
#[derive(Debug, Args)]
pub struct ConformArgs {
    /// Program and its arguments
    #[arg(
        required = true,
        // The flags after the program are its own. Without these two settings clap would look for them among ours.
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    pub command: Vec<String>,
    /// Let the program read this file or folder in addition to the system's and those on its command line
    #[arg(long = "read", value_name = "PATH")]
    pub readable: Vec<PathBuf>,
    /// Time limit for one answer in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: u64,
}

/// Arguments of `tool trust`.
#[derive(Debug, Args)]
pub struct TrustArgs {
    /// Name of the toolbox
    #[arg(value_name = "NAME")]
    pub toolbox: String,
    /// Consent without a question, if the toolbox has this SHA-256 now
    #[arg(long, value_name = "SHA256", conflicts_with = "forget")]
    pub accept: Option<String>,
    /// Forget the consent: the tools are not offered any more
    #[arg(long)]
    pub forget: bool,
}

/// Store of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StoreArg {
    /// Keyring of the operating system
    Keyring,
    /// File `~/.agentos/credentials.json`, readable only by you
    File,
}

/// Verbs of `tool auth`.
#[derive(Debug, Subcommand)]
pub enum AuthVerb {
    /// Store a key, read from standard input or typed without echo
    #[command(
        after_help = "For one call, put the key into the variable of its provider, as in `AGENTOS_OPENAI_API_KEY=... agentos run ...`: it \
                      wins over a stored key. No verb that calls a model takes a key as an argument, because every program of the machine \
                      can read arguments. Where no keyring is, `--store file` keeps the key in a file that only you can read: it is \
                      never written there without your word."
    )]
    Set(AuthSetArgs),
    /// Sign in at an MCP server with your browser, and store its tokens
    #[command(
        after_help = "The server's own metadata names the authorization server; only https is used, or this machine. The browser returns \
                      to a port of this machine that is open until then. The token is sent to this server alone, and refreshed by \
                      itself. Without a browser here, open the printed address on this machine in another way."
    )]
    SignIn(AuthSignInArgs),
    /// Show the source of each provider's key and its sign-in, never a key or token itself
    Status,
    /// Delete a provider's key and sign-in
    Clear(AuthClearArgs),
}

/// Arguments of `tool auth set`.
#[derive(Debug, Args)]
pub struct AuthSetArgs {
    /// Name of the provider
    #[arg(short, long, value_name = "NAME")]
    pub provider: String,
    /// Key to store; other programs can read a command line, so prefer standard input
    #[arg(long, value_name = "KEY")]
    pub api_key: Option<String>,
    /// Read the key from standard input, even if that is a terminal
    #[arg(long, conflicts_with = "api_key")]
    pub stdin: bool,
    /// Store for the key
    #[arg(long, value_enum, default_value = "keyring")]
    pub store: StoreArg,
}

/// Arguments of `tool auth sign-in`.
#[derive(Debug, Args)]
pub struct AuthSignInArgs {
    /// Name of the provider: an MCP server with an address
    #[arg(short, long, value_name = "NAME")]
    pub provider: String,
    /// Scope to request instead of those that the server names; can be repeated
    #[arg(long = "scope", value_name = "SCOPE")]
    pub scopes: Vec<String>,
    /// Print the address, and open no browser
    #[arg(long)]
    pub no_browser: bool,
    /// Longest wait for the browser
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: u64,
    /// Store for the tokens
    #[arg(long, value_enum, default_value = "keyring")]
    pub store: StoreArg,
}

/// Arguments of `tool auth clear`.
#[derive(Debug, Args)]
pub struct AuthClearArgs {
    /// Name of the provider
    #[arg(short, long, value_name = "NAME")]
    pub provider: String,
}

/// Verbs of `profile`.
#[derive(Debug, Subcommand)]
pub enum ProfileVerb {
    /// List the profiles
    List,
    /// Show a profile; `--origin` adds the source of each value
    Show(ProfileShowArgs),
    /// Create a profile in your settings; asks for missing values
    Init(ProfileInitArgs),
    /// Validate a profile: one file, or all files of a provider
    Validate(ProfileValidateArgs),
}

/// Arguments of `profile show`.
#[derive(Debug, Args)]
pub struct ProfileShowArgs {
    /// Name of the provider
    #[arg(value_name = "NAME")]
    pub provider: String,
    /// Show the source of each value
    #[arg(long)]
    pub origin: bool,
}

/// Wire format that a profile can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AdapterArg {
    /// OpenAI's chat API, which most servers support
    Openai,
    /// LM Studio
    Lmstudio,
    /// llama.cpp's own server
    Llamacpp,
    /// Ollama
    Ollama,
    /// Anthropic's messages
    Anthropic,
    /// Gemini
    Gemini,
}

/// Arguments of `profile init`.
#[derive(Debug, Args)]
pub struct ProfileInitArgs {
    /// Name of the provider: lower-case letters, digits and `-`
    #[arg(value_name = "NAME")]
    pub provider: String,
    /// Address of the service
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// Model to use
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Wire format of the server [default: the provider's own, or `openai` for a new provider]
    #[arg(long, value_enum, value_name = "WIRE")]
    pub adapter: Option<AdapterArg>,
    /// Name of a stored key to share with another profile
    #[arg(long, value_name = "NAME")]
    pub api_key_ref: Option<String>,
    /// Print the file instead of writing it
    #[arg(long)]
    pub print: bool,
    /// Overwrite an existing profile
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `profile validate`.
#[derive(Debug, Args)]
pub struct ProfileValidateArgs {
    /// Profile file, or name of a provider
    #[arg(value_name = "FILE|NAME")]
    pub file: PathBuf,
}

impl ProviderFlags {
    /// Returns the choice that the flags and the settings make together.
    ///
    /// # Errors
    /// Fails if neither names a provider.
    pub fn complete_choice(&self, app: &App) -> Result<ProviderChoice, EffectError> {
        let choice = ProviderChoice {
            replay: self.replay.clone().map(Recording::File),
            overrides: ProviderOverrides {
                thinking: self.thinking,
                ..(&self.over).into()
            },
            max_output_tokens: self.max_output_tokens,
            edit_format: self.edit_format.map(Into::into),
            needs: self.needs.clone(),
            ..ProviderChoice::default()
        };
        let named = CallNames {
            provider: self.provider.as_deref(),
            remembered: None,
        };
        app.host
            .providers()
            .read_settings()?
            .complete_for(&app.host, named, choice)
    }
}

/// Reads a level of thinking.
///
/// # Errors
/// Fails if there is no such level.
pub fn parse_thinking(text: &str) -> Result<ThinkingLevel, String> {
    ThinkingLevel::parse(text).ok_or_else(|| "the levels are on, off, low and high".to_owned())
}

impl From<&OverrideFlags> for ProviderOverrides {
    fn from(flags: &OverrideFlags) -> Self {
        Self {
            base_url: flags.base_url.clone(),
            send_key: flags.send_key,
            model: flags.model.clone(),
            timeout_seconds: flags.timeout,
            timeouts: TimeoutsFile {
                connect_seconds: flags.connect_timeout,
                first_byte_seconds: flags.first_byte_timeout,
                idle_seconds: flags.idle_timeout,
                total_seconds: flags.total_timeout,
            },
            retries: None,
            thinking: None,
            without_repository: false,
        }
    }
}

impl From<StoreArg> for KeyStore {
    fn from(arg: StoreArg) -> Self {
        match arg {
            StoreArg::Keyring => Self::Keyring,
            StoreArg::File => Self::File,
        }
    }
}

impl From<AdapterArg> for AdapterKind {
    fn from(arg: AdapterArg) -> Self {
        match arg {
            AdapterArg::Openai => Self::Openai,
            AdapterArg::Lmstudio => Self::Lmstudio,
            AdapterArg::Llamacpp => Self::Llamacpp,
            AdapterArg::Ollama => Self::Ollama,
            AdapterArg::Anthropic => Self::Anthropic,
            AdapterArg::Gemini => Self::Gemini,
        }
    }
}
