//! The rows of the health table that one HTTP answer shows, whatever the adapter.
//!
//! Owns: an answer for each, and the state that follows. Never: rows about a server's models.

use agentos_tool::HealthStatus;
use serde_json::json;

use crate::server::Reply;

const PAGE: &[u8] = b"<!doctype html><title>It works!</title>";

/// Returns the rows: number, answer, health state, and the expected reason.
pub(super) fn rows() -> Vec<(u32, Reply, HealthStatus, &'static str)> {
    use HealthStatus::{Connected, InvalidToken, ModelMissing, SchemaMismatch, Unreachable};
    let page = |status| Reply::http(status, &[("content-type", "text/html")], PAGE);
    let said = |status, code: &str, message: &str| {
        Reply::json(
            status,
            &json!({"error": {"code": code, "type": code, "message": message}}),
        )
    };
    let plain = |status| said(status, "", "no");
    vec![
        (8, Reply::Bytes(Vec::new()), Unreachable, "closed"),
        (
            9,
            Reply::Bytes(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()),
            SchemaMismatch,
            "not-http",
        ),
        (
            10,
            Reply::http(302, &[("location", "http://127.0.0.1:1/")], b""),
            SchemaMismatch,
            "redirect",
        ),
        (11, page(401), SchemaMismatch, "html"),
        (11, page(403), SchemaMismatch, "html"),
        (13, refused(401), InvalidToken, "unauthorized"),
        (14, refused(403), InvalidToken, "forbidden"),
        (
            15,
            said(400, "no_db_connection", "No connected db."),
            InvalidToken,
            "unauthorized",
        ),
        (16, page(407), Unreachable, "proxy-auth"),
        (
            17,
            said(404, "model_not_found", "gone"),
            ModelMissing,
            "unknown-model",
        ),
        (
            18,
            said(400, "", "model 'x' not found"),
            ModelMissing,
            "unknown-model",
        ),
        (
            18,
            said(400, "", "No models loaded. Please load a model"),
            ModelMissing,
            "not-loaded",
        ),
        (19, plain(404), SchemaMismatch, "wrong-path"),
        (19, page(404), SchemaMismatch, "wrong-path"),
        (19, plain(405), SchemaMismatch, "wrong-path"),
        (20, page(501), SchemaMismatch, "html"),
        (21, plain(402), Connected, "quota"),
        (
            21,
            said(429, "insufficient_quota", "no credit"),
            Connected,
            "quota",
        ),
        (22, plain(408), Unreachable, "timeout"),
        (22, page(504), Unreachable, "timeout"),
        (23, plain(429), Connected, "rate-limited"),
        (
            24,
            said(503, "unavailable_error", "Loading model"),
            Unreachable,
            "loading",
        ),
        (25, page(503), Unreachable, "overloaded"),
        (25, plain(529), Unreachable, "overloaded"),
        (26, plain(500), Unreachable, "server-error"),
        (26, page(502), Unreachable, "server-error"),
        (27, page(200), SchemaMismatch, "html"),
        (27, Reply::http(200, &[], b""), SchemaMismatch, "not-json"),
        (
            27,
            Reply::http(200, &[], b"all is well"),
            SchemaMismatch,
            "not-json",
        ),
        (28, plain(200), SchemaMismatch, "error-in-200"),
        (28, said(200, "401", "no"), InvalidToken, "unauthorized"),
        (
            29,
            Reply::json(200, &json!({"status": "UP"})),
            SchemaMismatch,
            "fields",
        ),
    ]
}

/// A refusal in JSON.
pub(super) fn refused(status: u16) -> Reply {
    Reply::json(status, &json!({"error": {"message": "no"}}))
}
