//! What a tool writes, line by line, under the tool protocol.
//!
//! Owns: cutting lines, and the state that they add up to. Never: takes a word after the end, or a line that is none.

use agentos_tool::{FinishReason, Progress, ToolMessage, Usage};

/// Cuts bytes into lines, however they arrive. As long as a line may be, the sandbox's cap on output bounds it.
#[derive(Debug, Default)]
pub(crate) struct Cutter(Vec<u8>);

impl Cutter {
    /// Takes bytes; gives every line that they end.
    pub(crate) fn take(&mut self, mut bytes: &[u8], line: &mut dyn FnMut(&[u8])) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (end_of_line, after) = bytes.split_at(end + 1);
            let mut whole = std::mem::take(&mut self.0);
            whole.extend_from_slice(end_of_line);
            line(&whole);
            bytes = after;
        }
        self.0.extend_from_slice(bytes);
    }

    /// A last line without an end is a line.
    pub(crate) fn end(&mut self, line: &mut dyn FnMut(&[u8])) {
        if !self.0.is_empty() {
            line(&std::mem::take(&mut self.0));
        }
    }
}

/// Where the conversation stands.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    cutter: Cutter,
    count: u64,
    text: String,
    usage: Option<Usage>,
    end: Option<End>,
    fault: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    Final {
        finish: FinishReason,
        model: Option<String>,
    },
    Error(String),
}

/// A whole answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) finish: FinishReason,
    pub(crate) model: Option<String>,
    pub(crate) usage: Option<Usage>,
}

/// Why there is none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// The tool says so.
    Said(String),
    /// It broke the protocol.
    Broken(String),
}

impl Lines {
    /// Takes bytes as they come.
    pub(crate) fn take(&mut self, bytes: &[u8], told: &mut dyn FnMut(Progress)) {
        let mut cutter = std::mem::take(&mut self.cutter);
        cutter.take(bytes, &mut |line| self.line(line, told));
        self.cutter = cutter;
    }

    /// What it came to, once the tool has ended.
    pub(crate) fn end(mut self) -> Result<Answer, NoAnswer> {
        let mut cutter = std::mem::take(&mut self.cutter);
        cutter.end(&mut |line| self.line(line, &mut |_| {}));
        if let Some(fault) = self.fault {
            return Err(NoAnswer::Broken(fault));
        }
        match self.end {
            Some(End::Final { finish, model }) => Ok(Answer {
                text: self.text,
                finish,
                model,
                usage: self.usage,
            }),
            Some(End::Error(message)) => Err(NoAnswer::Said(message)),
            None => Err(NoAnswer::Broken("it ended without `final` or `error`".to_owned())),
        }
    }

    fn line(&mut self, line: &[u8], told: &mut dyn FnMut(Progress)) {
        self.count += 1;
        if self.fault.is_some() {
            return;
        }
        if self.end.is_some() {
            self.broken(format!("line {} comes after the end", self.count));
            return;
        }
        match serde_json::from_slice(line) {
            Ok(ToolMessage::Progress { note }) => told(Progress::Transcript(format!("{note}\n"))),
            Ok(ToolMessage::Text { text }) => {
                self.text.push_str(&text);
                told(Progress::Text(text));
            }
            Ok(ToolMessage::Usage { usage }) => self.usage = Some(usage),
            Ok(ToolMessage::Final { text, finish, model }) => {
                if let Some(text) = text {
                    self.text = text;
                }
                let finish = finish.unwrap_or(FinishReason::Stop);
                self.end = Some(End::Final { finish, model });
            }
            Ok(ToolMessage::Error { message }) => self.end = Some(End::Error(message)),
            Err(error) => {
                let why = error.to_string();
                let why = why.split(" at line ").next().unwrap_or_default();
                self.broken(format!("line {} is no message: {why}", self.count));
            }
        }
    }

    /// The first fault is the one to tell.
    fn broken(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(chunks: &[&str]) -> Result<Answer, NoAnswer> {
        let mut lines = Lines::default();
        for chunk in chunks {
            lines.take(chunk.as_bytes(), &mut |_| {});
        }
        lines.end()
    }

    #[test]
    fn pieces_and_a_final_are_an_answer_however_they_arrive() {
        let whole = Answer {
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
            ("", "it ended without `final` or `error`"),
            ("hello\n", "line 1 is no message: expected value"),
            (
                "{\"type\":\"text\",\"text\":\"a\"}\n",
                "it ended without `final` or `error`",
            ),
            (
                "{\"type\":\"final\"}\n{\"type\":\"final\"}\n",
                "line 2 comes after the end",
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
