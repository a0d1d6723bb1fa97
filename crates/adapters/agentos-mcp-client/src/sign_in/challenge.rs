//! Challenge of a server that wants a token (RFC 6750, section 3; RFC 9728, section 5.1).
//!
//! Owns: the syntax of `WWW-Authenticate` (RFC 9110, section 11.6.1). Never: requests anything.

/// Challenge of the scheme Bearer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// Address of the server's metadata. `None` if it is where the standard says.
    pub(crate) resource_metadata: Option<String>,
    /// Scopes that the request needs.
    pub(crate) scopes: Vec<String>,
}

impl Challenge {
    /// Reads the first challenge of the scheme Bearer. `None` if there is none.
    pub(crate) fn parse(header: &str) -> Option<Self> {
        let mut rest = header;
        let mut found: Option<Self> = None;
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            let end = rest.find([' ', '\t', ',', '=']).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            if rest.is_empty() {
                return found;
            }
            let Some(value) = after.trim_start_matches([' ', '\t']).strip_prefix('=') else {
                // A word without a value is the next scheme. Only the first challenge of this scheme counts.
                if found.is_some() {
                    return found;
                }
                found = word.eq_ignore_ascii_case("bearer").then(Self::default);
                rest = after;
                continue;
            };
            let (value, after) = split_value(value.trim_start_matches([' ', '\t']));
            if let Some(challenge) = &mut found {
                challenge.set_parameter(word, &value);
            }
            rest = after;
        }
    }

    fn set_parameter(&mut self, name: &str, value: &str) {
        if name.eq_ignore_ascii_case("resource_metadata") && self.resource_metadata.is_none() {
            self.resource_metadata = Some(value.to_owned());
        }
        if name.eq_ignore_ascii_case("scope") && self.scopes.is_empty() {
            self.scopes = value.split_whitespace().map(str::to_owned).collect();
        }
    }
}

/// Splits a value from what follows it. A value in quotation marks may have escaped characters; one without an end is all that is left.
fn split_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([' ', '\t', ',']).unwrap_or(text.len());
        let (value, rest) = text.split_at(end);
        return (value.to_owned(), rest);
    };
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value, quoted.get(at + 1..).unwrap_or_default()),
            '\\' => value.extend(letters.next().map(|(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_challenge_of_the_scheme_counts() {
        let url = "https://h/.well-known/oauth-protected-resource";
        let read = |metadata: Option<&str>, scopes: &[&str]| {
            Some(Challenge {
                resource_metadata: metadata.map(str::to_owned),
                scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
            })
        };
        let cases = [
            ("", None),
            ("Basic realm=\"a\"", None),
            ("Bearer", read(None, &[])),
            ("bearer realm=x", read(None, &[])),
            (
                "Bearer error=\"invalid_token\", resource_metadata=\"https://h/.well-known/oauth-protected-resource\"",
                read(Some(url), &[]),
            ),
            (
                "Basic realm=\"Bearer resource_metadata=no\", Bearer resource_metadata = https://h/.well-known/oauth-protected-resource , scope=\"a b\"",
                read(Some(url), &["a", "b"]),
            ),
            ("Basic YWJj==, Bearer scope=one", read(None, &["one"])),
            (
                "Bearer scope=\"a\", DPoP scope=\"b\", resource_metadata=\"https://evil/\"",
                read(None, &["a"]),
            ),
            ("Bearer scope=\"a\", scope=\"b\"", read(None, &["a"])),
            ("Bearer scope=\"q\\\"x\"", read(None, &["q\"x"])),
            ("Bearer scope=\"open", read(None, &["open"])),
            ("Bearer =,=\"", None),
        ];
        for (header, wanted) in cases {
            assert_eq!(Challenge::parse(header), wanted, "{header}");
        }
    }

    proptest! {
        #[test]
        fn every_header_is_read_to_its_end(header in "[A-Za-z=,\" \\\\\u{e4}]*") {
            let _ = Challenge::parse(&header);
        }
    }
}
