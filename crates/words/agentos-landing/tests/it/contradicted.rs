//! What speaks against a place, or against the answer being whole: headings, results that stand already, comments that
//! stand for code. Each with its near neighbour that lands.

use agentos_landing::{LandError, LandOptions, land};

use crate::memory::Memory;

/// The file after the answer, or the code of the refusal.
fn outcome(base: &str, answer: &str) -> Result<String, &'static str> {
    let base = Memory::of(&[("f.py", base.as_bytes())]);
    match land(answer.as_bytes(), &base, &LandOptions::default()) {
        Ok(landed) => {
            let after = base.after(&landed.change);
            Ok(String::from_utf8(after["f.py"].1.to_vec()).unwrap())
        }
        Err(LandError::Refused(report)) => Err(report.refusal.as_ref().unwrap().code.as_str()),
        Err(LandError::Base(error)) => panic!("{error}"),
    }
}

const TWINS: &str =
    "class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 1\n";

fn diff(hunk: &str) -> String {
    format!("--- a/f.py\n+++ b/f.py\n{hunk}")
}

#[test]
fn a_heading_that_the_place_is_not_under_makes_it_ambiguous() {
    let body = "     def f(self):\n-        return 1\n+        return 3\n";
    for (header, wanted) in [
        ("@@ -2,2 +2,2 @@ class A:", Ok(TWINS.replacen("1", "3", 1))),
        ("@@ -2,2 +2,2 @@ class B:", Err("ambiguous")),
        ("@@ -6,2 +6,2 @@ class A:", Err("ambiguous")),
        (
            "@@ -6,2 +6,2 @@",
            Ok(TWINS.strip_suffix("1\n").unwrap().to_owned() + "3\n"),
        ),
    ] {
        assert_eq!(
            outcome(TWINS, &diff(&format!("{header}\n{body}"))),
            wanted,
            "{header}"
        );
    }
    let one = "def f():\n    return 0\n\ndef g():\n    return None\n";
    let edit = "-    return None\n+    return 1\n";
    let refused = outcome(one, &diff(&format!("@@ -2,1 +2,1 @@ def f():\n{edit}")));
    assert_eq!(refused, Err("does-not-apply"));
    let landed = outcome(one, &diff(&format!("@@ -2,1 +2,1 @@ def g():\n{edit}")));
    assert_eq!(landed, Ok(one.replace("None", "1")));
}

#[test]
fn a_placeholder_behind_the_marks_is_no_heading() {
    let base = "def a():\n    go()\n    stop()\n\ndef b():\n    ...\n\ndef c():\n    go()\n    stop()\n";
    let body = "     go()\n-    stop()\n+    halt()\n";
    for (header, wanted) in [
        ("@@ ... @@", Err("ambiguous")),
        ("@@ … @@", Err("ambiguous")),
        (
            "@@ def c(): @@",
            Ok(base.strip_suffix("stop()\n").unwrap().to_owned() + "halt()\n"),
        ),
    ] {
        assert_eq!(
            outcome(base, &diff(&format!("{header}\n{body}"))),
            wanted,
            "{header}"
        );
    }
}

#[test]
fn a_missing_context_line_counts_only_at_an_insertion() {
    let base: String = (1..=20).map(|at| format!("l{at}\n")).collect();
    let replaced = base.replace("l5\n", "new\n");
    let inserted = base.replace("l4\n", "l4\nnew\n");
    let replace = " l3\n l4\n-l5\n+new\n";
    let insert = " l2\n l3\n l4\n+new\n";
    for (header, body, wanted) in [
        ("@@ -3,3 +3,3 @@", replace, Ok(&replaced)),
        ("@@ -3,4 +3,4 @@", replace, Ok(&replaced)),
        ("@@ -3,5 +3,5 @@", replace, Ok(&replaced)),
        ("@@ -3,6 +3,6 @@", replace, Ok(&replaced)),
        ("@@ -3,9 +3,9 @@", replace, Ok(&replaced)),
        ("@@ -2,3 +2,4 @@", insert, Ok(&inserted)),
        ("@@ -2,4 +2,5 @@", insert, Err("ambiguous")),
        ("@@ -2,5 +2,6 @@", insert, Err("ambiguous")),
        ("@@ -2,6 +2,7 @@", insert, Ok(&inserted)),
        ("@@ -2,9 +2,4 @@", insert, Ok(&inserted)),
    ] {
        let answer = diff(&format!("{header}\n{body}"));
        assert_eq!(outcome(&base, &answer), wanted.cloned(), "{header}");
        // In front of another hunk, and as the last one.
        let last = format!("{answer}@@ -18,3 +18,3 @@\n l18\n-l19\n+l_19\n l20\n");
        let wanted = wanted.map(|text| text.replace("l19", "l_19"));
        assert_eq!(outcome(&base, &last), wanted, "{header}");
        let first = format!("@@ -1,1 +1,1 @@\n-l1\n+l_1\n{header}\n{body}");
        let wanted = wanted.map(|text| text.replace("l1\n", "l_1\n").replace("l_19", "l19"));
        let landed = outcome(&base, &diff(&first));
        assert!(landed == wanted || header.contains("9"), "{header}: {landed:?}");
    }
    // At the end of the file, the lost line may have stood between the changed ones.
    let end = "@@ -17,4 +17,4 @@\n l17\n l18\n-l19\n+new\n";
    assert_eq!(outcome(&base, &diff(end)), Err("ambiguous"));
}

fn with_index(base: &str, result: &str, hunk: &str) -> String {
    let id = |text: &str| crate::memory::blob_id(text.as_bytes()).split_at(8).0.to_owned();
    let index = format!("index {}..{} 100644", id(base), id(result));
    format!("diff --git a/f.py b/f.py\n{index}\n--- a/f.py\n+++ b/f.py\n{hunk}")
}

#[test]
fn the_id_of_the_result_proves_a_place() {
    let base: String = (1..=12).map(|at| format!("l{}\n", at % 6)).collect();
    let second = {
        let (head, tail) = base.split_at(base.rfind("l3\n").unwrap());
        format!("{head}new\n{tail}")
    };
    let first = base.replacen("l3\n", "new\nl3\n", 1);
    let hunk = "@@ -30,2 +30,3 @@\n l2\n+new\n l3\n";
    assert_eq!(outcome(&base, &diff(hunk)), Err("ambiguous"));
    for wanted in [first, second] {
        let bare = hunk.replace("-30,2 +30,3 ", "");
        assert_eq!(
            outcome(&base, &with_index(&base, &wanted, &bare)),
            Err("ambiguous")
        );
        assert_eq!(outcome(&base, &with_index(&base, &wanted, hunk)), Ok(wanted));
    }
    assert_eq!(
        outcome(&base, &with_index(&base, "other", hunk)),
        Err("ambiguous")
    );
    // The header counts a line that is missing: nothing else shows on which side of it the added one belongs.
    let base: String = (1..=20).map(|at| format!("l{at}\n")).collect();
    let hunk = "@@ -2,4 +2,5 @@\n l2\n l3\n l4\n+new\n";
    let right = base.replace("l4\n", "l4\nnew\n");
    let lost = base.replace("l5\n", "l5\nnew\n");
    assert_eq!(
        outcome(&base, &with_index(&base, &right, hunk)),
        Ok(right.clone())
    );
    assert_eq!(outcome(&base, &with_index(&base, &lost, hunk)), Err("ambiguous"));
    // Here the counts are those of the lines that are left. `git apply` refuses such a hunk.
    let counted = hunk.replace("-2,4 +2,5", "-2,3 +2,4");
    assert_eq!(
        outcome(&base, &with_index(&base, &lost, &counted)),
        Err("ambiguous")
    );
    assert_eq!(outcome(&base, &diff(&counted)), Ok(right));
}

#[test]
fn another_result_lands_with_a_note_where_git_places_every_hunk() {
    let base: String = (1..=20).map(|at| format!("l{at}\n")).collect();
    let edited = base.replace("l5\n", "edited by hand\n");
    let hunk = "@@ -4,3 +4,3 @@\n l4\n-l5\n+edited by hand\n l6\n";
    let answer = with_index(&base, "other", hunk);
    let memory = Memory::of(&[("f.py", base.as_bytes())]);
    let landed = land(answer.as_bytes(), &memory, &LandOptions::default()).expect("it lands");
    let repairs: Vec<&str> = landed.report.files[0]
        .repairs
        .iter()
        .map(|one| one.kind.as_str())
        .collect();
    assert_eq!(repairs, ["other-result"]);
    assert_eq!(memory.after(&landed.change)["f.py"].1.as_ref(), edited.as_bytes());
    let moved = answer.replace("-4,3 +4,3", "-7,3 +7,3");
    assert_eq!(outcome(&base, &moved), Err("ambiguous"));
    let options = LandOptions {
        partial: true,
        ..LandOptions::default()
    };
    assert!(land(moved.as_bytes(), &memory, &options).is_ok());
}

#[test]
fn a_line_that_a_hunk_lost_among_equal_ones_is_found_by_the_id_of_the_result() {
    let base = "head\n".to_owned() + &"same\n".repeat(9) + "tail\n";
    let result = base.replacen(&"same\n".repeat(5), &("same\n".repeat(4) + "new\n"), 1);
    // The first of three context lines is missing, and the header counts what is left: every number fits one line too high.
    let hunk = "@@ -3,5 +3,5 @@\n same\n same\n-same\n+new\n same\n same\n";
    let one_higher = base.replacen(&"same\n".repeat(4), &("same\n".repeat(3) + "new\n"), 1);
    assert_eq!(outcome(&base, &with_index(&base, &result, hunk)), Ok(result));
    assert_eq!(outcome(&base, &diff(hunk)), Ok(one_higher));
    // What is left of an insertion stands in the file, which the `index` line names as the old one.
    let base = "a {\n  go();\n}\n\nb {\n  go();\n}\n";
    let hunk = "@@ -2,4 +2,5 @@\n   go();\n }\n+\n b {\n   go();\n";
    let result = base.replacen("\n\n", "\n\n\n", 1);
    assert_eq!(
        outcome(base, &with_index(base, &result, hunk)),
        Err("does-not-apply")
    );
    assert_eq!(outcome(base, &diff(hunk)), Err("empty"));
}

#[test]
fn invented_numbers_do_not_decide_the_order_of_the_hunks() {
    let block = |name: &str| format!("{name} {{\n    open();\n    close();\n}}\n\n");
    let base = ["one", "six"].map(block).concat() + "last();\n";
    // Two hunks have one place each, and stand in the answer from the bottom up. The third has two places.
    let hunks = |numbers: [usize; 3]| {
        let [last, six, close] = numbers.map(|at| format!("@@ -{at},2 +{at},2 @@\n"));
        let pair = " six {\n-    open();\n+    start();\n";
        diff(&format!(
            "{last}-last();\n+end();\n{six}{pair}{close}     open();\n-    close();\n+    stop();\n"
        ))
    };
    let landed = base
        .replace("last", "end")
        .replace("six {\n    open", "six {\n    start");
    let landed = landed.replacen("close", "stop", 1);
    for (numbers, wanted) in [([12, 7, 3], Ok(landed)), ([1740, 912, 303], Err("ambiguous"))] {
        assert_eq!(outcome(&base, &hunks(numbers)), wanted, "{numbers:?}");
    }
}

#[test]
fn spaces_of_an_added_line_stay_unknown_if_another_one_kept_its_tab() {
    let base = "a {\n\tgo();\n\tend();\n}\n\nb {\n\trun();\n\tstop();\n}\n";
    let envelope = |added: &str| {
        format!(
            "*** Begin Patch\n*** Update File: f.py\n@@\n     go();\n+{added}\n     end();\n@@\n     run();\n+    two();\n\
             \u{20}    stop();\n*** End Patch\n"
        )
    };
    let landed = base
        .replace("\tend", "\tone();\n\tend")
        .replace("\tstop", "\ttwo();\n\tstop");
    for (added, wanted) in [
        ("    one();", Ok(landed)),
        ("\tone();", Err("does-not-apply")),
        ("    one();\t// first", Err("does-not-apply")),
    ] {
        assert_eq!(outcome(base, &envelope(added)), wanted, "{added:?}");
    }
}

#[test]
fn lines_at_the_margin_that_are_deeper_elsewhere_have_no_certain_place() {
    let base =
        "# Adds.\n# Fast.\ndef top(): pass\n\nclass A:\n    # Adds.\n    # Fast.\n    def a(self): pass\n";
    let outer = base.replacen("Fast", "Slow", 1);
    let inner = base.replace("    # Fast", "    # Slow");
    for (hunk, wanted) in [
        // The author may have left out the indentation of the class.
        ("@@ @@\n # Adds.\n-# Fast.\n+# Slow.\n", Err("ambiguous")),
        (
            "@@ -9,2 +9,2 @@\n # Adds.\n-# Fast.\n+# Slow.\n",
            Err("ambiguous"),
        ),
        ("@@ -1,2 +1,2 @@\n # Adds.\n-# Fast.\n+# Slow.\n", Ok(&outer)),
        ("@@ @@\n-# Fast.\n+# Slow.\n def top(): pass\n", Ok(&outer)),
        ("@@ @@\n-# Fast.\n+# Slow.\n def a(self): pass\n", Ok(&inner)),
        ("@@ @@\n     # Adds.\n-    # Fast.\n+    # Slow.\n", Ok(&inner)),
    ] {
        assert_eq!(outcome(base, &diff(hunk)), wanted.cloned(), "{hunk}");
    }
}

#[test]
fn a_copy_with_the_exact_quotes_does_not_win_over_the_stated_line() {
    let base = "say(\u{201c}a\u{201d})\nend\n\nsay(\"a\")\nend\n";
    let body = " say(\"a\")\n-end\n+fin\n";
    let second = base.strip_suffix("end\n").unwrap().to_owned() + "fin\n";
    for (header, wanted) in [
        ("@@ -1,2 +1,2 @@", Err("ambiguous")),
        ("@@ -4,2 +4,2 @@", Ok(second.clone())),
        ("@@ -9,2 +9,2 @@", Ok(second.clone())),
    ] {
        assert_eq!(
            outcome(base, &diff(&format!("{header}\n{body}"))),
            wanted,
            "{header}"
        );
    }
}

#[test]
fn a_blank_edge_that_several_places_have_is_not_left_out() {
    let hunk = diff("@@ @@\n     if a:\n         go()\n+        more()\n \n");
    let first = "x:\n    if a:\n        go()\n    end\n";
    let deeper = "\n        if a:\n            go()\n";
    let landed = first.replace("go()\n", "go()\n        more()\n");
    assert_eq!(outcome(first, &hunk), Ok(landed));
    let base = format!("{first}y:\n{deeper}{deeper}\n");
    assert_eq!(outcome(&base, &hunk), Err("ambiguous"));
}

#[test]
fn quotes_that_the_transport_made_curly_are_plain_in_an_added_line() {
    let base = "log(\"a\")\nend(\"b\")\n";
    let hunk = |above: &str| diff(&format!("@@ -1,2 +1,3 @@\n {above}\n+log(“c”)\n end(“b”)\n"));
    let landed = base.replace("end", "log(\"c\")\nend");
    assert_eq!(outcome(base, &hunk("log(“a”)")), Ok(landed));
    // Here the answer has both kinds, so the curly ones may be the author's.
    assert_eq!(outcome(base, &hunk("log(\"a\")")), Err("does-not-apply"));
    let curly = base.replace("\"b\"", "“b”");
    let landed = curly.replace("end", "log(“c”)\nend");
    assert_eq!(outcome(&curly, &hunk("log(\"a\")")), Ok(landed));
}

#[test]
fn a_file_that_aligns_with_spaces_behind_tabs_takes_lines_with_its_own_tabs() {
    let base = "\tif (a\n\t     && b)\n\t\tgo();\n";
    let hunk = |added: &str| {
        diff(&format!(
            "@@ -1,3 +1,4 @@\n     if (a\n          && b)\n+{added}\n         go();\n"
        ))
    };
    let landed = base.replace("\t\tgo", "\t\tset();\n\t\tgo");
    assert_eq!(outcome(base, &hunk("\t\tset();")), Ok(landed));
    assert_eq!(outcome(base, &hunk("         set();")), Err("does-not-apply"));
}

#[test]
fn an_added_line_of_blanks_is_refused_if_a_shift_may_have_changed_it() {
    let base = "class A:\n    def f(self):\n        return 1\n    \n    def g(self):\n        return 2\n";
    // Four blanks of the file are an empty line here; so may be those of the added line, or it had none.
    let hunk = |added: &str| {
        diff(&format!(
            "@@ @@\n def f(self):\n     return 1\n{added} \n def g(self):\n"
        ))
    };
    assert_eq!(outcome(base, &hunk("+\n")), Err("does-not-apply"));
    let landed = base.replace("1\n", "1\n    # end\n");
    assert_eq!(outcome(base, &hunk("+# end\n")), Ok(landed));
    // Empty lines in both show nothing, and the file has lines of blanks elsewhere.
    let base =
        format!("{base}\nclass B:\n    def h(self):\n        pass\n\n    def i(self):\n        pass\n");
    let hunk = |added: &str| {
        diff(&format!(
            "@@ @@\n def h(self):\n     pass\n{added} \n def i(self):\n"
        ))
    };
    assert_eq!(outcome(&base, &hunk("+\n")), Err("does-not-apply"));
    // The marks took the place of a blank.
    let lost = |added: &str| diff(&format!("@@ @@\n   a\n- b\n+ c\n{added}   d\n"));
    assert_eq!(
        outcome("  a\n  b\n  d\n", &lost("")),
        Ok("  a\n  c\n  d\n".to_owned())
    );
    assert_eq!(outcome("  a\n  b\n  d\n", &lost("+ \n")), Err("does-not-apply"));
}

#[test]
fn lines_that_come_back_in_a_result_that_stands_are_not_taken_again() {
    let wrap = "@@ -1,2 +1,3 @@\n-foo()\n-bar()\n+if x:\n+    foo()\n+    bar()\n";
    for (base, hunk, wanted) in [
        ("if x:\n    foo()\n    bar()\n", wrap, Err("empty")),
        ("foo()\nbar()\n", wrap, Ok("if x:\n    foo()\n    bar()\n")),
        ("foo\nbar\nq\n", "@@ @@\n-foo\n+foo\n+bar\n", Err("empty")),
        ("foo\nq\n", "@@ @@\n-foo\n+foo\n+bar\n", Ok("foo\nbar\nq\n")),
    ] {
        assert_eq!(
            outcome(base, &diff(hunk)),
            wanted.map(str::to_owned),
            "{base}{hunk}"
        );
    }
    let json = r#"{"edits":[{"path":"f.py","search":"int(v)","replace":"str(int(v))"}]}"#;
    assert_eq!(outcome("x = str(int(v))\n", json), Err("empty"));
    assert_eq!(outcome("x = int(v)\n", json), Ok("x = str(int(v))\n".to_owned()));
}

#[test]
fn a_comment_that_stands_for_code_does_not_land() {
    const BASE: &str = "def a():\n    x = 1\n    y = 2\n    return x\n\ndef b():\n    return 3\n";
    for (comment, refused) in [
        ("# ... other methods ...", true),
        ("# rest unchanged", true),
        ("# [rest of code]", true),
        ("# existing code here", true),
        ("# ...snip...", true),
        ("# no more than two are needed for the caller", false),
        ("# see the manual", false),
    ] {
        let hunk =
            format!("@@ -1,4 +1,3 @@\n def a():\n-    x = 1\n-    y = 2\n+    {comment}\n     return x\n");
        let whole = format!("`f.py`\n```python\ndef a():\n    x = 10\n    {comment}\n```\n");
        let landed = outcome(BASE, &diff(&hunk));
        assert_eq!(landed.is_err(), refused, "{comment}: {landed:?}");
        assert!(!refused || outcome(BASE, &whole).is_err(), "{comment}");
    }
}

#[test]
fn a_comment_in_any_language_that_stands_where_code_goes_does_not_land() {
    const BASE: &str =
        "def a():\n    w = 0\n    x = 1\n    y = 2\n    z = 3\n    return x\n\ndef b():\n    return 3\n";
    let whole = |text: &str| format!("The complete file:\n\n`f.py`\n```python\n{text}```\n");
    let edit = |search: &str, replace: &str| {
        format!("f.py\n<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n")
    };
    // By its words, or because it replaces lines of code.
    let is_refused = |outcome| matches!(outcome, Err("malformed" | "ambiguous"));
    for comment in [
        "# le reste ne change pas",
        "# resto del archivo igual",
        "# zbytek kódu beze změny",
        "# 以下略",
        "# 이하 생략",
        "# as before",
    ] {
        let short = BASE.replace("    x = 1\n    y = 2\n    z = 3\n", &format!("    {comment}\n"));
        assert!(is_refused(outcome(BASE, &whole(&short))), "{comment}");
        let first = whole(&format!("def a():\n    w = 10\n    {comment}\n"));
        assert!(is_refused(outcome(BASE, &first)), "{comment}");
        let search = "    w = 0\n    x = 1\n    y = 2\n    z = 3\n    return x\n";
        let block = edit(search, &format!("    {comment}\n    return x\n"));
        assert!(is_refused(outcome(BASE, &block)), "{comment}");
    }
    // Lines that are shown as gone are gone, and a comment may come with code.
    let gone = "@@ -3,3 +3,1 @@\n-    x = 1\n-    y = 2\n-    z = 3\n+    # 定数は設定から読む\n";
    assert!(outcome(BASE, &diff(gone)).is_ok());
    let with_code = BASE.replace(
        "    x = 1\n    y = 2\n    z = 3\n",
        "    # find the nearest value...\n    x = 7\n",
    );
    assert_eq!(outcome(BASE, &whole(&with_code)), Ok(with_code));
    for line in [
        "# 与其他现有模块保持一致",
        "# Suma el saldo restante a la cuenta existente",
    ] {
        let new = Memory::of(&[("g.py", b"x\n")]);
        let answer = whole(&format!("{line}\nx = 1\n"));
        assert!(
            land(answer.as_bytes(), &new, &LandOptions::default()).is_ok(),
            "{line}"
        );
    }
}

#[test]
fn a_block_that_ends_like_the_file_may_still_be_a_part_of_it() {
    let base = "import os\n\ndef a():\n    x = 1\n    return x\n\ndef b():\n    x = 2\n    return x\n\ndef c():\n    x = 3\n    return x\n";
    let part = "`f.py`\n```python\nimport os, sys\n\ndef a():\n    x = 10\n    return x\n```\n";
    assert_eq!(outcome(base, part), Err("ambiguous"));
    let without_b = base.replace("def b():\n    x = 2\n    return x\n\n", "");
    let whole = format!("`f.py`\n```python\n{without_b}```\n");
    assert_eq!(outcome(base, &whole), Ok(without_b));
}

#[test]
fn a_whole_file_for_a_path_that_is_there_further_down_does_not_land_where_it_is_like_that_file() {
    let lines: String = (0..9).map(|at| format!("    step_{at}()\n")).collect();
    let there = format!("import os\n\ndef a():\n    x = 1\n{lines}    return x\n");
    let changed = there.replace("x = 1", "x = 2");
    let new = "import os\n\ndef other():\n    return 0\n";
    for (path, content, landed) in [
        ("util.py", changed.as_str(), false),
        ("lib/util.py", changed.as_str(), false),
        ("tests/util.py", changed.as_str(), true),
        ("util.py", there.as_str(), true),
        ("util.py", new, true),
    ] {
        let base = Memory::of(&[("src/lib/util.py", there.as_bytes())]);
        let answer = format!("`{path}`\n```python\n{content}```\n");
        let found = land(answer.as_bytes(), &base, &LandOptions::default());
        assert_eq!(found.is_ok(), landed, "{path}: {found:?}");
    }
}
