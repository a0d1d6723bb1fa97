//! The product without a screen: every front end works through this crate.
//!
//! Owns: the composition of executor, evidence, credentials, network, signer and adapters behind the engine's ports, and all logic
//! of the verbs except layout. Never: prints, reads a terminal, parses arguments or chooses words for one front end.
//!
//! Start at [`Host`].

mod added_server;
mod agent_tools;
mod answer_spec;
mod approver;
mod blank;
mod budgets;
mod calls;
mod change_lines;
mod change_review;
mod chat;
mod chat_message;
mod chat_report;
mod chat_tools;
mod check;
mod check_needs;
mod check_presets;
mod client_files;
mod clock;
mod commit_signing;
mod conform;
mod consent;
mod context_choice;
mod control;
mod conversation;
mod costs;
mod devices;
mod doctor;
mod edit_format;
mod environment;
mod error;
mod event_report;
mod events;
mod evidence;
mod evidence_key;
mod explore;
mod export;
mod files;
mod following;
mod health;
mod history;
mod hooks;
mod host;
mod hosted;
mod init;
mod kept_files;
mod key_checks;
mod keys;
mod known_tools;
mod landing_habit;
mod landing_history;
mod launch;
mod learned_windows;
mod ledger;
mod machine;
mod mails;
mod model_memory;
mod model_name;
mod model_values;
mod models;
mod normalize;
mod notice;
mod options;
mod own_file;
mod paths;
mod person;
mod policy;
mod policy_trust;
mod pool_succession;
mod pools;
mod prices;
mod probe;
mod profile_file;
mod profile_values;
mod programs;
mod proposal_run;
mod proposals;
mod provider_kind;
mod providers;
mod published;
mod queue_walk;
mod read_answers;
mod read_judge;
mod recorded_options;
mod reexec;
mod reland;
mod replay;
mod repository;
mod repository_id;
mod repository_key;
mod repository_port;
mod requests;
mod retry;
mod rules;
mod run;
mod run_end;
mod run_log;
mod run_ref;
mod run_story;
mod runtime;
mod sample;
mod schema_text;
mod schemas;
mod search_folder;
mod server_probe;
mod servers;
mod service_authority;
mod service_files;
mod service_link;
mod service_models;
mod service_tokens;
mod session;
mod session_export;
mod sessions;
mod settings;
mod sign_in;
mod status;
mod tape;
mod tape_events;
mod task_preview;
mod task_spec;
mod task_tool;
mod tasks;
mod tool_calls;
mod tool_notices;
mod toolbox_offer;
mod toolbox_session;
mod toolboxes;
mod tools;
mod undo;
mod user_model_file;
mod user_models;
mod watched_base;
mod window_share;
mod words;

// A front end may depend on the host and on crates of words only (`xtask/rules.toml`), so the host passes on the types of other
// crates that appear in its functions.
pub use agentos_api::{
    Activity, AuthStatus, CheckStatus, ConformCheck, ConsentBinding, ConsentPrompt, ConsentReason,
    ConsentReply, ContextBudgetReport, ContextFileReport, ContextReport, Difference, DoctorCheck,
    DoctorReport, EventBody, EventReport, ExportReport, FoundKey, FoundServer, KeyCheck, KeyReport,
    KeyStatus, KnownKey, Notice, Obstacle, OmittedMatches, OwnKey, PolicyFileStatus, PolicyTest,
    ProfileReport, ProposedFile, ProposedStep, ProviderStatus, PublishReport, ReplayReport, ReplayStatus,
    ReplayedRun, RepositoryStatus, ShownValue, SignInStatus, TestedFile, ToolConform, WindowSource,
    WithheldFile,
};
pub use agentos_catalog::{CatalogRow, PriceSpan, SkippedEntry, TableForm, UserModel, UserPrices};
pub use agentos_chat::{
    FinishedTurn, SessionState, SummaryEnd, ToolAnswer, TurnEvent, TurnFailure, TurnLimits, TurnTool,
    TurnTools,
};
pub use agentos_engine::context::Withheld;
pub use agentos_engine::open_requests::{OpenRequest, RequestState, RevisedDiff};
pub use agentos_engine::ports::{EffectError, TargetInfo, Writes};
pub use agentos_engine::request_drift::{ChangeDrift, DiffRevision, HunkMove, RequestDrift, RuleDrift};
pub use agentos_engine::run::{JudgedCall, was_interrupted};
pub use agentos_engine::settle::ConsentRequest;
pub use agentos_engine::{Cause, FailedAttempt, Outcome, OutcomeKind, Tried};
pub use agentos_evidence::{
    ActionStatement, Finding, ProviderStats, Record, RecordKind, RunSummary, Tampering, VerifyReport,
};
pub use agentos_executor::{Recovered, RecoveryOutcome, local_offset_minutes};
pub use agentos_landing::Change;
pub use agentos_machine::{GpuSample, MachineSample, MemorySample, ProcessorSample};
pub use agentos_policy::{
    ApprovalHashes, ConsentProof, Decision, DefaultState, Effect, ExplainedQuestion, Explanation, FACTS,
    Layer, LayerPreset, LintAdvice, PolicySet, Preset, Reason, RuleRef, ToolFacts,
};
pub use agentos_pool::{ChoiceReplay, PoolChoice, RefusedMember, replay_with};
pub use agentos_profile::{AdapterKind, KnownModel, TimeoutsFile, known_model, known_models, nearest_word};
pub use agentos_select::{
    AbilityValue, ChosenModel, LocalTime, ModelSelector, NeedOrigin, PoolModel, SelectionView, SelectorKind,
};
pub use agentos_store::{CostFilter, CostGroup, CostRow, FoundTurn, SessionRow};
pub use agentos_tool::{EditFormat, ExecutionMode, Progress, RunId, Secret, Timestamp};
pub use agentos_window::WindowGauge;

pub use added_server::{AddServerSpec, AddedServer};
pub use agent_tools::{
    AGENT_PROVIDER, AgentAnswer, AgentTool, AgentToolEffect, AgentTools, AgentToolsSpec, ProposalReport,
    ProposalState,
};
pub use agentos_engine::task_options::{FollowKind, FollowedRun};
pub use answer_spec::{AnswerSpec, RelandSpec};
pub use budgets::{
    BudgetGroup, BudgetLimit, BudgetPeriod, BudgetReport, BudgetRow, BudgetScope, BudgetSpec, ZoneOffset,
    describe_calls,
};
pub use change_lines::{
    FileChangeKind, ReviewedEdit, ReviewedFile, ReviewedHunk, ReviewedLine, ReviewedLineKind, read_files,
};
pub use change_review::ChangeReview;
pub use chat::{ChatAnswer, ChatCall, ChatSpec};
pub use chat_report::ChatReport;
pub use chat_tools::{PreparedProposal, ProposalRuns, RepositoryTools, RepositoryToolsSpec};
pub use clock::{before_now, new_run, now, now_ms};
pub use consent::{ConsentAnswer, ConsentRequested};
pub use control::RunControl;
pub use conversation::{
    Conversation, DefaultSwitch, SummarySpec, TurnReport, TurnSpec, WithheldReads, find_turn_fault,
    require_session_name, unknown_session,
};
pub use costs::{CostReport, RebuildReport};
pub use devices::{DeviceAddress, DeviceApproval, PairedDevice, PairingFacts, device_key, pairing_code};
pub use environment::Environment;
pub use error::usage_error;
pub use events::{RecordSeen, RunEvent, RunEvents};
pub use evidence::{RunList, RunRecords, StatsReport, VerifySpec};
pub use export::{CopyCheck, ExportFacts, ExportLayout, ExportedChange, ExportedRun, ExportedText};
pub use files::{LARGEST_ANSWER, describe_cause, read_bounded, read_file, read_text_file, unreadable_file};
pub use health::{HealthReport, HealthSpec, HealthWatch};
pub use host::Host;
pub use hosted::ModelProcesses;
pub use init::{InitReport, InitSpec, init_run};
pub use landing_habit::LandingHabit;
pub use machine::pool_state::SwitchReport;
pub use machine::{LoadedModel, MachineReport, MachineWatch, SilentServer};
pub use mails::{continue_series, split_answer};
pub use model_memory::{ModelAction, ModelActionReport, ModelActionSpec};
pub use model_name::{ModelName, ModelNames, NamedModel};
pub use models::{ListedModel, ModelChoice, ModelList, SilentProvider};
pub use notice::{HostObserver, SilentObserver};
pub use options::{
    BaseRule, CheckOptions, ChoiceOrigin, HookRule, KeyStore, ProgramOptions, ProviderChoice,
    ProviderOverrides, Recording, SessionOptions,
};
pub use policy::POLICY_DIR;
pub use policy_trust::{PolicyReview, PolicyTrust, TrustedPolicy};
pub use pools::{
    DetectedMember, ListedMember, ListedPool, MemberStatistics, PoolAbilities, PoolImport, PoolImportSpec,
    PoolList, PoolMemberSpec, PoolQuery, PoolStatistics, SourcedAbility,
};
pub use probe::{FormatProbe, Probe};
pub use profile_file::{NewProfile, ProfileDefaults};
pub use proposal_run::ConsentedProposals;
pub use proposals::{ModelFacts, ProposalSpec};
pub use provider_kind::ProviderKind;
pub use providers::{Listed, ToolList, key_variables};
pub use published::PublishSpec;
pub use queue_walk::{DiffPart, WalkEffect, WalkState};
pub use reexec::reexec_hook;
pub use repository_id::KnownRepository;
pub use requests::{DeniedRequest, OpenRequests, PreviewedRequest};
pub use retry::RetrySpec;
pub use rules::{
    JudgeSpec, JudgeSubject, Judgement, PolicyCheck, PolicyExplain, PolicyLint, PolicyShow, RulesSpec,
    ShownRule, count_examples, preset_file, preset_run, show_rules,
};
pub use run::{ApprovalMode, ConsentMode, InlineRun, RunHandle, RunSpec, RunWork};
pub use run_end::{RunEnd, RunOutcome};
pub use run_log::{LogFilter, LoggedRun, ResultKind, RunLog, RunResult, log_run};
pub use run_story::{
    RunOutput, RunStory, RunText, StoryAttempt, StoryCheck, StoryConsent, StoryDecision, StoryFile,
    StoryRefusal, StoryRule,
};
pub use runtime::block_on;
pub use sample::{SAMPLE_EMAIL, SAMPLE_NAME, create_sample};
pub use schemas::{nearest_schema, schema_names, schema_text};
pub use service_files::{ServiceAddress, make_secret};
pub use service_link::{JOIN_PATH, JoinAnswer, JoinOrder, ServiceLink};
pub use service_models::{
    OfferedModel, ServedEnd, ServedEvent, ServiceModels, SideAnswer, SideCall, TokenCount, estimate_request,
};
pub use service_tokens::{
    ListedToken, MadeToken, NewToken, ServiceToken, TokenAnswer, TokenLife, TokenList, TokenRepository,
    TokenScope, TokenTable, TokenWatch, USUAL_TOKEN_DAYS,
};
pub use session::RecoverReport;
pub use session_export::{ExportedTurn, SessionExport};
pub use sessions::{
    SessionChange, SessionChangeKind, SessionList, SessionMessage, SessionSearch, SessionStory,
};
pub use settings::{
    CallNames, DefaultProvider, KnownSetting, SETTINGS, SetValue, SettingKind, SettingOrigin, SettingValue,
    Settings, SettingsReport, ShownSetting, known_setting,
};
pub use sign_in::{SignInAttempt, SignInSpec};
pub use status::{PolicyStatus, StatusReport};
pub use tape_events::{TapeEvent, TapePlace};
pub use task_spec::{ContextMode, FollowSpec, TaskSpec};
pub use task_spec::{ExploreLimits, ExploreMode};
pub use tasks::describe_answer;
pub use tool_calls::{ToolCallProbe, Verdict};
pub use toolboxes::pins::ToolboxChange;
pub use toolboxes::{ListedToolbox, ToolboxLaunch, ToolboxReview, ToolboxTrust};
pub use user_models::{ChangedModel, ImportReport};

#[cfg(test)]
mod wires;
