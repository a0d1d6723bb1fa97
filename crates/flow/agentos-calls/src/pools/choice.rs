//! The choice of a pool's member for a turn.
//!
//! Owns: the input of the choice: needs, statistics, expected tokens. Never: sends anything.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use agentos_chain::hash_bytes;
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_evidence::{ChangeFate, RecordKind};
use agentos_ledger::TurnRecord;
use agentos_pool::{ChoiceReplay, PoolChoice, make_choice, replay_choice};
use agentos_select::{
    CIRCUIT_WINDOW, CircuitFacts, LocalTime, MachineFacts, ModelRecord, ModelSelector, Needs, PastCall,
    SelectionError, SelectionInput, SelectorKind, TaskKind, TurnShape, infer_complexity, infer_kind,
    infer_needs,
};
use agentos_store::RequestedModel;
use agentos_tool::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::program::{ask_program, program_failed};
use super::{LoadedMember, LoadedPool, load_chain};
use crate::Calls;
use crate::ledger::{Ledger, existing_tape, ledger_error, store_error};
use crate::machine::pool_state;
use agentos_ground::Ground;
use agentos_ground::clock;
use agentos_ground::error::usage_error;
use agentos_ground::files::read_text_file;
use agentos_ground::tape::evidence_error;
use agentos_ground::tape::open_store;
use agentos_providers::known_tools::read_tools;

/// Characters of a token, by which the size of a context is estimated.
const TOKEN_CHARS: u64 = 4;
/// Tokens that an answer is expected to have.
const EXPECTED_ANSWER: u64 = 500;
/// Time whose calls count for a choice.
const STATISTICS_WINDOW: Duration = Duration::from_secs(30 * 24 * 3600);
/// Shortest part of an id that is searched for.
const SHORTEST_ID: usize = 8;
/// Largest file with choices that is read, in bytes: as large as a file of a tape gets.
const LARGEST_CHOICE: u64 = 64 << 20;

/// Turn for which a member is chosen.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct PoolQuery {
    /// Needs that the user states, as in `supports_vision=true`.
    pub needs: Vec<String>,
    /// Message of the user.
    pub message: String,
    /// Files that the task names, from which its kind follows.
    #[serde(default)]
    pub files: Vec<String>,
    /// Number of images.
    pub images: usize,
    /// Number of tools on offer.
    pub tools: usize,
    /// Characters of instructions, earlier messages and context.
    pub context_chars: u64,
    /// Time where the user is, for a selector of an embedding program. `None` if no selector asks for it.
    pub time: Option<LocalTime>,
}

impl Calls<'_> {
    /// Chooses a member of a pool for a turn that is described, and sends nothing.
    ///
    /// # Errors
    /// If the pool cannot be used, a need is no need, or the ledger cannot be read. That no member fits is no error here.
    pub fn choose_member(self, pool: &str, query: &PoolQuery) -> Result<PoolChoice, EffectError> {
        self.choose_member_with(pool, query, None)
    }

    /// Chooses a member of a pool as [`Calls::choose_member`] does, with a named selector of the calling program.
    ///
    /// # Errors
    /// Those of [`Calls::choose_member`], and if the selector chose a member that does not fit.
    pub fn choose_member_with(
        self,
        pool: &str,
        query: &PoolQuery,
        own: Option<(&str, &dyn ModelSelector)>,
    ) -> Result<PoolChoice, EffectError> {
        let chain = load_chain(self.ground, &read_tools(self.ground)?, pool)?;
        let first = chain
            .first()
            .ok_or_else(|| usage_error(format!("there is no pool `{pool}`")))?;
        choose_in_pool(self.ground, first, query, BTreeMap::new(), own)
    }

    /// Makes recorded choices again. `record` is a file with the output of a choice as JSON, a file of a ledger's tape (all of its choices
    /// are made again), or the id of a run, or of a message or turn, whose choices are on the ledger.
    ///
    /// # Errors
    /// If there is neither such a file nor such an id, or it has no choice of a pool.
    pub fn replay_choices(self, record: &Path) -> Result<ChoiceReplay, EffectError> {
        let (recorded, error) = match read_text_file(self.ground.environment(), record, LARGEST_CHOICE) {
            Ok(text) => read_choices(record, &text)?,
            Err(error) => {
                let id = record.to_str().filter(|text| is_id(text));
                let found = id.map(|id| find_recorded(self.ground, id)).transpose()?;
                (found.unwrap_or_default(), error)
            }
        };
        let mut replays = recorded
            .iter()
            .map(replay_recorded)
            .collect::<Result<Vec<_>, _>>()?;
        let Some(mut last) = replays.pop() else {
            return Err(error.hint("name a file, or the id of a run or turn of a pool"));
        };
        // The last choice is the one that counts; the members before it are those that were asked in vain.
        for (position, earlier) in replays.iter().enumerate() {
            let differences = earlier.differences.iter();
            last.differences
                .extend(differences.map(|line| format!("attempt {}: {line}", position + 1)));
        }
        last.choices = recorded.len();
        Ok(last)
    }
}

/// Reads the choices of a file: that of one JSON document, or all of a ledger's tape, which has a record in each line. Returns the error
/// that is reported if there are none.
///
/// # Errors
/// If the file has one document, and it is no choice.
fn read_choices(file: &Path, text: &str) -> Result<(Vec<PoolChoice>, EffectError), EffectError> {
    let name = file.display();
    let none = usage_error(format!("`{name}` has no record of a choice"));
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let records: Result<Vec<Value>, _> = lines.map(serde_json::from_str).collect();
    if let Ok(records) = records
        && records.iter().all(|record| record.get("body").is_some())
    {
        let bodies = records
            .into_iter()
            .filter_map(|mut record| Some(record.get_mut("body")?.take()));
        return Ok((bodies.flat_map(list_choices).collect(), none));
    }
    // The outputs of a turn have the choice in them.
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let inner = ["/choice", "/turn/choice"]
        .iter()
        .find_map(|place| value.pointer(place))
        .cloned();
    let recorded = serde_json::from_value(inner.unwrap_or(value));
    let recorded =
        recorded.map_err(|error| usage_error(format!("`{name}` is no record of a choice: {error}")))?;
    Ok((vec![recorded], none))
}

/// Lists the choices of a record of a turn, in their order. Empty if it is another record.
fn list_choices(body: Value) -> Vec<PoolChoice> {
    // A turn of a later version may have another shape; then it has no choice that could be made again here.
    let Ok(turn) = serde_json::from_value::<TurnRecord>(body) else {
        return Vec::new();
    };
    let recorded = turn
        .discarded
        .into_iter()
        .chain(turn.choice.map(|choice| *choice));
    recorded
        .filter_map(|choice| serde_json::from_value::<PoolChoice>(choice).ok())
        .collect()
}

/// Returns whether a text can be the id of a run, or its end: no letter of it could be that of a path.
fn is_id(text: &str) -> bool {
    text.len() >= SHORTEST_ID
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Finds the choices of a run, or of a message or turn, in their order. Empty if the ledger has none.
fn find_recorded(ground: &Ground, id: &str) -> Result<Vec<PoolChoice>, EffectError> {
    if existing_tape(ground).is_none() {
        return Ok(Vec::new());
    }
    let ledger = Ledger::open(ground)?;
    let mut choices = Vec::new();
    for record in ledger.tape().records().map_err(|error| ledger_error(&error))? {
        let record = record.map_err(|error| ledger_error(&error))?;
        if record.kind != RecordKind::Turn || !record.run.ends_with(id) {
            continue;
        }
        choices.extend(list_choices(record.body));
    }
    Ok(choices)
}

/// Makes a recorded choice again.
pub(crate) fn replay_recorded(recorded: &PoolChoice) -> Result<ChoiceReplay, EffectError> {
    replay_choice(recorded).map_err(|error| wrong_choice(&error))
}

/// Chooses a member. `excluded` are members that are not offered now, with the reasons.
pub(crate) fn choose_in_pool(
    ground: &Ground,
    pool: &LoadedPool,
    query: &PoolQuery,
    excluded: BTreeMap<String, String>,
    own: Option<(&str, &dyn ModelSelector)>,
) -> Result<PoolChoice, EffectError> {
    let stated = Needs::parse(query.needs.iter().map(String::as_str));
    let stated = stated.map_err(|error| usage_error(error.to_string()))?;
    let chars = query
        .context_chars
        .saturating_add(query.message.chars().count() as u64);
    let input_tokens = chars.div_ceil(TOKEN_CHARS);
    let shape = TurnShape {
        message: &query.message,
        reads_words: pool.file.infer_from_words.unwrap_or_default(),
        images: query.images,
        tools: query.tools,
        context_chars: query.context_chars,
        context_tokens: input_tokens.saturating_add(EXPECTED_ANSWER),
    };
    let selector = pool.file.selector.unwrap_or_default();
    let use_of = match pool.file.selector_program {
        // What a program looks at is its own affair, so it is shown everything that a selector could use.
        Some(_) => StatisticsUse::Changes,
        None => StatisticsUse::of(selector),
    };
    let since = (use_of != StatisticsUse::Unused).then(|| clock::before_now(STATISTICS_WINDOW).to_string());
    // Not the message itself: it may be long, and a record of the choice is kept when the message is deleted.
    let task = || hash_bytes(format!("{} {}", pool.name, query.message).as_bytes());
    let files = || query.files.iter().map(String::as_str);
    let kind = infer_kind(&query.message, files());
    let wants_complexity = selector == SelectorKind::Complexity || pool.file.selector_program.is_some();
    let complexity = wants_complexity.then(|| infer_complexity(&shape, files()));
    let past = read_records(ground, pool, (use_of, kind), since.as_deref())?;
    let mut input = SelectionInput {
        models: pool.models.clone(),
        selector,
        default_alias: pool.file.default.clone(),
        needs: infer_needs(stated, &shape),
        input_tokens,
        output_tokens: EXPECTED_ANSWER,
        records: past.all,
        kind: (use_of == StatisticsUse::Changes).then_some(kind),
        complexity,
        kind_records: past.of_kind,
        program: None,
        task: (selector == SelectorKind::Split).then(task),
        time: query.time,
        machine: find_machine_facts(ground, pool),
        circuits: read_circuits(ground, pool)?,
        excluded,
    };
    // A selector of the calling program goes first: it is the caller's own word about this very choice.
    if own.is_none() {
        input.program = ask_program(ground, pool, &input)?;
    }
    let choice = make_choice(&pool.name, input, own).map_err(|error| wrong_choice(&error))?;
    Ok(PoolChoice {
        statistics_since: since,
        ..choice
    })
}

/// Returns the state of the machine for a pool that chooses by it. `None` for all others: nobody looks without need.
fn find_machine_facts(ground: &Ground, pool: &LoadedPool) -> Option<MachineFacts> {
    match pool.file.selector.unwrap_or_default() {
        SelectorKind::Resources => pool_state::collect_facts(ground, pool),
        SelectorKind::Default
        | SelectorKind::Capability
        | SelectorKind::Cheapest
        | SelectorKind::Complexity
        | SelectorKind::Fastest
        | SelectorKind::Best
        | SelectorKind::Split => None,
    }
}

/// Statistics that a selector uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StatisticsUse {
    Unused,
    /// Duration of calls.
    Calls,
    /// Fates of changes in this repository.
    Changes,
}

impl StatisticsUse {
    fn of(selector: SelectorKind) -> Self {
        match selector {
            SelectorKind::Fastest => Self::Calls,
            SelectorKind::Best | SelectorKind::Split => Self::Changes,
            SelectorKind::Default
            | SelectorKind::Capability
            | SelectorKind::Cheapest
            | SelectorKind::Complexity
            | SelectorKind::Resources => Self::Unused,
        }
    }
}

/// Records of a pool's members, by alias.
#[derive(Debug, Default)]
struct PastTurns {
    all: BTreeMap<String, ModelRecord>,
    /// Changes for tasks of the same kind.
    of_kind: BTreeMap<String, ModelRecord>,
}

/// Reads the records of the members: calls from the ledger, changes from the repository's tape. Empty without a beginning: no selector
/// asks for them then.
fn read_records(
    ground: &Ground,
    pool: &LoadedPool,
    (use_of, kind): (StatisticsUse, TaskKind),
    since: Option<&str>,
) -> Result<PastTurns, EffectError> {
    let mut past = PastTurns::default();
    let Some(since) = since else {
        return Ok(past);
    };
    if let Some(database) = Ledger::open_existing(ground)? {
        let counted = database.count_calls(Some(since));
        let counted = counted.map_err(|error| store_error(&error))?;
        for member in &pool.members {
            let key = (member.model.provider.clone(), member.model.model.clone());
            if let Some(found) = counted.get(&key) {
                let record = ModelRecord {
                    calls: found.calls,
                    failed: found.failed,
                    median_ms: found.median_ms,
                    ..ModelRecord::default()
                };
                past.all.insert(member.model.alias.clone(), record);
            }
        }
    }
    // A question outside of a repository is answered too; then no change is known.
    if use_of == StatisticsUse::Changes
        && let Ok(store) = open_store(ground)
    {
        let fates = store.list_fates().map_err(|error| evidence_error(&error))?;
        for fate in fates.iter().filter(|fate| fate.began.as_str() >= since) {
            let Some(member) = pool.find_author(fate) else {
                continue;
            };
            count_fate(&mut past.all, member, fate);
            let named = fate.files.iter().map(String::as_str);
            // Inferred from the record of the task, so that changes of earlier versions count too.
            if infer_kind(&fate.instruction, named) == kind {
                count_fate(&mut past.of_kind, member, fate);
            }
        }
    }
    Ok(past)
}

fn count_fate(records: &mut BTreeMap<String, ModelRecord>, member: &LoadedMember, fate: &ChangeFate) {
    let record = records.entry(member.model.alias.clone()).or_default();
    match fate.stayed {
        true => record.stayed += 1,
        false => record.rejected += 1,
    }
}

impl LoadedPool {
    /// Finds the member that proposed a change. `None` if it is no member's, or could be that of several.
    fn find_author(&self, fate: &ChangeFate) -> Option<&LoadedMember> {
        let mut of_provider = self
            .members
            .iter()
            .filter(|member| member.model.provider == fate.provider);
        match &fate.model {
            Some(model) => of_provider.find(|member| member.model.model.as_ref() == Some(model)),
            None => of_provider.next().filter(|_| of_provider.next().is_none()),
        }
    }
}

/// Counts the failures in a row of each member from the ledger, which every process of the user writes.
fn read_circuits(ground: &Ground, pool: &LoadedPool) -> Result<BTreeMap<String, CircuitFacts>, EffectError> {
    // Whoever names nobody for after a failure wants no other member, however often one fails.
    if pool.file.fallback.as_ref().is_some_and(Vec::is_empty) {
        return Ok(BTreeMap::new());
    }
    let Some(database) = Ledger::open_existing(ground)? else {
        return Ok(BTreeMap::new());
    };
    let now_ms = clock::now_ms();
    let since = clock::before_now(Duration::from_millis(CIRCUIT_WINDOW)).to_string();
    let mut calls: BTreeMap<RequestedModel, Vec<PastCall>> = BTreeMap::new();
    for end in database.list_ends(&since).map_err(|error| store_error(&error))? {
        let Ok(at) = Timestamp::parse(&end.ts) else {
            continue;
        };
        calls.entry(end.model).or_default().push(PastCall {
            at_ms: u64::try_from(at.unix_seconds()).unwrap_or(0).saturating_mul(1000),
            failure: end.failure,
        });
    }
    let circuits = pool.members.iter().filter_map(|member| {
        let key = (member.model.provider.clone(), member.model.model.clone());
        let facts = CircuitFacts::count(calls.get(&key)?, now_ms)?;
        Some((member.model.alias.clone(), facts))
    });
    Ok(circuits.collect())
}

fn wrong_choice(error: &SelectionError) -> EffectError {
    match error {
        SelectionError::ProgramFailed { .. } => program_failed(error),
        SelectionError::EmptyPool
        | SelectionError::NothingFits { .. }
        | SelectionError::WrongChoice { .. } => EffectError::from_error(Cause::Tool, "no-model-fits", error),
    }
}
