//! Reads the lines that a tool writes under the tool protocol.
//!
//! Owns: splitting the output into lines, and the answer that they form. Never: accepts a message after the end, or a line
//! that is no message.

use agentos_tool::{FinishReason, Progress, ToolMessage, Usage};

/// Splits bytes into lines. The sandbox's limit on output bounds the length of a line, or the caller does.
#[derive(Debug, Default)]
pub(crate) struct LineSplitter(Vec<u8>);

impl LineSplitter {
    /// Adds bytes, and calls `line` for every line that they complete.
    pub(crate) fn add_bytes(&mut self, mut bytes: &[u8], line: &mut dyn FnMut(&[u8])) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (end_of_line, after) = bytes.split_at(end + 1);
            let mut whole = std::mem::take(&mut self.0);
            whole.extend_from_slice(end_of_line);
            line(&whole);
            bytes = after;
        }
        self.0.extend_from_slice(bytes);
    }

    /// Returns the number of bytes of the line that is not complete yet.
    pub(crate) fn count_pending(&self) -> usize {
        self.0.len()
    }

    /// Calls `line` for a last line without a line break.
    pub(crate) fn finish_line(&mut self, line: &mut dyn FnMut(&[u8])) {
        if !self.0.is_empty() {
            line(&std::mem::take(&mut self.0));
        }
    }
}

/// Answer in progress, built from the lines so far.
#[derive(Debug, Default)]
pub(crate) struct AnswerReader {
    splitter: LineSplitter,
    count: u64,
    text: String,
    usage: Option<Usage>,
    end: Option<AnswerEnd>,
    fault: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum AnswerEnd {
    Final {
        finish: FinishReason,
        model: Option<String>,
    },
    Error(String),
}

/// A complete answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ToolAnswer {
    pub(crate) text: String,
    pub(crate) finish: FinishReason,
    pub(crate) model: Option<String>,
    pub(crate) usage: Option<Usage>,
}

/// Reason why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// The tool reported an error, in its own words.
    Said(String),
    /// The tool broke the protocol, in our words.
    Broken(String),
}

impl AnswerReader {
    /// Reads bytes of the tool's standard output; they may end in the middle of a line.
    pub(crate) fn read_output(&mut self, bytes: &[u8], report: &mut dyn FnMut(Progress)) {
        // Moved out for the call, because the closure borrows the whole reader.
        let mut splitter = std::mem::take(&mut self.splitter);
        splitter.add_bytes(bytes, &mut |line| self.read_line(line, report));
        self.splitter = splitter;
    }

    /// Returns the answer after the tool has ended.
    ///
    /// # Errors
    /// [`NoAnswer`] if the tool reported an error, broke the protocol, or ended without an end message.
    pub(crate) fn finish_answer(mut self) -> Result<ToolAnswer, NoAnswer> {
        let mut splitter = std::mem::take(&mut self.splitter);
        splitter.finish_line(&mut |line| self.read_line(line, &mut |_| {}));
        if let Some(fault) = self.fault {
            return Err(NoAnswer::Broken(fault));
        }
        match self.end {
            Some(AnswerEnd::Final { finish, model }) => Ok(ToolAnswer {
                text: self.text,
                finish,
                model,
                usage: self.usage,
            }),
            Some(AnswerEnd::Error(message)) => Err(NoAnswer::Said(message)),
            None => Err(NoAnswer::Broken(
                "the tool ended without a `final` or `error` message".to_owned(),
            )),
        }
    }

    fn read_line(&mut self, line: &[u8], report: &mut dyn FnMut(Progress)) {
        self.count += 1;
        if self.fault.is_some() {
            return;
        }
        if self.end.is_some() {
            self.record_fault(format!(
                "line {} comes after the `final` or `error` message",
                self.count
            ));
            return;
        }
        match serde_json::from_slice(line) {
            Ok(ToolMessage::Progress { note }) => report(Progress::Transcript(format!("{note}\n"))),
            Ok(ToolMessage::Text { text }) => {
                self.text.push_str(&text);
                report(Progress::Text(text));
            }
            Ok(ToolMessage::Usage { usage }) => self.usage = Some(usage),
            Ok(ToolMessage::Final { text, finish, model }) => {
                // The text of `final` is the whole answer, and replaces the pieces that were streamed before.
                if let Some(text) = text {
                    self.text = text;
                }
                let finish = finish.unwrap_or(FinishReason::Stop);
                self.end = Some(AnswerEnd::Final { finish, model });
            }
            Ok(ToolMessage::Error { message }) => self.end = Some(AnswerEnd::Error(message)),
            Err(error) => {
                // serde_json adds a position within the line, which would read like a position in the output.
                let why = error.to_string();
                let why = why.split(" at line ").next().unwrap_or_default();
                self.record_fault(format!("line {} is not a valid message: {why}", self.count));
            }
        }
    }

    /// Records a protocol error. Only the first is kept, because later ones usually follow from it.
    fn record_fault(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(chunks: &[&str]) -> Result<ToolAnswer, NoAnswer> {
        let mut lines = AnswerReader::default();
        for chunk in chunks {
            lines.read_output(chunk.as_bytes(), &mut |_| {});
        }
        lines.finish_answer()
    }

    #[test]
    fn pieces_and_a_final_are_an_answer_however_they_arrive() {
        let whole = ToolAnswer {
            text: "ab".to_owned(),
            finish: FinishReason::Stop,
            model: Some("m".to_owned()),
            usage: None,
        };
        let text = "{\"type\":\"text\",\"text\":\"a\"}\n{\"type\":\"text\",\"text\":\"b\"}\n\
                    {\"type\":\"final\",\"model\":\"m\"}";
        assert_eq!(answer(&[text]), Ok(whole));
        for cut in 1..text.len() {
            let (one, two) = text.split_at(cut);
            assert_eq!(answer(&[one, two]).unwrap().text, "ab", "cut at {cut}");
        }
        let replaced = answer(&["{\"type\":\"text\",\"text\":\"a\"}\n{\"type\":\"final\",\"text\":\"c\"}\n"]);
        assert_eq!(replaced.unwrap().text, "c");
    }

    #[test]
    fn a_tool_that_breaks_the_protocol_gives_no_answer() {
        let cases = [
            ("", "the tool ended without a `final` or `error` message"),
            ("hello\n", "line 1 is not a valid message: expected value"),
            (
                "{\"type\":\"text\",\"text\":\"a\"}\n",
                "the tool ended without a `final` or `error` message",
            ),
            (
                "{\"type\":\"final\"}\n{\"type\":\"final\"}\n",
                "line 2 comes after the `final` or `error` message",
            ),
        ];
        for (text, fault) in cases {
            assert_eq!(answer(&[text]), Err(NoAnswer::Broken(fault.to_owned())), "{text}");
        }
        assert_eq!(
            answer(&["{\"type\":\"error\",\"message\":\"no model\"}\n"]),
            Err(NoAnswer::Said("no model".to_owned()))
        );
    }
}
