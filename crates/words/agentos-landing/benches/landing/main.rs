//! Landing alone, without a process or a repository: throughput, and how time and memory grow with the input.
//! Each size is twice the one before it: a line whose throughput falls as its size grows, or whose memory more than
//! doubles, tells of growth that is not linear.
//!
//! Owns: what is measured and at which sizes. Never: judges a time; the numbers are for people.

mod corpus;
mod edits;

use agentos_landing::{LandError, LandOptions, land};
use divan::counter::{BytesCount, ItemsCount};
use divan::{AllocProfiler, Bencher};

use crate::edits::{Case, Shape};

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// Lands a case again and again; `units` is what its throughput counts beside the answer's bytes.
fn measure(bencher: Bencher<'_, '_>, case: &Case, answer: &[u8], units: usize) {
    bencher
        .counter(BytesCount::new(answer.len()))
        .counter(ItemsCount::new(units))
        .bench_local(|| {
            let landed = land(answer, &case.base, &LandOptions::default());
            // The largest inputs are beyond what an answer may be: then being told so is what is measured.
            let told = matches!(&landed, Err(LandError::Refused(_)));
            assert!(landed.is_ok() || told, "the base cannot be read");
            landed
        });
}

/// As `measure`, for a case that must land.
fn measure_landing(bencher: Bencher<'_, '_>, case: &Case, answer: &[u8], units: usize) {
    let landed = land(answer, &case.base, &LandOptions::default());
    assert!(
        landed.is_ok(),
        "{:?}",
        landed.err().map(|error| error.to_string())
    );
    measure(bencher, case, answer, units);
}

/// An ordinary large answer, as git would write it. Items are hunks.
#[divan::bench(max_time = 5)]
fn clean(bencher: Bencher<'_, '_>) {
    let case = Case::new(Shape {
        files: 50,
        hunks: 20,
        lines: 1_000,
    });
    measure_landing(bencher, &case, &case.answer, 1_000);
}

/// The same without numbers, git's header lines, and blanks at line ends; inside a fence. Items are hunks.
#[divan::bench(max_time = 5)]
fn damaged(bencher: Bencher<'_, '_>) {
    let case = Case::new(Shape {
        files: 50,
        hunks: 20,
        lines: 1_000,
    });
    measure_landing(bencher, &case, &case.damaged(), 1_000);
}

/// Growth with the bytes of an answer of new files. Items are kilobytes.
#[divan::bench(args = [1_250, 2_500, 5_000, 10_000], max_time = 5)]
fn answer_kilobytes(bencher: Bencher<'_, '_>, kilobytes: usize) {
    let case = Case::of_new_files(100, kilobytes * 10);
    measure_landing(bencher, &case, &case.answer, kilobytes);
}

/// Growth with the lines of the one file that ten hunks go to. Items are lines of the file.
#[divan::bench(args = [12_500, 25_000, 50_000, 100_000], max_time = 5)]
fn file_lines(bencher: Bencher<'_, '_>, lines: usize) {
    let case = Case::new(Shape {
        files: 1,
        hunks: 10,
        lines,
    });
    measure_landing(bencher, &case, &case.answer, lines);
}

/// The same from a damaged answer.
#[divan::bench(args = [12_500, 25_000, 50_000, 100_000], max_time = 5)]
fn file_lines_damaged(bencher: Bencher<'_, '_>, lines: usize) {
    let case = Case::new(Shape {
        files: 1,
        hunks: 10,
        lines,
    });
    measure_landing(bencher, &case, &case.damaged(), lines);
}

/// Growth with the number of files, one hunk each. Items are files.
#[divan::bench(args = [625, 1_250, 2_500, 5_000], max_time = 5)]
fn files(bencher: Bencher<'_, '_>, files: usize) {
    let case = Case::new(Shape {
        files,
        hunks: 1,
        lines: 50,
    });
    measure_landing(bencher, &case, &case.answer, files);
}

/// The same from a damaged answer.
#[divan::bench(args = [625, 1_250, 2_500, 5_000], max_time = 5)]
fn files_damaged(bencher: Bencher<'_, '_>, files: usize) {
    let case = Case::new(Shape {
        files,
        hunks: 1,
        lines: 50,
    });
    measure_landing(bencher, &case, &case.damaged(), files);
}

/// Growth with the number of hunks in one file, which grows along. Items are hunks.
#[divan::bench(args = [6_250, 12_500, 25_000, 50_000], max_time = 5)]
fn hunks(bencher: Bencher<'_, '_>, hunks: usize) {
    let case = Case::new(Shape {
        files: 1,
        hunks,
        lines: hunks * 10,
    });
    measure_landing(bencher, &case, &case.answer, hunks);
}

/// The same from a damaged answer.
#[divan::bench(args = [6_250, 12_500, 25_000, 50_000], max_time = 5)]
fn hunks_damaged(bencher: Bencher<'_, '_>, hunks: usize) {
    let case = Case::new(Shape {
        files: 1,
        hunks,
        lines: hunks * 10,
    });
    measure_landing(bencher, &case, &case.damaged(), hunks);
}

/// The same with a hundred hunks a file. Items are hunks.
#[divan::bench(args = [6_250, 12_500, 25_000, 50_000], max_time = 5)]
fn hunks_of_many_files(bencher: Bencher<'_, '_>, hunks: usize) {
    let case = Case::new(Shape {
        files: hunks / 100,
        hunks: 100,
        lines: 1_000,
    });
    measure_landing(bencher, &case, &case.damaged(), hunks);
}

/// Growth where every line fits everywhere: what a refusal costs. Items are lines of the file.
#[divan::bench(args = [12_500, 25_000, 50_000, 100_000], max_time = 5)]
fn repeated_lines(bencher: Bencher<'_, '_>, lines: usize) {
    let case = Case::of_one_line_repeated(lines);
    measure(bencher, &case, &case.answer, lines);
}

/// Growth with an answer that holds no edit at all. Items are kilobytes.
#[divan::bench(args = [1_250, 2_500, 5_000, 10_000], max_time = 5)]
fn prose_kilobytes(bencher: Bencher<'_, '_>, kilobytes: usize) {
    let case = Case::of_prose(kilobytes * 1_000);
    measure(bencher, &case, &case.answer, kilobytes);
}

/// Growth with text that is nothing but the beginnings of edits: what a refusal costs. Items are kilobytes.
#[divan::bench(args = [1_250, 2_500, 5_000, 10_000], consts = [0, 1, 2, 3, 4], max_time = 2)]
fn beginnings_kilobytes<const KIND: usize>(bencher: Bencher<'_, '_>, kilobytes: usize) {
    let kinds = [
        "@@ -1 +1 @@\n",
        "```\n",
        "f\n<<<<<<< SEARCH\n",
        "[\n",
        "*** Begin Patch\n",
    ];
    let piece = kinds.get(KIND).copied().unwrap_or_default();
    let case = Case::of_pieces(piece, kilobytes * 1_000);
    measure(bencher, &case, &case.answer, kilobytes);
}

/// Growth with the places where context was left out of one hunk. Items are those.
#[divan::bench(args = [1_250, 2_500, 5_000, 10_000], max_time = 5)]
fn elisions(bencher: Bencher<'_, '_>, elisions: usize) {
    let case = Case::of_elisions(elisions);
    measure_landing(bencher, &case, &case.answer, elisions);
}

/// Growth with the search/replace blocks of one file, which grows along. Items are blocks.
#[divan::bench(args = [625, 1_250, 2_500, 5_000], max_time = 5)]
fn blocks(bencher: Bencher<'_, '_>, blocks: usize) {
    let case = Case::of_blocks(blocks);
    measure_landing(bencher, &case, &case.answer, blocks);
}

/// Growth with the diffs of one file that are read one after the other. Items are diffs.
#[divan::bench(args = [8, 16, 32, 64], max_time = 5)]
fn parts_in_turn(bencher: Bencher<'_, '_>, parts: usize) {
    let case = Case::of_parts_in_turn(parts);
    measure_landing(bencher, &case, &case.answer, parts);
}

/// Growth with the hunks that stand nowhere, and the file they nearly stand in. Items are hunks.
#[divan::bench(args = [1_250, 2_500, 5_000, 10_000], max_time = 5)]
fn near_misses(bencher: Bencher<'_, '_>, hunks: usize) {
    let case = Case::of_near_misses(hunks);
    measure(bencher, &case, &case.answer, hunks);
}

/// All inputs of the public corpus, one after the other: what landing itself takes of one. Items are inputs.
#[divan::bench(max_time = 5)]
fn public_corpus(bencher: Bencher<'_, '_>) {
    let cases = corpus::cases();
    assert!(!cases.is_empty(), "the corpus cannot be read");
    bencher.counter(ItemsCount::new(cases.len())).bench_local(|| {
        for case in &cases {
            drop(divan::black_box(land(
                &case.answer,
                &case.base,
                &LandOptions::default(),
            )));
        }
    });
}
