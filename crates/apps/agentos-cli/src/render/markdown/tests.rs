//! Rendered texts, and the same texts in pieces.

use proptest::prelude::*;

use super::MarkdownStream;

fn render(text: &str, width: usize) -> String {
    let mut stream = MarkdownStream::new(width);
    let mut out = stream.push(text);
    out.push_str(&stream.finish());
    out
}

/// Shows styles as words in brackets.
fn show_styles(text: &str) -> String {
    let names = [
        ("[1m", "<b>"),
        ("[2m", "<d>"),
        ("[3m", "<i>"),
        ("[4m", "<u>"),
        ("[36m", "<c>"),
        ("[0m", "</>"),
    ];
    names.iter().fold(text.to_owned(), |text, (code, name)| {
        text.replace(&format!("\u{1b}{code}"), name)
    })
}

/// Removes an end of code that its beginning follows at once: code is shown as it arrives.
fn join_code(text: &str) -> String {
    text.replace("\u{1b}[0m\u{1b}[36m", "")
}

const TEXT: &str = include_str!("sample.md");

#[test]
fn a_text_at_60_columns() {
    insta::assert_snapshot!(show_styles(&render(TEXT, 60)), @r#"
    <b><u>A</> <b><u>rebase</> <b><u>in</> <b><u>one</> <b><u>minute</>

    A <b>rebase</> moves your commits onto <i>another</> base, one by one.
    Use <c>git</> <c>rebase</> <c>main</> when your branch is private; see <u>the</>
    <u>manual</> <d>(https://git-scm.com/docs/git-rebase)</> for the rest.

    1. Fetch the newest commits, so that nothing that somebody
       else pushed is missing from the base that you name.
    2. Run the rebase:

    <d>── sh ──────────────────────────────────</>
    <c>git fetch origin</>
    <c>git rebase origin/main   # stops at each conflict</>
    <d>────────────────────────────────────────</>

    • resolve a conflict, then <c>git</> <c>add</>
      • nested: <c>git</> <c>rebase</> <c>--continue</>
    • or give up with <c>git</> <c>rebase</> <c>--abort</>

    <d>│ </>A rebase rewrites history: do not do it to a branch that
    <d>│ </>others have.

    <b>command</><d> │ </><b>effect</>
    <d>────────┼──────────────</>
    rebase <d> │ </>moves commits
    merge  <d> │ </>joins 日本語

    2 * 3 * 4 is 24, snake_case_name stays, and <b><i>both</> works.
    "#);
}

#[test]
fn a_text_at_120_columns() {
    insta::assert_snapshot!(show_styles(&render(TEXT, 120)), @r#"
    <b><u>A</> <b><u>rebase</> <b><u>in</> <b><u>one</> <b><u>minute</>

    A <b>rebase</> moves your commits onto <i>another</> base, one by one. Use <c>git</> <c>rebase</> <c>main</> when your branch is private; see <u>the</>
    <u>manual</> <d>(https://git-scm.com/docs/git-rebase)</> for the rest.

    1. Fetch the newest commits, so that nothing that somebody else pushed is missing from the base that you name.
    2. Run the rebase:

    <d>── sh ──────────────────────────────────</>
    <c>git fetch origin</>
    <c>git rebase origin/main   # stops at each conflict</>
    <d>────────────────────────────────────────</>

    • resolve a conflict, then <c>git</> <c>add</>
      • nested: <c>git</> <c>rebase</> <c>--continue</>
    • or give up with <c>git</> <c>rebase</> <c>--abort</>

    <d>│ </>A rebase rewrites history: do not do it to a branch that others have.

    <b>command</><d> │ </><b>effect</>
    <d>────────┼──────────────</>
    rebase <d> │ </>moves commits
    merge  <d> │ </>joins 日本語

    2 * 3 * 4 is 24, snake_case_name stays, and <b><i>both</> works.
    "#);
}

#[test]
fn marks_without_a_partner_are_text() {
    for (text, expected) in [
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("snake_case_name and __init__", "snake_case_name and <b>init</>"),
        ("*args and **kwargs", "*args and **kwargs"),
        ("an `open code", "an `open code"),
        ("[a] and [b](", "[a] and [b]("),
        ("[a](https://b.c/d_(e))", "<u>a</> <d>(https://b.c/d_(e))</>"),
        ("[https://b.c](https://b.c)", "<u>https://b.c</>"),
        (
            "see f[i](the index of the element i) end",
            "see f[i](the index of the element i) end",
        ),
        (
            "[a](https://b.c \"Important title\") end",
            "<u>a</> <d>(https://b.c</> <d>\"Important</> <d>title\")</> end",
        ),
        ("[a](<b> 'c')", "<u>a</> <d>(b</> <d>'c')</>"),
        ("[a](b \"c)", "[a](b \"c)"),
        ("[b.c](b.c 'title')", "<u>b.c</> <d>('title')</>"),
        ("![a cat](cat.png)", "<u>a</> <u>cat</> <d>(cat.png)</>"),
        ("\\*not slanted\\* C:\\dir", "*not slanted* C:\\dir"),
        (
            "***both*** **a `b*` c**",
            "<b><i>both</> <b>a</> <b><c>b*</> <b>c</>",
        ),
        ("``a ` b``", "<c>a</> <c>`</> <c>b</>"),
        ("#hashtag", "#hashtag"),
        ("1.5 is no item", "1.5 is no item"),
        ("--flag", "--flag"),
        ("\u{1b}[31mred\u{202e}", "\\u{1b}[31mred\\u{202e}"),
        ("", ""),
    ] {
        let expected = match expected {
            "" => String::new(),
            line => format!("{line}\n"),
        };
        assert_eq!(show_styles(&render(text, 80)), expected, "{text}");
    }
}

#[test]
fn only_the_second_row_of_a_table_is_a_separator() {
    for (text, expected) in [
        (
            "| a | b |\n|---|---|\n| - | - |\n| 1 | 2 |\n",
            "<b>a</><d> │ </><b>b</>\n<d>──┼──</>\n-<d> │ </>-\n1<d> │ </>2\n",
        ),
        ("|-|-|\n| 1 | 2 |\n", "-<d> │ </>-\n1<d> │ </>2\n"),
        (
            "||b|\n|---|---|\n|1|2|\n",
            "<b></> <d> │ </><b>b</>\n<d>──┼──</>\n1<d> │ </>2\n",
        ),
    ] {
        assert_eq!(show_styles(&render(text, 80)), expected, "{text}");
    }
    // A long table is written in parts, of which only the first has a head.
    let rows = "| - | - |\n".repeat(200);
    let shown = show_styles(&render(&format!("| a | b |\n|---|---|\n{rows}"), 80));
    assert_eq!(shown.matches("-<d> │ </>-\n").count(), 200, "{shown}");
}

#[test]
fn text_appears_as_it_arrives() {
    let mut stream = MarkdownStream::new(80);
    for (piece, shown) in [
        ("A **re", "A"),
        ("base** mo", " <b>rebase</>"),
        ("ves\n``", " moves\n"),
        (
            "`sh\ngit",
            "<d>── sh ──────────────────────────────────</>\n<c>git</>",
        ),
        (" add", "<c> add</>"),
    ] {
        assert_eq!(show_styles(&stream.push(piece)), shown, "{piece}");
    }
    assert_eq!(stream.finish(), "\n");
}

#[test]
fn the_memory_is_bounded() {
    for open in ["**", "`", "[", "_", "| ", "```", "1", "a"] {
        let mut stream = MarkdownStream::new(80);
        stream.push(open);
        for _ in 0..2_000 {
            stream.push("aaaaaaaa");
            assert!(
                stream.held.len() <= super::WINDOW,
                "{open}: {}",
                stream.held.len()
            );
        }
    }
}

#[test]
fn characters_without_width_are_not_held() {
    let mut stream = MarkdownStream::new(80);
    let (mut arrived, mut shown) = (1, stream.push("a").len());
    for _ in 0..20_000 {
        let piece = "\u{301}";
        arrived += piece.len();
        shown += stream.push(piece).len();
        assert!(arrived - shown <= 2 * super::WINDOW, "{arrived} {shown}");
    }
    assert_eq!(arrived + 1, shown + stream.finish().len());
}

/// Pieces of Markdown and of everything else.
fn any_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        prop::sample::select(vec![
            "**",
            "*",
            "_",
            "__",
            "`",
            "``",
            "```",
            "```rust\n",
            "~~~",
            "# ",
            "- ",
            "1. ",
            "> ",
            "|",
            "| a |",
            "|---|",
            "\n",
            "\n\n",
            "\r\n",
            "\r",
            " ",
            "  ",
            "\t",
            "[",
            "](",
            ")",
            "!",
            "\\",
            "---",
            "日本",
            "é",
            "\u{1b}[1m",
            "word ",
            "long".repeat(40).leak(),
        ])
        .prop_map(str::to_owned),
        ".{0,8}",
    ];
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

/// Markdown around words, of which each is there once.
fn any_words() -> impl Strategy<Value = String> {
    let marks = vec![
        " ",
        "\n",
        "\n\n",
        "*",
        "**",
        "_",
        "`",
        "```",
        "~~~",
        "# ",
        "- ",
        "1. ",
        "> ",
        "|",
        "| ",
        " |\n",
        "|---|---|\n",
        "| - | - |\n",
        "---\n",
        "[",
        "]",
        "(",
        "](",
        ")",
        "!",
        "\\",
        "\"",
        "'",
        "<",
        ">",
        "](a \"",
    ];
    let part = prop::option::weighted(0.6, prop::sample::select(marks));
    prop::collection::vec(part, 0..60).prop_map(|parts| {
        let parts = parts.iter().enumerate();
        let parts = parts.map(|(at, mark)| mark.map_or_else(|| format!("word{at}x"), str::to_owned));
        parts.collect()
    })
}

#[test]
fn a_number_at_the_end_of_an_answer_is_shown() {
    for text in ["1. ", "1.  ", "word\n1. \t", "word |\n12) "] {
        let shown = show_styles(&render(text, 20));
        assert!(
            shown
                .trim_end()
                .ends_with(text.trim_end().rsplit('\n').next().unwrap()),
            "{shown}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_pieces_do_not_matter(text in any_text(), width in 20_usize..90, size in 1_usize..9) {
        let whole = join_code(&render(&text, width));
        let mut stream = MarkdownStream::new(width);
        let mut out = String::new();
        let letters: Vec<char> = text.chars().collect();
        for piece in letters.chunks(size) {
            out.push_str(&stream.push(&piece.iter().collect::<String>()));
        }
        out.push_str(&stream.finish());
        prop_assert_eq!(join_code(&out), whole);
    }

    #[test]
    fn every_word_is_shown(text in any_words(), width in 20_usize..90) {
        // A long word is broken, and a line may begin with the bar of a quote.
        let letters = |text: &str| text.chars().filter(|c| c.is_ascii_alphanumeric()).collect::<String>();
        let names = ["<b>", "<d>", "<i>", "<u>", "<c>", "</>"];
        let shown = names.iter().fold(show_styles(&render(&text, width)), |shown, name| shown.replace(name, ""));
        let shown = letters(&shown);
        for word in text.split(|c: char| !c.is_ascii_alphanumeric()) {
            prop_assert!(shown.contains(word), "{word} of {text:?} is not in {shown}");
        }
    }

    #[test]
    fn no_control_character_passes(text in any_text()) {
        let shown = show_styles(&render(&text, 60));
        prop_assert!(!shown.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{shown:?}");
    }
}
