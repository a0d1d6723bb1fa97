//! Provider profiles: typed, validated, layered; pure parsing
