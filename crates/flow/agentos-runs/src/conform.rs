//! `agentos tool conform`: does a program speak the tool protocol?
//!
//! Owns: the tasks of the test, and the rule for a pass. Never: lands anything, or needs a repository.

use agentos_api::{ConformCheck, ToolConform};
use agentos_engine::ports::EffectError;
use agentos_tool::{ContextFile, EditFormat, NoProgress, TaskLimits, ToolError, ToolOutput, ToolTask};

use crate::Runs;
use agentos_ground::options::ProgramOptions;
use agentos_ground::{clock, runtime};
use agentos_providers::programs;

/// Bytes of the large task's one file. They are more than a pipe buffers, so a program that answers before it has read its
/// task to the end is found out.
const LARGE: usize = 1 << 20;

impl Runs<'_> {
    /// Gives a program the tasks of the tool protocol, one after the other, and reports its answers. Needs no repository.
    ///
    /// # Errors
    /// If there is no place for the program's folders, or the system refuses a runtime.
    pub fn check_conformance(
        self,
        program: &ProgramOptions,
        timeout_seconds: u64,
    ) -> Result<ToolConform, EffectError> {
        let tool = programs::make_conforming(self.ground, program)?;
        let mut checks = Vec::new();
        for (name, task) in make_tasks(timeout_seconds) {
            let done = runtime::block_on(tool.adapter.run(&task, &NoProgress))?;
            checks.push(judge_answer(name, done));
        }
        Ok(ToolConform {
            version: 1,
            protocol: agentos_tool::PROTOCOL,
            conforms: checks.iter().all(|check| check.passed),
            checks,
        })
    }
}

fn make_tasks(timeout_seconds: u64) -> [(&'static str, ToolTask); 3] {
    let file = |path: &str, content: &str| ContextFile {
        path: path.to_owned(),
        content: content.to_owned(),
        part: None,
    };
    let task = |context: Vec<ContextFile>| ToolTask {
        task_id: clock::new_run(),
        instruction: "Add a line that says `world` at the end of hello.txt.".to_owned(),
        context,
        outline: Vec::new(),
        edit_format: EditFormat::default(),
        allowed_paths: Vec::new(),
        forbidden_paths: Vec::new(),
        limits: TaskLimits {
            timeout_seconds,
            max_output_tokens: None,
            loaded_context: None,
        },
        attempt: 1,
        feedback: None,
        history: Vec::new(),
        remark: None,
        has_tools: false,
    };
    // Quotes and letters outside of ASCII find a program that does not read its input as JSON in UTF-8.
    let line = "a line of text, with “quotes” and ünusual letters\n";
    let large = line.repeat(LARGE / line.len());
    let again = ToolTask {
        attempt: 2,
        feedback: Some("the first hunk's context is not in hello.txt".to_owned()),
        ..task(vec![file("hello.txt", "hello\n")])
    };
    [
        ("it answers a task", task(vec![file("hello.txt", "hello\n")])),
        (
            "it reads a task of a megabyte to its end",
            task(vec![file("hello.txt", "hello\n"), file("large.txt", &large)]),
        ),
        (
            "it answers a second attempt that says why the first did not land",
            again,
        ),
    ]
}

fn judge_answer(name: &str, done: Result<ToolOutput, ToolError>) -> ConformCheck {
    let (passed, seen) = match done {
        // A program that ends at once, without reading its task, must not pass.
        Ok(output) if output.text.trim().is_empty() => (false, "the answer is empty".to_owned()),
        Ok(output) => {
            let bytes = output.text.len();
            (
                true,
                format!(
                    "an answer of {bytes} bytes, ended as `{}`",
                    output.finish.as_str()
                ),
            )
        }
        Err(error) => (false, error.message),
    };
    ConformCheck {
        name: name.to_owned(),
        passed,
        seen,
    }
}
