//! Files near the best ones: those that they import, and their tests.
//!
//! Owns: which file tests another, and how much an import or a test adds to a score. Never: reads a file.

use std::collections::HashMap;

use super::FileRanker;
use super::paths::{PathFinder, file_stem};
use crate::imports::list_imports;

/// Share of a file's score that is added to the score of a file that it imports.
const IMPORT_WEIGHT: f64 = 0.3;
/// Share of a file's score that is added to the score of its tests.
const TEST_WEIGHT: f64 = 0.2;
/// Maximum number of tests of one file. Names such as `utils` are common.
const MOST_TESTS: usize = 3;
/// Names of files that say nothing about their content, so that no test is found by them.
const PLAIN_STEMS: [&str; 6] = ["__init__", "conftest", "index", "lib", "main", "mod"];
/// Beginnings and ends of the names of tests.
const TEST_STARTS: [&str; 4] = ["test_", "test-", "Test", "test"];
const TEST_ENDS: [&str; 10] = [
    "_tests", "_test", "-tests", "-test", "Tests", "Test", "IT", "_spec", "-spec", "Spec",
];

/// File whose neighbours are searched for.
pub(crate) struct NearFile<'t> {
    /// Number of the file.
    pub(crate) file: usize,
    /// Text of the file.
    pub(crate) text: &'t str,
    /// Score of the file.
    pub(crate) score: f64,
}

/// FileNeighbour of a file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FileNeighbour {
    /// Number of the neighbour.
    pub(crate) file: usize,
    /// Addition to its score.
    pub(crate) adds: f64,
    /// Number of the file that imports it, or that it tests.
    pub(crate) of: usize,
}

impl FileRanker<'_> {
    /// Returns the neighbours of files, sorted by their numbers. A neighbour of several files counts for the best of them.
    pub(crate) fn find_neighbours(&self, best: &[NearFile<'_>]) -> Vec<FileNeighbour> {
        let mut found = self.find_imported(best);
        found.extend(self.find_tests(best));
        let mut strongest: HashMap<usize, FileNeighbour> = HashMap::new();
        for neighbour in found {
            let known = strongest.entry(neighbour.file).or_insert(neighbour);
            // Of equal ones the first stays, which does not depend on the order of a map.
            if neighbour.adds > known.adds {
                *known = neighbour;
            }
        }
        let mut neighbours: Vec<FileNeighbour> = strongest.into_values().collect();
        neighbours.sort_by_key(|neighbour| neighbour.file);
        neighbours
    }

    /// Returns the files that files import.
    fn find_imported(&self, best: &[NearFile<'_>]) -> Vec<FileNeighbour> {
        let mut finder = PathFinder::new(self);
        let mut imported = Vec::new();
        for near in best {
            let path = self.path_of(near.file);
            for import in list_imports(path, near.text) {
                let files = finder.find_import(path, &import);
                // An import of a folder says less about each of its files.
                let share = 1.0 / (files.len().max(1) as f64).sqrt();
                let others = files.into_iter().filter(|file| *file != near.file);
                imported.extend(others.map(|file| FileNeighbour {
                    file,
                    adds: IMPORT_WEIGHT * near.score * share,
                    of: near.file,
                }));
            }
        }
        imported
    }

    /// Returns the tests of files, found by their names. Of several, those in the nearest folders.
    fn find_tests(&self, best: &[NearFile<'_>]) -> Vec<FileNeighbour> {
        // By name and not by import: a test is not read before it is a candidate, and most frameworks ask for such names.
        let is_source = |near: &&NearFile<'_>| {
            let stem = file_stem(self.path_of(near.file));
            let is_test = self.files.get(near.file).is_some_and(|file| file.kinds.is_test);
            !is_test && stem.len() > 1 && !PLAIN_STEMS.contains(&stem)
        };
        let sources: Vec<&NearFile<'_>> = best.iter().filter(is_source).collect();
        let mut tests: Vec<Vec<(usize, usize)>> = vec![Vec::new(); sources.len()];
        for (at, file) in self.files.iter().enumerate() {
            if !file.kinds.is_test || file.kinds.is_generated {
                continue;
            }
            let tested = tested_stem(file_stem(&file.path));
            for (source, tests) in sources.iter().zip(&mut tests) {
                let path = self.path_of(source.file);
                if is_same_name(tested, file_stem(path)) {
                    tests.push((count_shared_folders(path, &file.path), at));
                }
            }
        }
        let mut found = Vec::new();
        for (source, mut tests) in sources.into_iter().zip(tests) {
            tests.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
            found.extend(tests.into_iter().take(MOST_TESTS).map(|(_, file)| FileNeighbour {
                file,
                adds: TEST_WEIGHT * source.score,
                of: source.file,
            }));
        }
        found
    }

    /// Returns the path of a file, or an empty text if there is no such file.
    pub(crate) fn path_of(&self, file: usize) -> &str {
        self.files.get(file).map_or("", |file| file.path.as_str())
    }
}

/// Returns the name of a test without the words that mark it as one.
fn tested_stem(stem: &str) -> &str {
    let start = TEST_STARTS.iter().find_map(|start| stem.strip_prefix(start));
    let rest = start.unwrap_or(stem);
    let end = TEST_ENDS.iter().find_map(|end| rest.strip_suffix(end));
    end.unwrap_or(rest)
}

/// Returns true if two names differ in capitals and separators at most: `resolveType` and `resolve_type` are one name.
fn is_same_name(a: &str, b: &str) -> bool {
    let letters = |name: &'_ str| {
        let bytes = name.bytes().filter(|byte| !matches!(byte, b'_' | b'-'));
        bytes.map(|byte| byte.to_ascii_lowercase()).collect::<Vec<u8>>()
    };
    // The first letters differ for nearly all of a large number of tests, and allocate nothing.
    let first = |name: &str| name.bytes().next().map(|byte| byte.to_ascii_lowercase());
    first(a) == first(b) && letters(a) == letters(b)
}

/// Counts the folders with which two paths begin alike.
fn count_shared_folders(a: &str, b: &str) -> usize {
    let pairs = a.split('/').zip(b.split('/'));
    pairs.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::{is_same_name, tested_stem};
    use crate::rank::paths::file_stem;

    #[test]
    fn tests_are_found_by_their_names() {
        let cases = [
            ("tests/test_shop.py", "src/shop.py", true),
            ("shop_test.go", "shop.go", true),
            ("src/__tests__/resolveType.spec.ts", "src/resolveType.ts", true),
            ("src/test/java/a/ShopTest.java", "src/main/java/a/Shop.java", true),
            ("test/test-tcp-open.c", "src/tcp_open.c", true),
            ("tests/shop.rs", "src/shop.rs", true),
            ("tests/test_shopping.py", "src/shop.py", false),
            ("tests/test_a.py", "src/b.py", false),
        ];
        for (test, source, expected) in cases {
            let found = is_same_name(tested_stem(file_stem(test)), file_stem(source));
            assert_eq!(found, expected, "{test} {source}");
        }
    }
}
