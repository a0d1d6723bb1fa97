//! The checks of `doctor` that concern the machine: keys, sandbox, profiles, providers.
//!
//! Owns: these checks. Never: shows a key, or sends anything but what a health check sends.

use agentos_api::{DoctorCheck, NextStep};
use agentos_engine::ports::EffectError;
use agentos_executor::Repository;
use agentos_sandbox::{RunLimit, Sandbox, SandboxReport};
use agentos_tool::{HealthStatus, ToolHealth};

use super::failed_check;
use agentos_calls::health;
use agentos_ground::Ground;
use agentos_ground::evidence_key;
use agentos_ground::keys::{self, Keyring};
use agentos_ground::options::ProviderOverrides;
use agentos_ground::provider_kind::ProviderKind;
use agentos_providers::Providers;
use agentos_providers::tools::Tools;

/// Adds the checks of the machine. A repository's profiles count if there is one.
///
/// # Errors
/// If a profile folder cannot be read, or the system refuses to wait for providers.
pub fn add_machine_checks(
    ground: &Ground,
    repo: Option<&Repository>,
    is_offline: bool,
    checks: &mut Vec<DoctorCheck>,
) -> Result<(), EffectError> {
    checks.push(check_keyring(ground));
    checks.push(check_signing_key(ground));
    checks.push(check_sandbox());
    let tools = Tools::read(ground, repo.and_then(|repo| repo.work_dir()))?;
    checks.push(check_profiles(ground, &tools));
    checks.push(check_settings(ground, &tools));
    if is_offline {
        checks.push(DoctorCheck::skipped(
            "providers",
            "left out, because nothing may be sent",
        ));
    } else {
        let kinds: Vec<ProviderKind> = tools.profiled_names().map(ProviderKind::from).collect();
        let found = health::check_providers(ground, &tools, &kinds, &ProviderOverrides::default())?;
        add_provider_checks(&found, checks);
    }
    Ok(())
}

/// Checks that the system's keyring answers.
fn check_keyring(ground: &Ground) -> DoctorCheck {
    match keys::probe_keyring(ground) {
        Keyring::Usable => DoctorCheck::fine("keyring", "the system's keyring answers"),
        // No keyring is the usual state of a server, so this is advice and not a failure.
        Keyring::None => DoctorCheck {
            fix: Some("keep keys in the environment".to_owned()),
            ..DoctorCheck::attention_with_steps(
                "keyring",
                "no-keyring",
                "there is no keyring in this session",
                [NextStep::SetKey {
                    provider: None,
                    in_file: true,
                }],
            )
        },
        Keyring::Failed(why) => DoctorCheck::attention(
            "keyring",
            "keyring-failed",
            why,
            "unlock the keyring, or keep keys in the environment",
        ),
    }
}

/// Checks that the ends of runs can be signed.
fn check_signing_key(ground: &Ground) -> DoctorCheck {
    // Unsigned evidence is still chained and can be verified, so a missing key is not a failure.
    let unsigned = |code, details: String| DoctorCheck {
        fix: Some("open a keyring".to_owned()),
        ..DoctorCheck::attention_with_steps(
            "evidence key",
            code,
            details,
            [NextStep::MakeSigningKey { in_file: true }],
        )
    };
    match evidence_key::existing_key(ground) {
        Ok(Some(kept)) => DoctorCheck::fine(
            "evidence key",
            format!("{}, in the {}", kept.key.public().id(), kept.store),
        ),
        Ok(None) => unsigned("no-key", "the ends of runs are not signed".to_owned()),
        Err(why) => unsigned("key-failed", why),
    }
}

/// Words the limits that apply to all processes of a run together, as the end of a sentence.
fn run_limits(report: &SandboxReport) -> String {
    // The sandbox has no disk limit of its own: it is enforced by watching a run's folders and the free space, which needs a
    // Unix.
    let is_watched = cfg!(unix);
    let holds =
        |limit: &RunLimit| (is_watched && *limit == RunLimit::Disk) || report.run_limits.contains(limit);
    let (held, missing): (Vec<RunLimit>, Vec<RunLimit>) = RunLimit::ALL.into_iter().partition(holds);
    let named = |limits: &[RunLimit]| {
        let names: Vec<&str> = limits.iter().map(|limit| limit.as_str()).collect();
        names.join(" and ")
    };
    if missing.is_empty() {
        return "; disk, memory and processes of a whole run are limited".to_owned();
    }
    format!(
        "; {} of a whole run limited, {} of each process only (no control group v2 is delegated to us)",
        named(&held),
        named(&missing)
    )
}

/// Sets up every sandbox layer without a program in it, and checks which are active.
fn check_sandbox() -> DoctorCheck {
    // This program's own file, and never one of a variable: the check is about the sandbox that a release uses.
    let helper = match std::env::current_exe() {
        Ok(helper) => helper,
        Err(error) => {
            return DoctorCheck::skipped(
                "sandbox",
                format!("this program's own file is not known: {error}"),
            );
        }
    };
    let lost = "programs do not start here as tools; models and diffs work";
    match Sandbox::new(helper).probe() {
        Ok(report) if report.is_whole() => {
            let abi = report
                .landlock_abi
                .map_or_else(String::new, |abi| format!(", Landlock ABI {abi}"));
            let layers = report.layers.len();
            DoctorCheck::fine(
                "sandbox",
                format!("{layers} layers active{abi}{}", run_limits(&report)),
            )
        }
        Ok(report) => {
            let missing: Vec<&str> = report
                .missing()
                .into_iter()
                .map(agentos_sandbox::SandboxLayer::as_str)
                .collect();
            let details = format!("missing: {}", missing.join(", "));
            // Programs run without a layer that this system does not have, but never without one that it could put up.
            if report.lacking().is_empty() {
                let fix = "this system has no such layer: programs run and are observed";
                let mut check = DoctorCheck::attention("sandbox", "not-confined", details, fix);
                check.next = vec![NextStep::RequireSandbox];
                return check;
            }
            DoctorCheck::attention("sandbox", "not-confined", details, lost)
        }
        Err(error) => {
            let fix = error
                .hint()
                .map_or_else(|| lost.to_owned(), |hint| format!("{hint}; {lost}"));
            DoctorCheck::attention("sandbox", "not-confined", error.to_string(), fix)
        }
    }
}

/// Checks that every profile resolves, own ones included. A tool whose profile does not resolve cannot be used.
fn check_profiles(ground: &Ground, tools: &Tools) -> DoctorCheck {
    for name in tools.profiled_names() {
        if let Err(error) = tools.resolve_profile(ground, name, &ProviderOverrides::default()) {
            return failed_check("profiles", &error);
        }
    }
    DoctorCheck::fine(
        "profiles",
        format!("{} providers are known", tools.profiled_names().count()),
    )
}

/// Checks that the settings can be read, and that their provider exists.
fn check_settings(ground: &Ground, tools: &Tools) -> DoctorCheck {
    let settings = match Providers::of(ground).read_settings() {
        Ok(settings) => settings,
        Err(error) => return failed_check("settings", &error),
    };
    let Some(chosen) = settings.default_provider() else {
        return DoctorCheck::fine("settings", "no default provider is set, so each task names one");
    };
    if let Err(error) = tools.require_known(&chosen.provider) {
        return failed_check("settings", &error);
    }
    let model = chosen
        .model
        .map_or_else(String::new, |model| format!(", model {model}"));
    let details = format!("default provider {}{model} ({})", chosen.provider, chosen.origin);
    DoctorCheck::fine("settings", details)
}

/// Adds one check for all providers, and one for each that is half set up. A provider that nobody set up is no fault.
fn add_provider_checks(found: &[ToolHealth], checks: &mut Vec<DoctorCheck>) {
    let connected: Vec<&str> = found
        .iter()
        .filter(|tool| tool.is_connected())
        .map(|tool| tool.provider.as_str())
        .collect();
    checks.push(match connected.as_slice() {
        [] => DoctorCheck {
            fix: Some("start a local server or set a key".to_owned()),
            ..DoctorCheck::attention_with_steps(
                "providers",
                "no-provider",
                format!("none of {} is connected", found.len()),
                [NextStep::CheckHealth],
            )
        },
        some => DoctorCheck::fine("providers", format!("connected: {}", some.join(", "))),
    });
    for tool in found {
        // Somebody set these providers up, and they do not work. The other states are those of a provider that nobody uses here.
        let half = match tool.status {
            HealthStatus::InvalidToken | HealthStatus::ModelMissing | HealthStatus::SchemaMismatch => true,
            HealthStatus::Connected | HealthStatus::NotConfigured | HealthStatus::Unreachable => false,
        };
        if half {
            let mut steps = tool.next.clone();
            if !tool.says_next() {
                steps.push(NextStep::CheckHealth);
            }
            let name = format!("provider {}", tool.provider);
            checks.push(DoctorCheck {
                fix: tool.fix.clone(),
                ..DoctorCheck::attention_with_steps(&name, tool.status.as_str(), &tool.details, steps)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use agentos_engine::Cause;

    use super::*;
    use agentos_api::CheckStatus;

    fn health(provider: &str, status: HealthStatus) -> ToolHealth {
        let now = agentos_tool::Timestamp::from_unix_seconds(0);
        ToolHealth::new(provider, status, "seen".to_owned(), now)
    }

    #[test]
    fn a_provider_that_nobody_set_up_is_no_fault_and_a_wrong_key_wants_attention() {
        let found = [
            health("openai", HealthStatus::NotConfigured),
            health("ollama", HealthStatus::Unreachable),
            health("anthropic", HealthStatus::InvalidToken),
        ];
        let mut checks = Vec::new();
        add_provider_checks(&found, &mut checks);
        let seen: Vec<(&str, CheckStatus)> = checks
            .iter()
            .map(|check| (check.name.as_str(), check.status))
            .collect();
        assert_eq!(
            seen,
            [
                ("providers", CheckStatus::Attention),
                ("provider anthropic", CheckStatus::Attention)
            ]
        );
        assert_eq!(checks.iter().find_map(|check| check.cause), None::<Cause>);
    }
}
