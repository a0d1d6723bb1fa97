//! Sorting of a long list of which few items are taken.
//!
//! Owns: the order in which the items are sorted. Never: changes what the result is.

use std::cmp::Ordering;

/// Sorts a list, its first items at once and the others when they are reached.
pub(super) fn sort_lazily<T>(
    mut list: Vec<T>,
    first: usize,
    compare: impl Fn(&T, &T) -> Ordering + Copy,
) -> impl Iterator<Item = T> {
    // Of 100,000 files, a search looks at some dozen. Selecting them takes one pass, and sorting all of them seventeen.
    let mut rest = Vec::new();
    if first < list.len() {
        list.select_nth_unstable_by(first, compare);
        rest = list.split_off(first);
    }
    list.sort_unstable_by(compare);
    let rest = std::iter::once_with(move || {
        rest.sort_unstable_by(compare);
        rest
    });
    list.into_iter().chain(rest.flatten())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::sort_lazily;

    proptest! {
        #[test]
        fn all_items_come_in_their_order(list in proptest::collection::vec(any::<u8>(), 0..40), first in 0_usize..45) {
            let mut sorted = list.clone();
            sorted.sort_unstable();
            let lazily: Vec<u8> = sort_lazily(list, first, u8::cmp).collect();
            prop_assert_eq!(lazily, sorted);
        }
    }
}
