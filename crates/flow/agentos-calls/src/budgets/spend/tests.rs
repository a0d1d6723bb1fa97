//! Sendings of one call, and what a budget says about them.

use agentos_store::{BudgetLimit, BudgetScope, ZoneOffset, parse_amount};
use agentos_tool::{ExecutionMode, TokenPrices};
use tempfile::TempDir;

use super::super::guard::GuardedModel;
use super::*;
use crate::Calls;
use agentos_ground::Ground;
use agentos_ground::environment::Environment;

/// A home with budgets, and a model whose tokens cost a dollar for a million.
struct BudgetHome {
    _folder: TempDir,
    ground: Ground,
    window: Option<u64>,
}

impl BudgetHome {
    fn with_budgets(amounts: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        let home = [("HOME".to_owned(), folder.path().display().to_string())];
        let ground = Ground::new(Environment::new(home, folder.path().to_owned()));
        let limits = amounts.iter().map(|amount| {
            let (amount, period) = parse_amount(&format!("{amount}/month")).unwrap();
            BudgetLimit {
                amount,
                period,
                zone: ZoneOffset::default(),
                scope: BudgetScope::default(),
                each: None,
            }
        });
        Calls::of(&ground).put_budgets(limits.collect()).unwrap();
        Self {
            _folder: folder,
            ground,
            window: None,
        }
    }

    fn call(&self) -> Arc<CallSpend> {
        let price: TokenPrices = serde_json::from_str(r#"{"input": "1", "output": "1"}"#).unwrap();
        let model = GuardedModel {
            session: None,
            provider: "mine".to_owned(),
            model: Some("tiny".to_owned()),
            execution_mode: ExecutionMode::Cloud,
            price,
            silent: None,
            window: self.window,
        };
        let guard = BudgetGuard::open(&self.ground, model).unwrap();
        CallSpend::new(guard.map(Arc::new))
    }

    /// Returns what each budget has as spent and as reserved.
    fn sums(&self) -> Vec<String> {
        let report = Calls::of(&self.ground).budget_report().unwrap();
        let rows = report.budgets.into_iter().map(|row| match row.spent_usd {
            Some(spent) => format!("${spent} ${}", row.reserved_usd.unwrap_or_default()),
            None => format!(
                "{} {}",
                row.spent.unwrap_or_default(),
                row.reserved.unwrap_or_default()
            ),
        });
        rows.collect()
    }
}

fn size(text_tokens: u64, output_tokens: Option<u64>) -> SendingSize {
    SendingSize {
        text_tokens,
        image_tokens: 0,
        output_tokens,
    }
}

const SMALL: SendingSize = SendingSize {
    text_tokens: 900,
    image_tokens: 0,
    output_tokens: Some(100),
};

#[test]
fn each_sending_is_reserved_and_settled_at_once() {
    let home = BudgetHome::with_budgets(&["1usd", "100calls", "1000000tokens"]);
    let call = home.call();
    let mut seen = Vec::new();
    let mut note = |when: &str| seen.push(format!("{when}: {}", home.sums().join(", ")));
    call.permit_now(SMALL).unwrap();
    note("sent");
    call.note_failure("server-error", false);
    note("a status of 500");
    call.permit_now(SMALL).unwrap();
    call.note_failure("rate-limited", false);
    note("a status of 429");
    call.permit_now(SMALL).unwrap();
    call.note_failure("refused", false);
    note("no connection");
    call.permit_now(SMALL).unwrap();
    note("sent again");
    let usage = Usage {
        input_tokens: Some(250),
        output_tokens: Some(50),
        ..Usage::default()
    };
    call.end(Some("0.0003".parse().unwrap()), Some(&usage), None, true);
    note("answered");
    let lost = home.call();
    lost.permit_now(SMALL).unwrap();
    drop(lost);
    note("dropped");
    insta::assert_snapshot!(seen.join("\n"), @r"
    sent: $0 $0.001, 0 1, 0 1000
    a status of 500: $0.001 $0, 1 0, 1000 0
    a status of 429: $0.001 $0, 2 0, 1000 0
    no connection: $0.001 $0, 2 0, 1000 0
    sent again: $0.001 $0.001, 2 1, 1000 1000
    answered: $0.0013 $0, 3 0, 1300 0
    dropped: $0.0023 $0, 4 0, 2300 0
    ");
}

#[test]
fn a_refusal_shows_everything_that_is_used_and_the_most_that_the_call_costs() {
    let mut home = BudgetHome::with_budgets(&["0.0045usd"]);
    let spent = home.call();
    spent.permit_now(SMALL).unwrap();
    spent.end(Some("0.0005".parse().unwrap()), None, None, true);
    let lost = home.call();
    lost.permit_now(SMALL).unwrap();
    lost.end(None, None, Some("closed"), false);
    let open = home.call();
    open.permit_now(SMALL).unwrap();
    let refuse = |home: &BudgetHome, size| {
        let call = home.call();
        let failure = call.permit_now(size).unwrap_err();
        let refusal = call.take_error().unwrap();
        assert_eq!(
            (failure.detail.as_str(), &failure.message),
            (&*refusal.code, &refusal.message)
        );
        format!("{}: {}", refusal.code, refusal.message)
    };
    let mut said = vec![
        refuse(&home, size(1_200_000, Some(1_000))),
        refuse(&home, size(10, None)),
    ];
    // With a window that the user states, no request is longer, and no answer either.
    home.window = Some(2_001);
    said.push(refuse(&home, size(1_200_000, Some(1))));
    said.push(refuse(&home, size(1, None)));
    home.window = Some(1_000);
    home.call().permit_now(size(1_200_000, Some(1))).unwrap();
    let counts = BudgetHome::with_budgets(&["2calls", "1500tokens"]);
    let first = counts.call();
    first.permit_now(SMALL).unwrap();
    said.push(refuse(&counts, SMALL));
    drop(first);
    let free = counts.call();
    free.permit_now(size(1, Some(1))).unwrap();
    said.push(refuse(&counts, size(1, Some(1))));
    insta::assert_snapshot!(said.join("\n"), @r"
    budget-spent: the budget $0.0045/month has $0.002 left ($0.0005 spent, $0.001 kept for calls of unknown cost, $0.001 reserved for calls that are waiting), and this call can cost up to $1.201
    budget-no-limit: a budget is set, and the requests to `mine` have no limit on the tokens of an answer
    budget-spent: the budget $0.0045/month has $0.002 left ($0.0005 spent, $0.001 kept for calls of unknown cost, $0.001 reserved for calls that are waiting), and this call can cost up to $0.002002
    budget-spent: the budget $0.0045/month has $0.002 left ($0.0005 spent, $0.001 kept for calls of unknown cost, $0.001 reserved for calls that are waiting), and this call can cost up to $0.002002
    budget-spent: the budget 1500 tokens/month has 500 tokens left (0 tokens spent, 0 tokens kept for calls of unknown size, 1000 tokens reserved for calls that are waiting), and this call can have up to 1000 tokens
    budget-spent: the budget 2 calls/month has 0 calls left (1 call spent, 1 call reserved for calls that are waiting), and this would be one more
    ");
}

#[test]
fn a_retry_that_is_refused_is_no_call_that_was_never_sent() {
    let home = BudgetHome::with_budgets(&["0.0015usd"]);
    let call = home.call();
    call.permit_now(SMALL).unwrap();
    call.note_failure("overloaded", false);
    let failure = call.permit_now(SMALL).unwrap_err();
    assert_eq!(failure.detail, "budget-spent");
    // The first sending may be billed, so the call is recorded.
    assert!(call.take_error().is_none() && call.reservation().is_some());
    call.end(None, None, Some("budget-spent"), false);
    assert_eq!(home.sums(), ["$0.001 $0"]);
}
