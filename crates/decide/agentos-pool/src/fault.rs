//! Faults of a pool.
//!
//! Owns: their messages. Never: words a flag of a front end.

/// Reason why a pool cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PoolFault {
    /// The pool has no member.
    #[error("`members` is empty: a pool needs at least one member")]
    EmptyPool,
    /// An alias has other characters than those of a name.
    #[error("`members`: `{0}` is not an alias: use 1 to 64 lower-case letters, digits, `-`, `_` and `.`")]
    WrongAlias(String),
    /// Two members have the same alias.
    #[error("`members`: two members have the alias `{0}`")]
    RepeatedAlias(String),
    /// A field names a member that does not exist.
    #[error("`{field}` names `{alias}`, which is no member of the pool")]
    UnknownMember {
        /// Name of the field.
        field: &'static str,
        /// Alias that it names.
        alias: String,
    },
    /// `fallback` names a member twice.
    #[error("`fallback` names `{0}` twice: a member is asked once in a turn")]
    RepeatedFallback(String),
    /// A failed call would be sent again too often.
    #[error("`retries` is {found}; at most {most} are possible")]
    TooManyRetries {
        /// Number that is stated.
        found: u32,
        /// Largest number.
        most: u32,
    },
    /// Fallbacks of another program's models lead back to one of them.
    #[error("the fallbacks of the models lead in a circle: {}", .0.join(" → "))]
    FallbackCircle(Vec<String>),
    /// The profile of the next pool is no pool, or missing.
    #[error("`next_pool` of `{pool}` names `{next}`, which is no pool")]
    UnknownPool {
        /// Pool with the field.
        pool: String,
        /// Name that it states.
        next: String,
    },
    /// The chain of pools leads back to one of them.
    #[error("`next_pool` leads in a circle: {}", .0.join(" → "))]
    Cycle(Vec<String>),
    /// The chain has too many steps.
    #[error(
        "a turn could be passed on {found} times, by `fallback` and `next_pool` together; at most {most} are possible"
    )]
    TooManyHops {
        /// Number of hops of the chain.
        found: usize,
        /// Largest number.
        most: usize,
    },
    /// A turn could leave this machine without leave.
    #[error(
        "`{local}` is on this machine and `{cloud}` in the cloud: without `\"allow_cloud\": true` in `{pool}`, no turn may go from one to the other"
    )]
    CloudWithoutLeave {
        /// Pool whose leave is missing.
        pool: String,
        /// Member on this machine.
        local: String,
        /// Member in the cloud.
        cloud: String,
    },
    /// A member's provider does not exist.
    #[error("`members`: `{alias}` needs the provider `{provider}`, and there is none of this name")]
    UnknownProvider {
        /// Alias of the member.
        alias: String,
        /// Provider that it names.
        provider: String,
    },
    /// A member is a pool.
    #[error(
        "`members`: `{alias}` names the pool `{pool}`: a member is a model of a provider, and `next_pool` continues with another pool"
    )]
    PoolAsMember {
        /// Alias of the member.
        alias: String,
        /// Pool that it names.
        pool: String,
    },
    /// A member is not a server.
    #[error("`members`: `{alias}` names `{provider}`, which is not a model behind a server")]
    NotAServer {
        /// Alias of the member.
        alias: String,
        /// Provider that it names.
        provider: String,
    },
    /// The program that is to choose is no toolbox of the user.
    #[error(
        "`selector_program` names `{0}`, which is no toolbox: the adapter of its profile, in your own profiles, must be `toolbox`"
    )]
    NoToolbox(String),
    /// The program that is to choose could send what it is shown to other machines.
    #[error(
        "`selector_program` names `{0}`, whose profile has `program.hosts`: a program that chooses gets no network"
    )]
    ToolboxWithNetwork(String),
    /// Only the repository has a profile of a member's provider.
    #[error(
        "`members`: `{alias}` needs the provider `{provider}`, of which only the repository has a profile: a repository cannot choose models"
    )]
    ProviderOfRepository {
        /// Alias of the member.
        alias: String,
        /// Provider that it names.
        provider: String,
    },
    /// The name of the pool is that of a provider.
    #[error("`{0}` is the name of a provider: a pool of this name would replace it")]
    NameTaken(String),
}
