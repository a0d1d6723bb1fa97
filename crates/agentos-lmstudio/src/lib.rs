//! LM Studio: the OpenAI wire plus its own model-state API
