//! Signatures and marks of one provider, as they travel through a client.
//!
//! Owns: that form. Never: interprets a signature.
//!
//! A vendor signs the thinking of its model, and Gemini marks its tool calls; the next request must contain them unchanged, and no
//! other vendor accepts them. A client sends them back, but not whose they are, and a pool may ask another provider next. So a
//! signature leaves as `agentos.PROVIDER.SIGNATURE`, and a marked call as the id `ID~PROVIDER~MARK`. What comes back without this
//! form was not made here: its thinking is kept as text of nobody, which every adapter leaves out by rule.

use agentos_model::{CallSignature, ThinkingPart};

/// Beginning of a sealed signature.
const OPENING: &str = "agentos.";
/// Beginning of sealed thinking that is encrypted, where the type of the item does not say so.
const ENCRYPTED: &str = "agentos-encrypted.";
/// Mark between the parts of a call's id. Ids of vendors consist of letters, digits, `_`, `-`, `.` and `:`.
const BETWEEN: char = '~';

/// Writes a signature of thinking for a client. Without a signature, the provider alone.
pub fn seal_thinking(provider: &str, signature: Option<&str>) -> String {
    format!("{OPENING}{provider}.{}", signature.unwrap_or_default())
}

/// Reads the thinking that a client sends back.
pub fn open_thinking(text: String, sealed: &str, is_encrypted: bool) -> ThinkingPart {
    let opened = sealed.strip_prefix(OPENING).and_then(|rest| rest.split_once('.'));
    let (provider, signature) = opened.unwrap_or_default();
    ThinkingPart {
        text,
        signature: Some(signature.to_owned()).filter(|signature| !signature.is_empty()),
        is_encrypted,
        provider: provider.to_owned(),
    }
}

/// Writes a signature of thinking for a client in whose form all thinking has one type.
pub fn seal_item(provider: &str, signature: Option<&str>, is_encrypted: bool) -> String {
    let opening = if is_encrypted { ENCRYPTED } else { OPENING };
    format!("{opening}{provider}.{}", signature.unwrap_or_default())
}

/// Reads thinking that was written with [`seal_item`].
pub fn open_item(text: String, sealed: &str) -> ThinkingPart {
    match sealed.strip_prefix(ENCRYPTED) {
        Some(rest) => open_thinking(text, &format!("{OPENING}{rest}"), true),
        None => open_thinking(text, sealed, false),
    }
}

/// Writes the id of a call for a client.
pub fn seal_call(id: &str, provider: &str, mark: Option<&str>) -> String {
    match mark {
        Some(mark) => format!("{id}{BETWEEN}{provider}{BETWEEN}{mark}"),
        None => id.to_owned(),
    }
}

/// Reads the id of a call that a client sends back, and its mark. `None` if the call has none.
pub fn open_call(sealed: &str) -> (String, Option<CallSignature>) {
    let mut parts = sealed.splitn(3, BETWEEN);
    match (parts.next(), parts.next(), parts.next()) {
        (Some(id), Some(provider), Some(mark)) => {
            let signature = CallSignature {
                provider: provider.to_owned(),
                mark: mark.to_owned(),
            };
            (id.to_owned(), Some(signature))
        }
        (_, _, _) => (sealed.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_comes_back_with_its_provider() {
        for (signature, is_encrypted) in [(Some("a.b/c="), false), (None, false), (Some("x"), true)] {
            let part = open_thinking(
                "t".to_owned(),
                &seal_thinking("anthropic", signature),
                is_encrypted,
            );
            assert_eq!(part.provider, "anthropic");
            assert_eq!(part.signature.as_deref(), signature);
        }
        for is_encrypted in [false, true] {
            let part = open_item(
                "t".to_owned(),
                &seal_item("openai", Some("rs_1 a.b="), is_encrypted),
            );
            assert_eq!(part.provider, "openai");
            assert_eq!(part.signature.as_deref(), Some("rs_1 a.b="));
            assert_eq!(part.is_encrypted, is_encrypted);
        }
        // A signature that was not made here belongs to nobody, and is not sent to anybody.
        let foreign = open_thinking("t".to_owned(), "EqQBCgIYAhIM", false);
        assert_eq!((foreign.provider.as_str(), foreign.signature), ("", None));
    }

    #[test]
    fn a_mark_comes_back_with_its_call() {
        assert_eq!(
            open_call(&seal_call("call_1", "openai", None)),
            ("call_1".to_owned(), None)
        );
        let (id, mark) = open_call(&seal_call("call_1", "gemini", Some("a~b=")));
        assert_eq!(id, "call_1");
        assert_eq!(
            mark,
            Some(CallSignature {
                provider: "gemini".to_owned(),
                mark: "a~b=".to_owned()
            })
        );
    }
}
