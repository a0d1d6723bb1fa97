//! Index of the lines of a file, by number instead of by text, for every rung that is needed.
//!
//! Owns: the tables and the search. Work is counted. Never: judges indentation.

use std::collections::HashMap;

use super::key::{MatchLevel, line_key};
use crate::Refusal;
use crate::budget::WorkBudget;
use crate::parse::HunkLine;
use crate::text::TextLine;

/// Tables by rung. Each is built when it is first needed, since most hunks are found on the first rung.
#[derive(Default)]
pub(crate) struct LineIndex {
    tables: HashMap<MatchLevel, LineTable>,
}

struct LineTable {
    numbers: HashMap<Box<[u8]>, u32>,
    /// Number of each line of the file. Equal lines have equal numbers, so a hunk is compared without its text.
    lines: Vec<u32>,
    /// For each number the lines that have it.
    places: Vec<Vec<u32>>,
}

impl LineIndex {
    /// Returns the lines at which this run of lines begins in the file, ascending.
    pub(crate) fn find_runs(
        &mut self,
        level: MatchLevel,
        lines: &[TextLine<'_>],
        old: &[&HunkLine<'_>],
        budget: &mut WorkBudget,
    ) -> Result<Vec<usize>, Refusal> {
        let table = self.table_for(level, lines, budget)?;
        budget.spend(old.len())?;
        let mut wanted = Vec::with_capacity(old.len());
        for line in old {
            match table.numbers.get(line_key(level, &line.text).as_ref()) {
                Some(number) => wanted.push(*number),
                // One line that the file does not have decides; no place needs to be looked at.
                None => return Ok(Vec::new()),
            }
        }
        table.search_from_rarest(&wanted, budget)
    }

    /// Returns the lines of the file that are equal to `text` on this rung.
    pub(crate) fn places_of(
        &mut self,
        level: MatchLevel,
        lines: &[TextLine<'_>],
        text: &[u8],
        budget: &mut WorkBudget,
    ) -> Result<&[u32], Refusal> {
        let table = self.table_for(level, lines, budget)?;
        let number = table.numbers.get(line_key(level, text).as_ref());
        Ok(number
            .and_then(|number| table.places.get(*number as usize))
            .map(Vec::as_slice)
            .unwrap_or_default())
    }

    fn table_for(
        &mut self,
        level: MatchLevel,
        lines: &[TextLine<'_>],
        budget: &mut WorkBudget,
    ) -> Result<&LineTable, Refusal> {
        if !self.tables.contains_key(&level) {
            budget.spend(lines.len())?;
        }
        Ok(self
            .tables
            .entry(level)
            .or_insert_with(|| LineTable::new(level, lines)))
    }
}

impl LineTable {
    fn new(level: MatchLevel, lines: &[TextLine<'_>]) -> Self {
        let mut table = Self {
            numbers: HashMap::new(),
            lines: Vec::with_capacity(lines.len()),
            places: Vec::new(),
        };
        for (at, line) in (0u32..).zip(lines) {
            let key = line_key(level, line.text);
            let number = match table.numbers.get(key.as_ref()) {
                Some(number) => *number,
                None => {
                    let number = u32::try_from(table.places.len()).unwrap_or(u32::MAX);
                    table.numbers.insert(key.into_owned().into_boxed_slice(), number);
                    table.places.push(Vec::new());
                    number
                }
            };
            table.lines.push(number);
            if let Some(places) = table.places.get_mut(number as usize) {
                places.push(at);
            }
        }
        table
    }

    /// Searches from the wanted line that is rarest in the file. A hunk that begins with a bracket would otherwise be
    /// compared with every bracket of the file.
    fn search_from_rarest(&self, wanted: &[u32], budget: &mut WorkBudget) -> Result<Vec<usize>, Refusal> {
        let places = |number: &u32| {
            self.places
                .get(*number as usize)
                .map(Vec::as_slice)
                .unwrap_or_default()
        };
        let rarest = wanted
            .iter()
            .enumerate()
            .min_by_key(|(_, number)| places(number).len());
        let Some((offset, number)) = rarest else {
            return Ok(Vec::new());
        };
        let mut starts = Vec::new();
        for place in places(number) {
            let Some(start) = (*place as usize).checked_sub(offset) else {
                continue;
            };
            let Some(window) = self.lines.get(start..start + wanted.len()) else {
                continue;
            };
            let same = window.iter().zip(wanted).take_while(|(a, b)| a == b).count();
            // Paid by the lines that are compared, so that a file of equal lines cannot cause quadratic work.
            budget.spend(same + 1)?;
            if same == wanted.len() {
                starts.push(start);
            }
        }
        Ok(starts)
    }
}
