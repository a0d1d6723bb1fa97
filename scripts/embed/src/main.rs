//! `embed FOLDER PROVIDER TASK`: the smallest product around AgentOS. It points a model at a repository and lands what policy allows.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use agentos_host::{
    ConsentMode, Environment, Host, OutcomeKind, ProviderChoice, RunEvent, RunSpec, RunWork, SessionOptions,
    TaskSpec, reexec_hook,
};

fn main() -> ExitCode {
    // The host starts this program again to confine what it starts: before any thread, and so before any runtime.
    if let Some(code) = reexec_hook() {
        return code;
    }
    match land_task() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn land_task() -> Result<ExitCode, Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, provider, task] = args.as_slice() else {
        return Err("usage: embed FOLDER PROVIDER TASK".into());
    };
    let host = Host::new(Environment::read()?).with_repository(Some(PathBuf::from(folder)));
    let task = TaskSpec {
        task: Some(task.clone()),
        provider: ProviderChoice::named(provider),
        ..TaskSpec::default()
    };
    let mut run = host.runs().start_run(RunSpec {
        consent: ConsentMode::Person,
        ..RunSpec::new(SessionOptions::default(), RunWork::Task(task))
    })?;
    let control = run.control();
    while let Some(event) = run.events().next().await {
        match event {
            // Escaped here and below: messages can contain text of a repository or a server, and a terminal
            // would obey control characters.
            RunEvent::Notice(notice) => eprintln!("{}", notice.message.escape_debug()),
            // A product shows the change here, and answers with `requested.yes(..)` if its person agrees.
            RunEvent::ConsentRequested(requested) => control.answer(requested.no()),
            RunEvent::Began(_) | RunEvent::ContextFound(_) | RunEvent::Progress(_) | RunEvent::Record(_) => {}
        }
    }
    // Only a run that answers a question, such as whether a change would be allowed, ends without an outcome.
    let Some(outcome) = run.outcome().await?.into_outcome() else {
        return Err("a task ends with an outcome".into());
    };
    println!("{}", outcome.message.escape_debug());
    Ok(match outcome.outcome {
        OutcomeKind::Landed | OutcomeKind::NothingToDo => ExitCode::SUCCESS,
        OutcomeKind::Refused | OutcomeKind::Denied | OutcomeKind::ConsentNeeded | OutcomeKind::Failed => {
            ExitCode::FAILURE
        }
    })
}
