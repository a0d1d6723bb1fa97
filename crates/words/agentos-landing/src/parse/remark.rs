//! Sentences directly above a block: what they say about the block.
//!
//! Owns: the words. Never: looks at the block, or at a sentence elsewhere.
//!
//! Words alone prove nothing: "returned the wrong value; use X instead" is about the code. A sentence counts only directly
//! above a block, and only in one of these forms:
//!
//! | form | question | example |
//! |---|---|---|
//! | every word is of [`STATING`], and a word states the file | is the block the file? | "Update `a.rs`:", "Here is the new `a.rs`:" |
//! | `complete`, `full`, `entire` or `whole` in front of a word for a file | is the block all of the file? | "The complete file:" |
//! | an example's label at the end, or a negated verb that applies this block | is the block taken back? | "For example:", "Do not apply this:" |
//! | the beginning of a correction | does the block replace one above it? | "Wait, that is wrong. Correct version:" |

use crate::text::is_in;

/// Words of a sentence that does nothing but state a file. Any other word may say something else about it, as `tests`,
/// `usage` or `not` do.
const STATING: &str = "a,actual,all,also,an,and,as,at,be,below,code,complete,completely,content,contents,corrected,create,\
    created,entire,file,finally,first,fixed,following,follows,for,full,fully,here,here's,i,i'll,i've,in,instead,into,is,it,its,let,\
    let's,like,ll,me,modified,must,new,next,now,of,one,please,refactored,replace,replaced,revised,rewrite,rewritten,s,save,second,rewrote,\
    source,step,the,then,third,this,to,ts,under,up,update,updated,us,ve,version,we,we'll,whole,will,with,write,written";
/// Words that state that the file is written.
const WRITING: &str = "rewrote,create,created,replace,replaced,rewrite,rewritten,save,update,updated,write,written,new,complete,full,\
    entire,whole,content,contents,revised,corrected,modified,fixed,refactored";

/// Returns the words of a line in lower case. A code span is one word, the backtick.
fn words(line: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(line).to_lowercase().replace('’', "'");
    let mut words = Vec::new();
    for (at, part) in text.split('`').enumerate() {
        if at % 2 == 1 {
            words.push("`".to_owned());
            continue;
        }
        let of_word = |mark: char| mark.is_alphanumeric() || mark == '\'' || mark == '_';
        let parts = part.split(|mark: char| !of_word(mark));
        words.extend(parts.filter(|word| !word.is_empty()).map(str::to_owned));
    }
    words
}

/// Returns true if a sentence with a path in a code span does nothing but state that the block is that file.
pub(super) fn states_file(line: &[u8]) -> bool {
    let words = words(line);
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    words
        .iter()
        .all(|word| word == "`" || is_number(word) || is_in(STATING, word))
        && words.iter().any(|word| is_in(WRITING, word))
}

/// Returns true if the line says that the file in a code span is new.
pub(super) fn says_new_file(line: &[u8]) -> bool {
    let words = words(line);
    let mut pairs = words.array_windows();
    pairs.any(|[new, file]| new == "new" && file == "file") && states_file(line)
}

/// Returns true if the line says that the block is all of a file: "the complete file", "full contents of `a.rs`".
pub(super) fn says_complete(line: &[u8]) -> bool {
    const ALL: &str = "complete,full,entire,whole";
    const NOUNS: &str = "file,version,content,contents,source,listing,rewrite,replacement,code,`";
    const BETWEEN: &str =
        "new,updated,revised,rewritten,corrected,modified,fixed,final,source,of,the,python,rust";
    const NEGATIONS: &str = "not,no,cannot,never,without,than,too,isn't,can't,don't,won't,couldn't,didn't,wasn't,neither,nor,\
        add,append,insert,lines,part,section,snippet,end,function,functions,method,class,handler,component,only,except,read,looked,\
        same,stay,stays,needs";
    let words = words(line);
    let is_noun = |at: usize| {
        let rest = words.get(at + 1..).unwrap_or_default();
        let said = rest.iter().find(|word| !is_in(BETWEEN, word));
        // "To complete the file" asks for more, and "the complete `f`" may be a function.
        let asks = words.get(at).is_some_and(|word| word == "complete")
            && rest.first().is_some_and(|word| is_in("the,a,this", word));
        said.is_some_and(|word| is_in(NOUNS, word)) && !asks
    };
    let is_all = |at: &usize| words.get(*at).is_some_and(|word| is_in(ALL, word));
    !words.iter().any(|word| is_in(NEGATIONS, word)) && (0..words.len()).filter(is_all).any(is_noun)
}

/// Returns true if the line takes the block below it back: it is an example, or must not be applied.
pub(super) fn takes_back(line: &[u8]) -> bool {
    /// Labels of a block that shows something else than the change.
    const LABELS: &str = "for example,for instance,e g,example,examples,an example,usage,example usage,usage example,not this,\
        instead of this,instead of,wrong,bad,incorrect,the wrong way,draft,first draft,first attempt,my first attempt,\
        previous attempt,old version,discarded,rejected";
    let text = String::from_utf8_lossy(line);
    let text = text.trim().trim_end_matches(['*', '_', ')', ' ']);
    let is_label =
        text.ends_with(':') || (text.starts_with(['#', '*']) && !text.to_lowercase().contains("usage"));
    let words = words(line);
    let said = words.join(" ");
    // "…, for example:" and "…, e.g.:" end a sentence; the other labels are all of it.
    let ends_in_example = is_label
        && LABELS
            .split(',')
            .take(3)
            .any(|label| ends_with_words(&said, label));
    let begins = ["an example", "here is an example", "here's an example"];
    let begins_as_example = text.ends_with(':') && begins.iter().any(|begin| said.starts_with(begin));
    (is_label && is_in(LABELS, &said))
        || ends_in_example
        || begins_as_example
        || forbids(&words)
        || was_wrong(&words)
}

fn ends_with_words(said: &str, label: &str) -> bool {
    said.strip_suffix(label)
        .is_some_and(|before| before.is_empty() || before.ends_with(' '))
}

/// Returns true for "do not apply this", "don't use the patch below" and the like.
fn forbids(words: &[String]) -> bool {
    const NOT: &str = "not,never,don't,dont,doesn't,shouldn't,mustn't,cannot,can't,won't";
    const VERBS: &str = "apply,applied,use,used,add,commit,merge,copy,land,include,run,paste,do,take";
    const NOUNS: &str =
        "patch,diff,change,changes,code,block,version,snippet,edit,example,draft,following,below,above";
    const THIS: &str = "this,these,it,them,that,the,any";
    const BEHIND: &str = "yet,directly,as,verbatim,here,now,blindly,to,into";
    let at = |index: usize| words.get(index).map_or("", String::as_str);
    let ignores = (0..words.len()).filter(|index| is_in("ignore,disregard", at(*index)));
    if ignores.into_iter().any(|index| {
        let next = at(index + 1);
        let asks = words.iter().any(|word| is_in("you,please", word));
        (next.is_empty() && asks) || is_in("this,these,it,them", next)
    }) {
        return true;
    }
    (0..words.len())
        .filter(|index| is_in(NOT, at(*index)))
        .any(|not| {
            // "The loader did not use the block" is about the code.
            let before = not.checked_sub(1).map_or("", &at);
            let commands = before.is_empty()
                || is_in("don't,dont,shouldn't,mustn't", at(not))
                || is_in("do,should,must,please,to,and,but,be", before);
            if !commands || is_in("forget,hesitate", at(not + 1)) {
                return false;
            }
            let verb = (not + 1..not + 4).find(|index| is_in(VERBS, at(*index)));
            let Some(verb) = verb else { return false };
            let (what, more) = (at(verb + 1), at(verb + 2));
            let near = || (verb + 2..verb + 5).any(|index| is_in(NOUNS, at(index)));
            let applies = is_in("apply,applied,add,copy,paste,merge,include", at(verb));
            match what {
                // "(do not apply)": the sentence ends with the verb.
                "" => is_in("apply,applied,use,commit,merge,copy,land", at(verb)),
                "`" => false,
                _ if is_in(THIS, what) => {
                    (more.is_empty() && what != "the")
                        || near()
                        || (applies && is_in("this,these", what) && is_in(BEHIND, more))
                        || is_in("yet,directly,verbatim,blindly", more)
                }
                _ => is_in("yet,directly,verbatim", what),
            }
        })
}

/// Returns true for a line that ends in "this was wrong" and the like.
fn was_wrong(words: &[String]) -> bool {
    const SUBJECTS: &str = "this,these,following,below,attempt,draft,patch,diff,block,snippet";
    const WRONG: &str = "wrong,incorrect,outdated,obsolete,broken,mistaken";
    let rest = match words {
        [rest @ .., wrong] if is_in(WRONG, wrong) => rest,
        [rest @ .., a, mistake] if a == "a" && mistake == "mistake" => rest,
        [rest @ .., not, right] if not == "not" && is_in("right,correct,it", right) => rest,
        _ => return false,
    };
    match rest {
        [.., subject, verb] => is_in("is,was,are,were", verb) && is_in(SUBJECTS, subject),
        _ => false,
    }
}

/// Returns true if the line says that the block below it replaces one above it, or is another choice.
pub(super) fn replaces_above(line: &[u8]) -> bool {
    const STARTS: &str = "alternatively;option 2;option b;option two;wait,;wait ;actually,;scratch that;on second thought;correction:;\
        no, ;or, ";
    let text = String::from_utf8_lossy(line).to_lowercase();
    let text = text.trim_start_matches(['#', '*', ' ', '_', '\t']);
    STARTS.split(';').any(|start| text.starts_with(start))
        || text.contains("correct version")
        || text.contains("corrected version")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_counts_only_if_it_speaks_of_the_block() {
        let cases: [(&str, &str); 44] = [
            ("I read the whole file; only `load` needs a change:", ""),
            (
                "Here is the complete code for the updated function in `a.rs`:",
                "",
            ),
            ("examples/demo.py:", ""),
            ("Don't forget to apply this change:", ""),
            ("The loader did not use the block size:", ""),
            ("The pinned version was outdated:", ""),
            ("My first attempt, which you should ignore:", "back"),
            ("The parser should ignore empty lines:", ""),
            ("Update `a.rs`:", "states"),
            (
                "Next, create a new file `src/a.rs` with the following content:",
                "states",
            ),
            ("I'll rewrite `a.rs` as follows:", "states"),
            ("Add this to `a.rs`:", ""),
            ("In `a.rs`, add:", ""),
            ("The new function in `a.rs` looks like this:", ""),
            ("I could not update `a.rs`. The error was:", ""),
            ("Run the tests of `a.rs` that were added:", ""),
            ("No new warnings in `a.rs`:", ""),
            ("I updated `a.rs`. Usage:", ""),
            ("Do not add this to `a.rs`:", "back"),
            ("Here is the complete file:", "complete"),
            ("Here is the full updated `a.rs`:", "states complete"),
            ("The entire contents of `a.rs`:", "states complete"),
            ("To complete the file, write:", ""),
            ("This is not the complete file:", ""),
            ("The full function:", ""),
            ("For example:", "back"),
            ("Callers pass None, for example:", "back"),
            ("For example, None was passed.", ""),
            ("### Example", "back"),
            ("The bug looks like this in upstream (do not apply):", "back"),
            ("Please do not apply this patch yet:", "back"),
            ("Never use the following version:", "back"),
            ("This was wrong:", "back"),
            ("My first draft was wrong:", "back"),
            ("The function returned the wrong value; use X instead.", ""),
            ("It returned the wrong value:", ""),
            ("Do not use this function on Windows:", ""),
            ("The parser must not add a line:", ""),
            ("We should not run it twice:", ""),
            ("Wait, that is wrong. Correct version:", "replaces"),
            ("Alternatively:", "replaces"),
            ("Use this instead:", ""),
            ("Use `b` instead of `a` in the loop:", ""),
            ("The wait, as before, is short:", ""),
        ];
        for (line, wanted) in cases {
            let line_bytes = line.as_bytes();
            let found = [
                (states_file(line_bytes) && line.contains('`'), "states"),
                (says_complete(line_bytes), "complete"),
                (takes_back(line_bytes), "back"),
                (replaces_above(line_bytes), "replaces"),
            ];
            let found: Vec<&str> = found
                .into_iter()
                .filter_map(|(is, name)| is.then_some(name))
                .collect();
            assert_eq!(found.join(" "), wanted, "{line:?}");
        }
    }
}
