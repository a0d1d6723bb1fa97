//! The product without a screen: every front end works through this crate.
//!
//! Owns: the doors to the crates of the subjects, the shapes of all reports, and the models of the service. Never: prints, reads a
//! terminal, parses arguments or chooses words for one front end.
//!
//! Start at [`Host`]. What this crate names at its root is what embedders can build on; the crates behind it change as the product needs.

mod host;
mod schemas;
mod service_authority;
mod service_link;
mod service_models;

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

pub use agentos_calls::budgets::{
    BudgetGroup, BudgetLimit, BudgetPeriod, BudgetReport, BudgetRow, BudgetScope, BudgetSpec, ZoneOffset,
    describe_calls,
};
pub use agentos_calls::chat::{ChatAnswer, ChatCall, ChatSpec};
pub use agentos_calls::chat_report::ChatReport;
pub use agentos_calls::chat_tools::{PreparedProposal, ProposalRuns, RepositoryTools, RepositoryToolsSpec};
pub use agentos_calls::costs::{CostReport, RebuildReport};
pub use agentos_calls::health::{HealthReport, HealthSpec, HealthWatch};
pub use agentos_calls::hosted::ModelProcesses;
pub use agentos_calls::machine::pool_state::SwitchReport;
pub use agentos_calls::machine::{LoadedModel, MachineReport, MachineWatch, SilentServer};
pub use agentos_calls::model_memory::{ModelAction, ModelActionReport, ModelActionSpec};
pub use agentos_calls::models::{ListedModel, ModelChoice, ModelList, SilentProvider};
pub use agentos_calls::pools::{
    DetectedMember, ListedMember, ListedPool, MemberStatistics, PoolAbilities, PoolImport, PoolImportSpec,
    PoolList, PoolMemberSpec, PoolQuery, PoolStatistics, SourcedAbility,
};
pub use agentos_calls::provider_list::{Listed, ToolList};
pub use agentos_calls::reexec::reexec_hook;
pub use agentos_engine::task_options::{FollowKind, FollowedRun};
pub use agentos_ground::answer_spec::{AnswerSpec, RelandSpec};
pub use agentos_ground::clock::{before_now, new_run, now, now_ms};
pub use agentos_ground::consent::{ConsentAnswer, ConsentRequested};
pub use agentos_ground::control::RunControl;
pub use agentos_ground::environment::Environment;
pub use agentos_ground::error::usage_error;
pub use agentos_ground::events::{RecordSeen, RunEvent, RunEvents};
pub use agentos_ground::files::{
    LARGEST_ANSWER, describe_cause, read_bounded, read_file, read_text_file, unreadable_file,
};
pub use agentos_ground::mails::{continue_series, split_answer};
pub use agentos_ground::notice::{HostObserver, SilentObserver};
pub use agentos_ground::options::{
    BaseRule, CheckOptions, ChoiceOrigin, HookRule, KeyStore, ProgramOptions, ProviderChoice,
    ProviderOverrides, Recording, SessionOptions,
};
pub use agentos_ground::policy::POLICY_DIR;
pub use agentos_ground::policy_trust::{PolicyReview, PolicyTrust, TrustedPolicy};
pub use agentos_ground::proposals::{ModelFacts, ProposalSpec};
pub use agentos_ground::provider_kind::ProviderKind;
pub use agentos_ground::repository_id::KnownRepository;
pub use agentos_ground::run_end::{RunEnd, RunOutcome};
pub use agentos_ground::runtime::block_on;
pub use agentos_ground::service_files::{ServiceAddress, make_secret};
pub use agentos_ground::service_tokens::{
    ListedToken, MadeToken, NewToken, ServiceToken, TokenAnswer, TokenLife, TokenList, TokenRepository,
    TokenScope, TokenTable, TokenWatch, USUAL_TOKEN_DAYS,
};
pub use agentos_ground::task_spec::{ContextMode, FollowSpec, TaskSpec};
pub use agentos_ground::task_spec::{ExploreLimits, ExploreMode};
pub use agentos_providers::added_server::{AddServerSpec, AddedServer};
pub use agentos_providers::model_name::{ModelName, ModelNames, NamedModel};
pub use agentos_providers::probe::{FormatProbe, Probe};
pub use agentos_providers::profile_file::{NewProfile, ProfileDefaults};
pub use agentos_providers::provider_keys::key_variables;
pub use agentos_providers::settings::{
    CallNames, DefaultProvider, KnownSetting, SETTINGS, SetValue, SettingKind, SettingOrigin, SettingValue,
    Settings, SettingsReport, ShownSetting, known_setting,
};
pub use agentos_providers::sign_in::{SignInAttempt, SignInSpec};
pub use agentos_providers::tool_calls::{ToolCallProbe, Verdict};
pub use agentos_providers::toolboxes::pins::ToolboxChange;
pub use agentos_providers::toolboxes::{ListedToolbox, ToolboxLaunch, ToolboxReview, ToolboxTrust};
pub use agentos_providers::user_models::{ChangedModel, ImportReport};
pub use agentos_runs::change_review::ChangeReview;
pub use agentos_runs::devices::{
    DeviceAddress, DeviceApproval, PairedDevice, PairingFacts, device_key, pairing_code,
};
pub use agentos_runs::init::{InitReport, InitSpec, init_run};
pub use agentos_runs::landing_habit::LandingHabit;
pub use agentos_runs::proposal_run::ConsentedProposals;
pub use agentos_runs::queue_walk::{DiffPart, WalkEffect, WalkState};
pub use agentos_runs::recover::RecoverReport;
pub use agentos_runs::requests::{DeniedRequest, OpenRequests, PreviewedRequest};
pub use agentos_runs::retry::RetrySpec;
pub use agentos_runs::rules::{
    JudgeSpec, JudgeSubject, Judgement, PolicyCheck, PolicyExplain, PolicyLint, PolicyShow, RulesSpec,
    ShownRule, count_examples, preset_file, preset_run, show_rules,
};
pub use agentos_runs::run::{ApprovalMode, ConsentMode, InlineRun, RunHandle, RunSpec, RunWork};
pub use agentos_runs::tasks::describe_answer;
pub use agentos_stories::change_lines::{
    FileChangeKind, ReviewedEdit, ReviewedFile, ReviewedHunk, ReviewedLine, ReviewedLineKind, read_files,
};
pub use agentos_stories::evidence::{RunList, RunRecords, StatsReport, VerifySpec};
pub use agentos_stories::export::{
    CopyCheck, ExportFacts, ExportLayout, ExportedChange, ExportedRun, ExportedText,
};
pub use agentos_stories::published::PublishSpec;
pub use agentos_stories::run_log::{LogFilter, LoggedRun, ResultKind, RunLog, RunResult, log_run};
pub use agentos_stories::run_story::{
    RunOutput, RunStory, RunText, StoryAttempt, StoryCheck, StoryConsent, StoryDecision, StoryFile,
    StoryRefusal, StoryRule,
};
pub use agentos_stories::sample::{SAMPLE_EMAIL, SAMPLE_NAME, create_sample};
pub use agentos_stories::status::{PolicyStatus, StatusReport};
pub use agentos_stories::tape_events::{TapeEvent, TapePlace};
pub use agentos_talk::agent_tools::{
    AGENT_PROVIDER, AgentAnswer, AgentTool, AgentToolEffect, AgentTools, AgentToolsSpec, ProposalReport,
    ProposalState,
};
pub use agentos_talk::conversation::{
    Conversation, DefaultSwitch, SummarySpec, TurnReport, TurnSpec, WithheldReads, find_turn_fault,
    require_session_name, unknown_session,
};
pub use agentos_talk::session_export::{ExportedTurn, SessionExport};
pub use agentos_talk::sessions::{
    SessionChange, SessionChangeKind, SessionList, SessionMessage, SessionSearch, SessionStory,
};
pub use host::Host;
pub use schemas::{nearest_schema, schema_names, schema_text};
pub use service_link::{JOIN_PATH, JoinAnswer, JoinOrder, ServiceLink};
pub use service_models::{
    OfferedModel, ServedEnd, ServedEvent, ServiceModels, SideAnswer, SideCall, TokenCount, estimate_request,
};

#[cfg(test)]
mod wires;
