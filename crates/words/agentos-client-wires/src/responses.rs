//! OpenAI's responses, as a server reads and writes them.
//!
//! Owns: the two halves under one name. Never: keeps a response; a client sends the complete conversation with each request.
//!
//! Source of the shapes: OpenAI's API reference, "Create a model response" and "Streaming events", and the types of the `openai`
//! package for Python.
//!
//! | item of the input | canonical form |
//! |---|---|
//! | message of `user`, `assistant` | a message with its texts and images |
//! | message of `system`, `developer`; `instructions` | system prompt |
//! | `function_call`, `custom_tool_call` | call of a tool |
//! | `function_call_output`, `custom_tool_call_output` | result of a call |
//! | `reasoning` | thinking; `encrypted_content` is its sealed signature |
//! | `item_reference` | refused: no item is kept |

mod events;
mod items;
mod reply;
mod request;
mod tools;

pub use events::EventWriter;
pub use reply::write_reply;
pub use request::read_request;
pub use tools::ToolForms;

#[cfg(test)]
mod tests;
