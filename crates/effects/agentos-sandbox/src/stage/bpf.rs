//! A filter of system calls as a program for the kernel (seccomp(2), linux/bpf_common.h, linux/seccomp.h,
//! linux/audit.h).
//!
//! The numbers are searched by halves. When a filter is applied, the kernel runs the program once for every call
//! number, to learn which calls it need not ask about again; a list walked from its start made that the most
//! expensive part of the start.
//!
//! Owns: the instructions, and the search for a call's number. Never: knows a particular call, or lets a call of
//! another architecture through.

use agentos_notify::FilterInstruction;

/// Offsets of what the filter reads: 32-bit numbers in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// Answers to a call, in the bits above the error number.
const KILL: u32 = 0x8000_0000;
const ALLOW: u32 = 0x7fff_0000;
const ERROR: u32 = 0x0005_0000;

/// Largest number of calls that are compared one after the other.
const MAX_LEAF: usize = 4;

/// System call with the filter's answer to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallRule {
    /// Number of the call.
    pub(super) number: u32,
    /// Condition on the arguments.
    pub(super) when: CallCondition,
    /// Answer if the condition holds.
    pub(super) answer: u32,
}

/// Condition on the arguments of a call. The kernel's calls in question also read these arguments as 32 bits.
#[derive(Debug, Clone, Copy)]
pub(super) enum CallCondition {
    /// Holds for all arguments.
    Always,
    /// Holds if one of these bits is set in this argument.
    Has(u32, u32),
    /// Holds if this argument is one of these values.
    Is(u32, &'static [u32]),
    /// Holds if one of these arguments, masked with these bits, is none of these values.
    IsNot(&'static [(u32, u32, &'static [u32])]),
    /// Holds if each of these arguments has one of its bits set.
    HasAll(&'static [(u32, u32)]),
}

/// Returns the answer that makes a call fail with this error number.
pub(super) fn error_answer(number: u16) -> u32 {
    ERROR | u32::from(number)
}

/// Builds a program that answers the calls of the rules and allows all others. Numbers that have one of the bits of
/// `second` get its answer, whatever else they are. `None` if this machine's architecture is not known.
pub(super) fn build_program(
    mut rules: Vec<CallRule>,
    second: Option<(u32, u32)>,
) -> Option<Vec<FilterInstruction>> {
    rules.sort_by_key(|rule| rule.number);
    let mut all = vec![load(ARCHITECTURE)];
    // Call numbers differ between architectures, so the architecture is compared first: a call of another one would
    // be taken for a harmless call with the same number.
    all.extend([
        jump(EQUAL, audit_architecture()?, 1, 0),
        answer(KILL),
        load(NUMBER),
    ]);
    if let Some((bits, refused)) = second {
        all.extend([jump(ANY_BIT, bits, 0, 1), answer(refused)]);
    }
    all.extend(build_search(&rules)?);
    Some(all)
}

/// Returns `AUDIT_ARCH_*` of this machine: its number in ELF files, with the flags for 64 bits and little endian.
/// `None` if it is not known.
fn audit_architecture() -> Option<u32> {
    const LITTLE_64: u32 = 0xc000_0000;
    let machine = match std::env::consts::ARCH {
        "x86_64" => 62,
        "aarch64" => 183,
        "riscv64" => 243,
        _ => return None,
    };
    Some(LITTLE_64 | machine)
}

fn build_search(rules: &[CallRule]) -> Option<Vec<FilterInstruction>> {
    let mut all = Vec::new();
    if rules.len() <= MAX_LEAF {
        for rule in rules {
            let block = build_block(rule)?;
            let past = u8::try_from(block.len()).ok()?;
            all.push(jump(EQUAL, rule.number, 0, past));
            all.extend(block);
        }
        all.push(answer(ALLOW));
        return Some(all);
    }
    let (lower, upper) = rules.split_at(rules.len() / 2);
    let (lower, middle, upper) = (build_search(lower)?, upper.first()?.number, build_search(upper)?);
    // A conditional jump has only 8 bits for its distance; the unconditional one has 32.
    all.push(jump(AT_LEAST, middle, 0, 1));
    all.push(skip(u32::try_from(lower.len()).ok()?));
    all.extend(lower);
    all.extend(upper);
    Some(all)
}

/// Builds the instructions for one call, each path of which ends with an answer.
fn build_block(rule: &CallRule) -> Option<Vec<FilterInstruction>> {
    let (answered, allowed) = (answer(rule.answer), answer(ALLOW));
    Some(match rule.when {
        CallCondition::Always => vec![answered],
        CallCondition::Has(argument, bits) => vec![
            load(argument_offset(argument)),
            jump(ANY_BIT, bits, 0, 1),
            answered,
            allowed,
        ],
        CallCondition::Is(argument, values) => {
            let mut all = vec![load(argument_offset(argument))];
            all.extend(skip_if_one_of(values)?);
            all.extend([allowed, answered]);
            all
        }
        CallCondition::IsNot(wanted) => {
            let mut all = Vec::new();
            for (argument, bits, values) in wanted {
                all.extend([load(argument_offset(*argument)), and(*bits)]);
                all.extend(skip_if_one_of(values)?);
                all.push(answered);
            }
            all.push(allowed);
            all
        }
        CallCondition::HasAll(wanted) => {
            let mut all = Vec::new();
            for (argument, bits) in wanted {
                all.extend([
                    load(argument_offset(*argument)),
                    jump(ANY_BIT, *bits, 1, 0),
                    allowed,
                ]);
            }
            all.push(answered);
            all
        }
    })
}

/// Builds a comparison that skips the one instruction after it if the loaded value is one of these.
fn skip_if_one_of(values: &[u32]) -> Option<Vec<FilterInstruction>> {
    let last = values.len();
    let jumps = values.iter().enumerate().map(|(at, value)| {
        let past = u8::try_from(last - at).ok()?;
        Some(jump(EQUAL, *value, past, 0))
    });
    jumps.collect()
}

/// Returns the offset of the lower half of an argument.
fn argument_offset(argument: u32) -> u32 {
    ARGUMENTS + 8 * argument
}

/// Codes of `BPF_JMP | BPF_K` with `BPF_JEQ`, `BPF_JGE` and `BPF_JSET`.
const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const ANY_BIT: u16 = 0x45;

fn jump(code: u16, value: u32, jump_true: u8, jump_false: u8) -> FilterInstruction {
    FilterInstruction {
        code,
        jump_true,
        jump_false,
        value,
    }
}

/// Loads a value (`BPF_LD | BPF_W | BPF_ABS`).
fn load(place: u32) -> FilterInstruction {
    jump(0x20, place, 0, 0)
}

/// Masks the loaded value (`BPF_ALU | BPF_AND | BPF_K`).
fn and(bits: u32) -> FilterInstruction {
    jump(0x54, bits, 0, 0)
}

/// Jumps forward (`BPF_JMP | BPF_JA`).
fn skip(count: u32) -> FilterInstruction {
    jump(0x05, count, 0, 0)
}

/// Ends the program with an answer (`BPF_RET | BPF_K`).
fn answer(value: u32) -> FilterInstruction {
    jump(0x06, value, 0, 0)
}

/// Interpreter that runs a program as the kernel would.
#[cfg(test)]
pub(super) mod reading {
    use super::*;

    /// The answer to a call of this machine's architecture with these arguments.
    pub(in crate::stage) fn answered(program: &[FilterInstruction], number: u32, arguments: [u32; 6]) -> u32 {
        run(program, audit_architecture().unwrap(), number, arguments).0
    }

    /// The answer, and after how many steps.
    pub(super) fn run(
        program: &[FilterInstruction],
        architecture: u32,
        number: u32,
        arguments: [u32; 6],
    ) -> (u32, usize) {
        let (mut at, mut loaded, mut steps) = (0, 0, 0);
        loop {
            let step = &program[at];
            at += 1;
            steps += 1;
            let past = |holds: bool| usize::from(if holds { step.jump_true } else { step.jump_false });
            match step.code {
                0x20 => {
                    loaded = match step.value {
                        NUMBER => number,
                        ARCHITECTURE => architecture,
                        place => {
                            assert_eq!((place - ARGUMENTS) % 8, 0);
                            arguments[usize::try_from((place - ARGUMENTS) / 8).unwrap()]
                        }
                    }
                }
                0x54 => loaded &= step.value,
                0x05 => at += usize::try_from(step.value).unwrap(),
                EQUAL => at += past(loaded == step.value),
                AT_LEAST => at += past(loaded >= step.value),
                ANY_BIT => at += past(loaded & step.value != 0),
                0x06 => return (step.value, steps),
                other => panic!("{other}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::reading::{answered, run};
    use super::*;

    const NO: [u32; 6] = [0; 6];

    fn rule(number: u32, when: CallCondition) -> CallRule {
        CallRule {
            number,
            when,
            answer: number + 1,
        }
    }

    #[test]
    fn every_number_is_found_and_no_other_however_many_there_are() {
        for count in 0..80 {
            let numbers: Vec<u32> = (0..count).map(|step| 7 + 3 * step).collect();
            let rules = numbers
                .iter()
                .rev()
                .map(|number| rule(*number, CallCondition::Always));
            let program = build_program(rules.collect(), None).unwrap();
            for number in 0..300 {
                let expected = if numbers.contains(&number) {
                    number + 1
                } else {
                    ALLOW
                };
                assert_eq!(answered(&program, number, NO), expected, "{number} of {count}");
            }
            let longest = (0..300).map(|number| run(&program, audit_architecture().unwrap(), number, NO).1);
            assert!(longest.max().unwrap() <= 4 + MAX_LEAF + 1 + 2 * 6, "{count}");
        }
    }

    #[test]
    fn another_architecture_ends_the_caller_and_the_second_numbers_are_answered_as_a_whole() {
        let program = build_program(vec![rule(5, CallCondition::Always)], Some((0x4000_0000, 9))).unwrap();
        assert_eq!(run(&program, 3, 5, NO).0, KILL);
        for (number, expected) in [(5, 6), (6, ALLOW), (0x4000_0006, 9), (0x4000_0005, 9)] {
            assert_eq!(answered(&program, number, NO), expected);
        }
    }

    #[test]
    fn arguments_are_read_as_the_rule_says() {
        let two: CallCondition = CallCondition::IsNot(&[(0, u32::MAX, &[2, 10]), (1, 0xf, &[1])]);
        for (when, arguments, is_answered) in [
            (CallCondition::Has(1, 6), [9, 4, 9], true),
            (CallCondition::Has(1, 6), [9, 9, 9], false),
            (CallCondition::Is(2, &[3, 4]), [0, 0, 4], true),
            (CallCondition::Is(2, &[3, 4]), [3, 4, 5], false),
            (two, [2, 1, 0], false),
            (two, [10, 0x801, 0], false),
            (two, [11, 1, 0], true),
            (two, [2, 2, 0], true),
        ] {
            let program = build_program(vec![rule(8, CallCondition::Always), rule(9, when)], None).unwrap();
            let [a, b, c] = arguments;
            let expected = if is_answered { 10 } else { ALLOW };
            assert_eq!(
                answered(&program, 9, [a, b, c, 0, 0, 0]),
                expected,
                "{when:?} {arguments:?}"
            );
        }
    }
}
