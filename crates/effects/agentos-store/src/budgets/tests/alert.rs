//! Budgets that are nearly spent.

use super::*;

#[test]
fn a_reservation_says_if_four_fifths_of_a_budget_are_spent() {
    // Amount, what each call costs, and the calls that hear of it.
    for (amount, price, expected) in [("10", "1", &[8, 9][..]), ("1", "1", &[]), ("1", "0.3", &[])] {
        let folder = TempDir::new().unwrap();
        let mut store = BudgetStore::open(folder.path()).unwrap();
        let (limit, now) = (limit(amount, BudgetPeriod::Day), at(NOON));
        let mut alerted = Vec::new();
        for number in 0..20 {
            let id = format!("c{number}");
            let planned = call(&id, price, &now);
            let answer = store
                .reserve(std::slice::from_ref(&limit), &planned, empty)
                .unwrap();
            let ReserveAnswer::Reserved { nearly_spent } = answer else {
                break;
            };
            alerted.extend(nearly_spent.iter().map(|_| number));
            store.mark_sent(&id, &now).unwrap();
            store.close(&id, known(price)).unwrap();
        }
        assert_eq!(alerted, expected, "{amount} {price}");
    }
}
