//! Index of the lines of a file, by number instead of by text, for every rung that is needed.
//!
//! Owns: the tables and the search. Work is counted. Never: judges indentation.

use std::hash::{DefaultHasher, Hasher};

use super::TargetFile;
use super::key::{MatchLevel, line_key};
use crate::Refusal;
use crate::context::WorkBudget;
use crate::parse::HunkLine;
use crate::text::FileLines;

/// Lines of a file in an order in which equal lines are next to each other. It has numbers only, 12 bytes for each line: a
/// table of the texts would be several times as large as the file.
pub(super) struct LineTable {
    /// First halves of the hashes of the lines, ascending.
    hashes: Vec<u32>,
    /// Lines in the order of `hashes`; equal ones ascending.
    order: Vec<u32>,
    /// For each line of the file the position in `order` of the first line that is equal to it. So a hunk is compared
    /// without its text.
    numbers: Vec<u32>,
}

impl TargetFile<'_> {
    /// Returns the lines at which this run of lines begins in the file, ascending.
    pub(super) fn find_runs(&mut self, level: MatchLevel, old: &[&HunkLine]) -> Result<Vec<usize>, Refusal> {
        let budget = self.budget;
        let (table, lines) = self.table_for(level)?;
        budget.spend(old.len())?;
        let numbers = old.iter().map(|line| table.number_of(level, lines, &line.text));
        match numbers.collect::<Option<Vec<u32>>>() {
            Some(wanted) => table.search_from_rarest(&wanted, budget),
            // One line that the file does not have decides; no place needs to be looked at.
            None => Ok(Vec::new()),
        }
    }

    /// Returns the lines of the file that are equal to `text` on this rung.
    pub(super) fn places_of(&mut self, level: MatchLevel, text: &[u8]) -> Result<&[u32], Refusal> {
        let (table, lines) = self.table_for(level)?;
        let number = table.number_of(level, lines, text);
        Ok(number.map(|number| table.places(number)).unwrap_or_default())
    }

    fn table_for(&mut self, level: MatchLevel) -> Result<(&LineTable, FileLines<'_>), Refusal> {
        let lines = FileLines::new(self.content, &self.starts);
        if !self.tables.contains_key(&level) {
            self.budget.spend(lines.len())?;
        }
        let table = self.tables.entry(level);
        Ok((table.or_insert_with(|| LineTable::new(level, lines)), lines))
    }
}

fn hash_of(key: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(key);
    hasher.finish()
}

/// Returns the half of a hash that a table keeps.
fn first_half(hash: u64) -> u32 {
    u32::try_from(hash >> u32::BITS).unwrap_or_default()
}

impl LineTable {
    fn new(level: MatchLevel, lines: FileLines<'_>) -> Self {
        let text = |at: u32| lines.line(at as usize).map(|line| line_key(level, line.text));
        let hashes = lines.iter().map(|line| hash_of(&line_key(level, line.text)));
        let mut sorted: Vec<(u64, u32)> = hashes.zip(0u32..).collect();
        sorted.sort_unstable();
        let mut numbers = vec![0; sorted.len()];
        let mut first = 0;
        for same in sorted.chunk_by_mut(|a, b| a.0 == b.0) {
            // Different lines with one hash do not occur by chance.
            let collide = same.array_windows().any(|[a, b]| text(a.1) != text(b.1));
            if collide {
                same.sort_by_cached_key(|(_, at)| (text(*at), *at));
            }
            for equal in same.chunk_by(|a, b| !collide || text(a.1) == text(b.1)) {
                for (_, at) in equal {
                    if let Some(number) = numbers.get_mut(*at as usize) {
                        *number = first;
                    }
                }
                first += u32::try_from(equal.len()).unwrap_or(u32::MAX);
            }
        }
        Self {
            hashes: sorted.iter().map(|(hash, _)| first_half(*hash)).collect(),
            order: sorted.iter().map(|(_, at)| *at).collect(),
            numbers,
        }
    }

    /// Returns the number of the lines that are equal to `text`. `None` if the file has no such line.
    fn number_of(&self, level: MatchLevel, lines: FileLines<'_>, text: &[u8]) -> Option<u32> {
        let key = line_key(level, text);
        let wanted = first_half(hash_of(&key));
        let mut from = self.hashes.partition_point(|hash| *hash < wanted);
        while self.hashes.get(from) == Some(&wanted) {
            let at = *self.order.get(from)? as usize;
            let number = *self.numbers.get(at)?;
            if line_key(level, lines.line(at)?.text) == key {
                return Some(number);
            }
            from += self.places(number).len().max(1);
        }
        None
    }

    /// Returns the lines that have this number, ascending.
    fn places(&self, number: u32) -> &[u32] {
        let from = self.order.get(number as usize..).unwrap_or_default();
        // The numbers rise in this order.
        let count = from.partition_point(|at| self.numbers.get(*at as usize) <= Some(&number));
        from.get(..count).unwrap_or_default()
    }

    /// Searches from the wanted line that is rarest in the file. A hunk that begins with a bracket would otherwise be
    /// compared with every bracket of the file.
    fn search_from_rarest(&self, wanted: &[u32], budget: &WorkBudget) -> Result<Vec<usize>, Refusal> {
        let rarest = wanted
            .iter()
            .enumerate()
            .min_by_key(|(_, number)| self.places(**number).len());
        let Some((offset, number)) = rarest else {
            return Ok(Vec::new());
        };
        let mut starts = Vec::new();
        for place in self.places(*number) {
            let Some(start) = (*place as usize).checked_sub(offset) else {
                continue;
            };
            let Some(window) = self.numbers.get(start..start + wanted.len()) else {
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
