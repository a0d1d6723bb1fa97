//! Texts with marks, in every portion.

use super::*;

/// Reads a text in portions of so many characters, and writes the answer, `(thinking)`, `[call]` and what was taken back.
fn read(text: &str, portion: usize, offered: &[&'static str]) -> String {
    let mut reader = TextReader::new(offered.to_vec());
    let letters: Vec<char> = text.chars().collect();
    let mut parts = Vec::new();
    for piece in letters.chunks(portion) {
        parts.extend(reader.add_piece(ChatPiece::from_text(piece.iter().collect::<String>())));
    }
    parts.extend(reader.finish());
    let (mut shown, mut thought) = (String::new(), String::new());
    let mut calls = Vec::new();
    for part in parts {
        match part {
            TextPart::WasThinking => thought = std::mem::take(&mut shown),
            TextPart::Piece(piece) => {
                shown.push_str(&piece.text);
                thought.extend(piece.thoughts.into_iter().map(|piece| piece.text));
                calls.extend(piece.calls.into_iter().filter_map(|call| call.name));
            }
        }
    }
    format!("{shown:?} thought {thought:?} calls {calls:?}")
}

#[test]
fn marks_are_found_wherever_they_are_split() {
    let texts = [
        "Hello",
        " <think>a < b</think>\n\nHello",
        "<think>a</think><think>b</think>Hello",
        "<think>never closed",
        "[THINK]a[/THINK]Hello",
        "◁think▷a◁/think▷Hello",
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>Hello",
        "1. The user greets.\n3. Answer briefly.</think>Hello",
        "The mark `</think>` ends thinking.",
        "The mark </think> ends thinking.",
        "First.\n</think> is the mark.",
        "I read.\n</think>\n\nHello",
        "</think> Hello",
        "I only think.</think>",
        "```\n</think>\n```\nHello",
        "Hello <think>x</think>",
        "<thin ice>",
        "{\"name\": \"list\"}",
        "<|channel|>analysis<|message|>I read.<|end|><|start|>assistant<|channel|>commentary to=functions.list <|constrain|>json<|message|>{}<|call|>",
        "I read the file.\n<tool_call>{\"name\": \"list\"}</tool_call>",
        "```\n<tool_call>{\"name\": \"list\"}</tool_call>\n```",
        "{\"name\": \"other\"}",
    ];
    let table: Vec<String> = texts
        .iter()
        .map(|text| {
            let whole = read(text, usize::MAX, &["list"]);
            for portion in 1..text.len() {
                assert_eq!(read(text, portion, &["list"]), whole, "{text} {portion}");
            }
            whole
        })
        .collect();
    insta::assert_snapshot!(table.join("\n"), @r#"
    "Hello" thought "" calls []
    "Hello" thought "a < b" calls []
    "Hello" thought "ab" calls []
    "" thought "never closed" calls []
    "Hello" thought "a" calls []
    "Hello" thought "a" calls []
    "Hello" thought "a" calls []
    "Hello" thought "1. The user greets.\n3. Answer briefly." calls []
    "The mark `</think>` ends thinking." thought "" calls []
    "The mark </think> ends thinking." thought "" calls []
    "First.\n</think> is the mark." thought "" calls []
    "Hello" thought "I read.\n" calls []
    "Hello" thought "" calls []
    "" thought "I only think." calls []
    "```\n</think>\n```\nHello" thought "" calls []
    "Hello <think>x</think>" thought "" calls []
    "<thin ice>" thought "" calls []
    "" thought "" calls ["list"]
    "" thought "I read." calls ["list"]
    "I read the file.\n" thought "" calls ["list"]
    "```\n<tool_call>{\"name\": \"list\"}</tool_call>\n```" thought "" calls []
    "{\"name\": \"other\"}" thought "" calls []
    "#);
    // Without tools, no text is a call.
    assert_eq!(
        read("{\"name\": \"list\"}", 1, &[]),
        r#""{\"name\": \"list\"}" thought "" calls []"#
    );
}

#[test]
fn many_lines_are_one_part_and_a_long_line_is_not_kept() {
    let mut reader = TextReader::new(Vec::new());
    let lines = reader.add_piece(ChatPiece::from_text("a line\n".repeat(1000)));
    assert_eq!(lines.len(), 1);
    for _ in 0..1000 {
        reader.add_piece(ChatPiece::from_text("`é".repeat(100)));
    }
    assert!(reader.held.len() + reader.line.start.len() + reader.line.tail.len() < 20);
    assert_eq!(reader.line.backticks, 100_000);
}

#[test]
fn text_before_an_end_of_thinking_is_shown_and_taken_back() {
    let mut reader = TextReader::new(Vec::new());
    let mut parts = reader.add_piece(ChatPiece::from_text("a key: sk-loc"));
    parts.extend(reader.add_piece(ChatPiece::from_text("al</think>Hello")));
    parts.extend(reader.finish());
    let texts = ["a key: sk-loc", "al", "Hello"].map(|text| TextPart::Piece(ChatPiece::from_text(text)));
    let [first, second, answer] = texts;
    assert_eq!(parts, [first, second, TextPart::WasThinking, answer]);
}
