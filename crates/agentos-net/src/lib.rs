//! HTTP: endpoint check, time-outs, size caps, streaming, redaction
