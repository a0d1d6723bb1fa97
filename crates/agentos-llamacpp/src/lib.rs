//! llama.cpp server: native completion and health, on the generic local HTTP base
