//! Arguments of `tool` and `profile`.
//!
//! Owns: their names, flags and help. Never: holds a key longer than the call.

use std::path::PathBuf;

use agentos_host::{AdapterKind, KeyStore, ProviderChoice, ProviderOverrides, Recording};
use clap::{Args, Subcommand, ValueEnum};

use super::land::{EditFormatArg, ProgramFlags};

/// A provider and the settings that win over its profile.
#[derive(Debug, Clone, Args)]
pub struct ProviderFlags {
    /// The provider; `agentos tool list` shows them
    #[arg(short, long, value_name = "NAME")]
    pub provider: String,
    /// Answer with the text of this file (provider `replay`)
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
    /// Settings that win over the profile.
    #[command(flatten)]
    pub over: OverrideFlags,
    /// Most tokens the answer may have
    #[arg(long, value_name = "N")]
    pub max_output_tokens: Option<u64>,
    /// The form the tool is asked to answer in, instead of the profile's; landing reads every form
    #[arg(long, value_enum, value_name = "FORM")]
    pub edit_format: Option<EditFormatArg>,
}

/// Settings that win over a profile.
#[derive(Debug, Clone, Default, Args)]
pub struct OverrideFlags {
    /// Address of the service
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// Send the provider's key there although it is for another address
    #[arg(long)]
    pub send_key: bool,
    /// Model to use
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Seconds for one answer; a health check of a server takes at most 5
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: Option<u64>,
}

/// The verbs of `tool`.
#[derive(Debug, Subcommand)]
pub enum ToolVerb {
    /// List the providers, their addresses, models and where their keys come from
    List,
    /// Ask each provider how it is, all at once
    Health(HealthArgs),
    /// Keep providers' keys
    #[command(subcommand)]
    Auth(AuthVerb),
    /// Ask a tool once and print the verdict; lands nothing
    Run(ToolRunArgs),
    /// Check that a program speaks the tool protocol: JSON lines over its standard streams
    #[command(
        after_help = "The protocol is written down in `agentos schema tool-request` and `agentos schema tool-message`."
    )]
    Conform(ConformArgs),
}

/// Arguments of `tool health`.
#[derive(Debug, Args)]
#[command(
    after_help = "Ends with 0 when every provider named with --provider is connected; without --provider, \
                        when at least one is."
)]
pub struct HealthArgs {
    /// Only this provider; may be given more than once
    #[arg(short, long = "provider", value_name = "NAME")]
    pub providers: Vec<String>,
    /// Settings that win over the profile; with one --provider only.
    #[command(flatten)]
    pub over: OverrideFlags,
    /// Also have each connected tool make one tiny edit in each form, and rank the forms it obeys; may cost money
    #[arg(long)]
    pub probe: bool,
    /// Also offer each connected model one tool, and say whether its tool calls work; may cost money
    #[arg(long)]
    pub probe_tools: bool,
    /// Keep the best form as `edit_format` in the user's profile
    #[arg(long, requires = "probe")]
    pub save: bool,
    /// Look again every so many seconds, until Ctrl-C [default: 2]
    #[arg(
        long,
        value_name = "SECONDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "2",
        conflicts_with_all = ["probe", "probe_tools"],
        value_parser = clap::value_parser!(u64).range(1..=3600)
    )]
    pub watch: Option<u64>,
}

/// Arguments of `tool run`.
#[derive(Debug, Args)]
pub struct ToolRunArgs {
    /// What to do, in your words
    #[arg(value_name = "TASK", required_unless_present = "command")]
    pub task: Option<String>,
    /// The provider and its settings.
    #[command(flatten)]
    pub provider: ProviderFlags,
    /// What a program is given, and what it must be held by.
    #[command(flatten)]
    pub program: ProgramFlags,
    /// A committed file to show to the tool; may be given more than once
    #[arg(short, long = "file", value_name = "PATH")]
    pub files: Vec<String>,
}

/// Arguments of `tool conform`.
#[derive(Debug, Args)]
pub struct ConformArgs {
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    pub command: Vec<String>,
    /// A file or folder that it may read besides the system's and the files that its command line names
    #[arg(long = "read", value_name = "PATH")]
    pub readable: Vec<PathBuf>,
    /// Seconds for one answer
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: u64,
}

/// Where a key is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StoreArg {
    /// The system's keyring
    Keyring,
    /// `~/.agentos/credentials.json`, readable by you alone
    File,
}

/// The verbs of `tool auth`.
#[derive(Debug, Subcommand)]
pub enum AuthVerb {
    /// Keep a key: from standard input, or typed without echo
    Set(AuthSetArgs),
    /// Show where each provider's key comes from, never the key
    Status,
    /// Forget a provider's key
    Clear(AuthClearArgs),
}

/// Arguments of `tool auth set`.
#[derive(Debug, Args)]
pub struct AuthSetArgs {
    /// The provider
    #[arg(short, long, value_name = "NAME")]
    pub provider: String,
    /// The key; other programs can read a command line, so prefer standard input
    #[arg(long, value_name = "KEY")]
    pub api_key: Option<String>,
    /// Read the key from standard input; without this it is typed where that is a terminal
    #[arg(long, conflicts_with = "api_key")]
    pub stdin: bool,
    /// Where to keep it
    #[arg(long, value_enum, default_value = "keyring")]
    pub store: StoreArg,
}

/// Arguments of `tool auth clear`.
#[derive(Debug, Args)]
pub struct AuthClearArgs {
    /// The provider
    #[arg(short, long, value_name = "NAME")]
    pub provider: String,
}

/// The verbs of `profile`.
#[derive(Debug, Subcommand)]
pub enum ProfileVerb {
    /// List the profiles
    List,
    /// Show one; `--origin` adds where each value comes from
    Show(ProfileShowArgs),
    /// Make a profile in your settings; asks for what is needed and not given
    Init(ProfileInitArgs),
    /// Check a profile: a file, or all files of a provider
    Validate(ProfileValidateArgs),
}

/// Arguments of `profile show`.
#[derive(Debug, Args)]
pub struct ProfileShowArgs {
    /// The provider
    #[arg(value_name = "NAME")]
    pub provider: String,
    /// Show where each value comes from
    #[arg(long)]
    pub origin: bool,
}

/// A wire that a profile can name by a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AdapterArg {
    /// OpenAI's chat wire, which most servers speak
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
    /// The provider: small letters, digits and `-`
    #[arg(value_name = "NAME")]
    pub provider: String,
    /// Address of the service
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// Model to use
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// The wire it speaks [default: the provider's own, `openai` for a new one]
    #[arg(long, value_enum, value_name = "WIRE")]
    pub adapter: Option<AdapterArg>,
    /// The name of a stored key that it shares with another profile
    #[arg(long, value_name = "NAME")]
    pub api_key_ref: Option<String>,
    /// Print the file instead of writing it
    #[arg(long)]
    pub print: bool,
    /// Write over a profile that is there
    #[arg(long)]
    pub force: bool,
}

/// The verbs of `models`.
#[derive(Debug, Subcommand)]
pub enum ModelsVerb {
    /// List the models that are known without asking a server
    List(ModelsListArgs),
    /// Show one: what it takes and can do
    Show(ModelsShowArgs),
}

/// Arguments of `models list`.
#[derive(Debug, Args)]
pub struct ModelsListArgs {
    /// Only those of this provider
    #[arg(short, long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Only those that speak this wire
    #[arg(long, value_name = "WIRE")]
    pub api: Option<String>,
}

/// Arguments of `models show`.
#[derive(Debug, Args)]
pub struct ModelsShowArgs {
    /// The model, as in `openai/gpt-4o`
    #[arg(value_name = "MODEL")]
    pub model: String,
}

/// Arguments of `profile validate`.
#[derive(Debug, Args)]
pub struct ProfileValidateArgs {
    /// The file, or the name of a provider
    #[arg(value_name = "FILE|NAME")]
    pub file: PathBuf,
}

impl From<&ProviderFlags> for ProviderChoice {
    fn from(flags: &ProviderFlags) -> Self {
        Self {
            provider: flags.provider.as_str().into(),
            replay: flags.replay.clone().map(Recording::File),
            overrides: (&flags.over).into(),
            max_output_tokens: flags.max_output_tokens,
            edit_format: flags.edit_format.map(Into::into),
        }
    }
}

impl From<&OverrideFlags> for ProviderOverrides {
    fn from(flags: &OverrideFlags) -> Self {
        Self {
            base_url: flags.base_url.clone(),
            send_key: flags.send_key,
            model: flags.model.clone(),
            timeout_seconds: flags.timeout,
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
