//! In which forms a secret is found, and which text is left as it is.

use proptest::prelude::*;

use super::*;

const KEY: &str = "sk-ant-api03-Zx81_qLm4Tb7Ruw2Vn9cKd5Hs0Pe6Gj3Fa";
const MARK: &str = "[redacted]";

fn forms(secrets: &[&str]) -> SecretForms {
    SecretForms::new(secrets.iter().map(|secret| secret.as_bytes()))
}

/// Bytes as characters of so many bits, written independently of the code under test.
fn bits(bytes: &[u8], width: usize, alphabet: &str) -> String {
    let all: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    let all: Vec<char> = all.chars().collect();
    let letter = |part: &[char]| {
        let part: String = part.iter().collect();
        let index = usize::from_str_radix(&format!("{part:0<width$}"), 2).unwrap();
        char::from(alphabet.as_bytes()[index])
    };
    all.chunks(width).map(letter).collect()
}

fn base64(text: &str) -> String {
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bare = bits(text.as_bytes(), 6, letters);
    format!("{bare:=<width$}", width = bare.len().div_ceil(4) * 4)
}

fn each(text: &str, write: impl Fn(u8) -> String) -> String {
    text.bytes().map(write).collect()
}

/// A text in every form, with its name.
fn encodings(text: &str) -> Vec<(String, String)> {
    let mut all = vec![
        ("plain".to_owned(), text.to_owned()),
        ("reversed".to_owned(), text.chars().rev().collect()),
        ("hex".to_owned(), each(text, |byte| format!("{byte:02x}"))),
        ("hex, upper".to_owned(), each(text, |byte| format!("{byte:02X}"))),
        (
            "hex, spaced".to_owned(),
            each(text, |byte| format!("{byte:02x} ")),
        ),
        (
            "hex, array".to_owned(),
            each(text, |byte| format!("0x{byte:x}, ")),
        ),
        ("decimal".to_owned(), each(text, |byte| format!("{byte}, "))),
        ("octal".to_owned(), each(text, |byte| format!("\\{byte:o}"))),
        ("bits".to_owned(), each(text, |byte| format!("{byte:08b} "))),
        ("percent".to_owned(), each(text, |byte| format!("%{byte:02X}"))),
        (
            "percent twice".to_owned(),
            each(text, |byte| format!("%25{byte:02x}")),
        ),
        ("C".to_owned(), each(text, |byte| format!("\\x{byte:02x}"))),
        ("JSON".to_owned(), each(text, |byte| format!("\\u{byte:04x}"))),
        (
            "JSON in JSON".to_owned(),
            each(text, |byte| format!("\\\\u{byte:04x}")),
        ),
        ("Rust".to_owned(), each(text, |byte| format!("\\u{{{byte:x}}}"))),
        ("HTML".to_owned(), each(text, |byte| format!("&#{byte};"))),
        ("HTML, hex".to_owned(), each(text, |byte| format!("&#x{byte:x};"))),
        (
            "HTML in HTML".to_owned(),
            each(text, |byte| format!("&amp;#{byte};")),
        ),
        (
            "UTF-16".to_owned(),
            each(text, |byte| format!("{}\0", char::from(byte))),
        ),
    ];
    let character = |base: u32| move |byte: u8| char::from_u32(base + u32::from(byte)).unwrap().to_string();
    all.push(("full width".to_owned(), each(text, character(0xff01 - 0x21))));
    all.push(("tags".to_owned(), each(text, character(0xe0000))));
    let partial = |at: usize, c: char| match at % 3 {
        0 => format!("%{:02x}", u32::from(c)),
        1 => format!("\\u{:04X}", u32::from(c)),
        _ => c.to_string(),
    };
    let each_third = text.chars().enumerate();
    all.push((
        "partial".to_owned(),
        each_third.map(|(at, c)| partial(at, c)).collect(),
    ));
    let turn = |c: char| match c {
        'a'..='m' | 'A'..='M' => char::from(c as u8 + 13),
        'n'..='z' | 'N'..='Z' => char::from(c as u8 - 13),
        _ => c,
    };
    all.push(("rotated".to_owned(), text.chars().map(turn).collect()));
    for before in ["", "a", "ab", "key=", "key: "] {
        let inside = format!("{before}{text}, and more");
        let standard = base64(&inside);
        let url = standard.replace('+', "-").replace('/', "_");
        all.push((format!("base64 behind {before:?}"), standard.clone()));
        all.push((
            format!("base64 for URLs behind {before:?}"),
            url.trim_end_matches('=').to_owned(),
        ));
        let lines: Vec<&str> = standard
            .as_bytes()
            .chunks(16)
            .map(|line| std::str::from_utf8(line).unwrap())
            .collect();
        all.push((format!("base64 in lines behind {before:?}"), lines.join("\r\n")));
        let base32 = bits(inside.as_bytes(), 5, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567");
        all.push((format!("base32 behind {before:?}"), base32.to_lowercase()));
    }
    let reversed: String = text.chars().rev().collect();
    all.push(("base64 of the reverse".to_owned(), base64(&reversed)));
    all.push(("base64 of base64".to_owned(), base64(&base64(text))));
    all.push((
        "hex of base64".to_owned(),
        each(&base64(text), |byte| format!("{byte:02x}")),
    ));
    all.push((
        "base64 of hex".to_owned(),
        base64(&each(text, |byte| format!("{byte:02x}"))),
    ));
    all
}

/// The text as it comes out of a stream that is cut there.
fn streamed(all: &SecretForms, text: &str, cuts: &[usize]) -> (String, bool) {
    let (mut stream, mut out, mut from) = (SecretStream::default(), Vec::new(), 0);
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
    cuts.sort_unstable();
    cuts.push(text.len());
    for cut in cuts {
        out.extend(all.pass_bytes(&mut stream, &text.as_bytes()[from..cut], MARK));
        from = cut;
    }
    out.extend(all.finish_stream(&mut stream, MARK));
    (String::from_utf8(out).unwrap(), stream.has_found())
}

/// Letters and digits only, in lower case.
fn letters(text: &str) -> String {
    let kept = text.chars().filter(char::is_ascii_alphanumeric);
    kept.map(|c| c.to_ascii_lowercase()).collect()
}

/// Checks that nothing of eight letters or digits of a form is left.
fn assert_gone(name: &str, form: &str, shown: &str) {
    let (form, shown) = (letters(form), letters(&shown.replace(MARK, "!")));
    for part in form.as_bytes().windows(8) {
        let part = std::str::from_utf8(part).unwrap();
        assert!(!shown.contains(part), "{name}: {part} of {form} in {shown}");
    }
}

#[test]
fn a_secret_is_found_in_every_form() {
    let all = forms(&[KEY]);
    for (name, form) in encodings(KEY) {
        assert!(all.are_in(&form), "{name}: {form}");
        let hidden = all.hide(&format!("see {form}!"), MARK);
        assert!(
            hidden.starts_with("see ") && hidden.contains(MARK),
            "{name}: {hidden}"
        );
        // What base64 holds besides the key stays.
        if !name.contains("behind") {
            assert_gone(&name, &form, &hidden);
        }
    }
}

#[test]
fn a_secret_is_found_whatever_stands_between_its_parts() {
    let all = forms(&[KEY]);
    for between in [
        "\n",
        "\r\n+",
        "\" +\n+    \"",
        " ",
        "\u{200b}",
        "\u{2060}\u{feff}",
        "\u{ad}",
        "\\n",
        "\\u200b",
        "&ZeroWidthSpace;",
        "&#8203;",
        "%20",
        "%E2%80%8B",
        "\u{1b}[31m",
        "*",
        "', '",
    ] {
        for cut in 1..KEY.len() {
            let (one, two) = KEY.split_at(cut);
            let text = format!("<{one}{between}{two}>");
            assert_gone(between, KEY, &all.hide(&text, MARK));
        }
        let each: Vec<String> = KEY.chars().map(String::from).collect();
        assert!(all.are_in(&each.join(between)), "{between:?}");
    }
    // A large part gives it away, wherever the rest is.
    for cut in 8..KEY.len() - 8 {
        let (one, two) = KEY.split_at(cut);
        assert!(
            all.are_in(&format!("let first = {one};\nlet second = {two};")),
            "{cut}"
        );
    }
}

#[test]
fn words_and_short_values_are_found_as_they_are_alone() {
    for word in [
        "sk-no-key-required",
        "not-needed-here",
        "pa55word",
        "!?-_:.;,#'+*~1234",
    ] {
        let all = forms(&[word]);
        assert_eq!(all.hide(&format!("a {word}, b"), MARK), format!("a {MARK}, b"));
        assert!(all.are_in(&each(word, |byte| format!("\\u{byte:04x}"))), "{word}");
        let spaced: Vec<String> = word.chars().map(String::from).collect();
        assert!(!all.are_in(&spaced.join(" ")), "{word}");
    }
    let all = forms(&["sk-no-key-required"]);
    assert!(!all.are_in("there is (sk) no key required"));
    assert!(all.are_in(&base64("Bearer sk-no-key-required")));
}

#[test]
fn several_secrets_and_none() {
    let all = forms(&[KEY, "0123456789abcdef0123", "Zx81_qLm4Tb7Ruw2"]);
    let text = format!("{KEY}{KEY} and 0123456789ABCDEF0123 or Zx81_qLm4Tb7Ruw2.");
    assert_eq!(all.hide(&text, "*"), "** and * or *.");
    let none = forms(&[]);
    assert_eq!(none.hide(&text, "*"), text);
    assert!(!none.are_in(&text));
    assert_eq!(
        format!("{all:?} {:?}", SecretStream::default()),
        "SecretForms(***) SecretStream(***)"
    );
}

#[test]
fn what_cannot_be_a_secret_is_shown_at_once() {
    let all = forms(&[KEY]);
    let mut stream = SecretStream::default();
    let shown = all.pass_bytes(&mut stream, "what is it? é (!)\n".as_bytes(), MARK);
    assert!("what is it? é (!)\n".as_bytes().starts_with(&shown) && shown.len() > 8);
    all.finish_stream(&mut stream, MARK);
    // A gap without end is no reason to wait.
    let begun = all.pass_bytes(&mut stream, b"sk-ant-api03-", MARK);
    assert_eq!(begun, b"");
    let blank = all.pass_bytes(&mut stream, &[b' '; 1000], MARK);
    assert_eq!(blank.len(), 1013);
    // One that is cut off by the end.
    assert_eq!(all.hide("see sk-ant", MARK), "see sk-ant");
    assert_eq!(all.hide("see sk-ant-api03-Zx", MARK), format!("see {MARK}"));
    assert_eq!(all.hide("see \\u00", MARK), "see \\u00");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn nothing_of_any_key_is_left_in_any_form_and_cut(
        key in "[A-Za-z0-9]{4}[0-9][A-Z][a-z][A-Za-z0-9_-]{16,60}[A-Za-z0-9]",
        cuts in prop::collection::vec(any::<usize>(), 0..12),
        splits in prop::collection::vec((any::<usize>(), "(\n\\+|\u{200b}|\" \\+ \"| |\r\n)"), 0..6),
    ) {
        let all = forms(&[&key]);
        for (name, form) in encodings(&key) {
            let mut split = form.clone();
            // An escape that is cut in two is none any more.
            if ["plain", "reversed", "hex", "rotated"].contains(&name.as_str()) || name.starts_with("base") {
                let mut places: Vec<_> = splits.iter().map(|(at, between)| (at % (form.len() + 1), between)).collect();
                places.sort();
                places.iter().rev().for_each(|(at, between)| split.insert_str(*at, between));
            }
            let (shown, found) = streamed(&all, &format!("({split})"), &cuts);
            prop_assert!(found, "{name}: {split}");
            if !name.contains("behind") {
                assert_gone(&name, &form, &shown);
            }
        }
    }

    #[test]
    fn other_text_is_left_as_it_is(
        key in "[A-Za-z0-9]{4}[0-9][A-Z][a-z][A-Za-z0-9_-]{16,60}[A-Za-z0-9]",
        text in "(\\PC|[ -~]|[\n\t\\\\%&;#ux0-9a-f]|\u{1b}\\[){0,400}",
        cuts in prop::collection::vec(any::<usize>(), 0..12),
    ) {
        let (shown, found) = streamed(&forms(&[&key]), &text, &cuts);
        prop_assert!(!found);
        prop_assert_eq!(shown, text);
    }
}
