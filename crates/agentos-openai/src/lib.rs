//! The OpenAI chat wire and every server compatible with it
