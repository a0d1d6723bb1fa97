//! Tests of what a conversation lets a model see and do, over real repositories.

mod canary;
mod repository_tools;
