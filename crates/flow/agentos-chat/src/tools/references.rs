//! Definitions of a schema, put where they are used.
//!
//! Generators of schemas (Pydantic, zod, schemars) give a nested type a definition of its own and refer to it with `$ref`. Vendors treat
//! references differently, and 41 definitions of which each uses the next one twice take 2^40 steps to check one value. Without references
//! neither can happen, and the size of a schema limits the time of a check.
//!
//! Keywords and their meaning: JSON Schema 2020-12 and the older drafts, as `$schema` says.
//!
//! Owns: references within a schema. Never: reads another document, or makes a check stricter than the server's own.

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

/// Keyword of a reference.
const REFERENCE: &str = "$ref";
/// Keyword of the draft, which only the root needs.
const DIALECT: &str = "$schema";
/// Keywords that only hold definitions or name a place. Without references nothing uses them.
const UNUSED: [&str; 6] = [
    "$anchor",
    "$defs",
    "$dynamicAnchor",
    "$id",
    DIALECT,
    "definitions",
];
/// Keywords that say something about a value and allow or refuse none. The one nearest to the value counts.
const REMARKS: [&str; 7] = [
    "$comment",
    "default",
    "deprecated",
    "description",
    "example",
    "examples",
    "title",
];
/// Keywords by which a weaker part makes the whole stricter, with those that mean nothing without them.
const FRAGILE: [(&str, &[&str]); 4] = [
    ("oneOf", &[]),
    ("not", &[]),
    ("if", &["then", "else"]),
    ("contains", &["minContains", "maxContains"]),
];
/// Keywords about everything that no other part of the schema has looked at.
const REST: [&str; 2] = ["unevaluatedItems", "unevaluatedProperties"];
/// Drafts in which the keywords next to a reference have no meaning (draft 7, section 8.3).
const OLDER_DRAFTS: [&str; 3] = ["draft-04/", "draft-06/", "draft-07/"];
/// Levels of a schema, with those that are put in.
const DEEPEST: usize = 64;
/// Longest part of a reference in an error, in characters.
const LONGEST_QUOTE: usize = 100;

/// Reason why a reference cannot be replaced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ReferenceFault {
    /// Reference to another document, or to nothing.
    #[error("`{0}` leads to no part of it")]
    Missing(String),
    /// Part with an address of its own, from which its references count.
    #[error("it has a part with an `$id`")]
    OwnAddress,
    /// Result that is too large.
    #[error("with its definitions in place it is longer than {0} bytes or has more than {DEEPEST} levels")]
    TooLarge(usize),
}

/// Meaning of the value of a keyword.
enum KeywordValue {
    Schema,
    /// Object whose members are schemas.
    Map,
    Data,
}

impl KeywordValue {
    fn of_keyword(name: &str) -> Self {
        match name {
            "additionalItems"
            | "additionalProperties"
            | "allOf"
            | "anyOf"
            | "contains"
            | "contentSchema"
            | "else"
            | "if"
            | "items"
            | "not"
            | "oneOf"
            | "prefixItems"
            | "propertyNames"
            | "then"
            | "unevaluatedItems"
            | "unevaluatedProperties" => Self::Schema,
            "dependencies" | "dependentSchemas" | "patternProperties" | "properties" => Self::Map,
            _ => Self::Data,
        }
    }
}

/// Replaces each reference by the part that it leads to. Where a definition uses itself, any value is allowed below its first use: the
/// server checks the arguments too.
///
/// # Errors
/// If a reference leads to no part of the schema, or the result has more than `most_bytes`.
pub(super) fn replace_references(schema: &Value, most_bytes: usize) -> Result<Value, ReferenceFault> {
    if !has_reference(schema) {
        return Ok(schema.clone());
    }
    let dialect = schema.get(DIALECT).and_then(Value::as_str);
    let mut replacer = ReferenceReplacer {
        root: schema,
        is_older: dialect.is_some_and(|dialect| OLDER_DRAFTS.iter().any(|draft| dialect.contains(draft))),
        open: Vec::new(),
        most_bytes,
        bytes: 0,
    };
    let mut replaced = replacer.copy_schema(schema, DEEPEST)?.value;
    if let (Some(dialect), Some(fields)) = (dialect, replaced.as_object_mut()) {
        fields.insert(DIALECT.to_owned(), dialect.into());
    }
    Ok(replaced)
}

/// Returns true if anything in a schema looks like a reference. A property of that name has a schema, which is no text.
fn has_reference(part: &Value) -> bool {
    match part {
        Value::Object(fields) => find_reference(fields).is_some() || fields.values().any(has_reference),
        Value::Array(parts) => parts.iter().any(has_reference),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Returns where the reference of a schema leads. `None` if it has none.
fn find_reference(fields: &Map<String, Value>) -> Option<&str> {
    fields.get(REFERENCE)?.as_str()
}

/// Copy of a part.
struct CopiedPart {
    value: Value,
    /// True if it allows more than the original, because a definition that uses itself ends in it.
    is_weaker: bool,
}

struct ReferenceReplacer<'a> {
    root: &'a Value,
    /// True in drafts in which the keywords next to a reference have no meaning.
    is_older: bool,
    /// References inside which the current part lies.
    open: Vec<&'a str>,
    most_bytes: usize,
    /// Bytes of the copy at least.
    bytes: usize,
}

impl<'a> ReferenceReplacer<'a> {
    fn count_copied(&mut self, bytes: usize) -> Result<(), ReferenceFault> {
        self.bytes = self.bytes.saturating_add(bytes);
        match self.bytes <= self.most_bytes {
            true => Ok(()),
            false => Err(self.too_large()),
        }
    }

    fn too_large(&self) -> ReferenceFault {
        ReferenceFault::TooLarge(self.most_bytes)
    }

    /// Copies a schema, or a list of schemas.
    fn copy_schema(&mut self, part: &'a Value, levels: usize) -> Result<CopiedPart, ReferenceFault> {
        let levels = levels.checked_sub(1).ok_or_else(|| self.too_large())?;
        match part {
            Value::Object(fields) => {
                // The root may be copied again, inside itself.
                if fields.get("$id").is_some_and(Value::is_string) && !std::ptr::eq(part, self.root) {
                    return Err(ReferenceFault::OwnAddress);
                }
                self.count_copied(2)?;
                match find_reference(fields) {
                    Some(target) => self.copy_target(fields, target, levels),
                    None => self.copy_keywords(fields, levels, |_| true),
                }
            }
            Value::Array(parts) => {
                self.count_copied(2)?;
                let mut is_weaker = false;
                let copied = parts.iter().map(|part| {
                    let copied = self.copy_schema(part, levels)?;
                    is_weaker |= copied.is_weaker;
                    Ok(copied.value)
                });
                let value = copied.collect::<Result<Value, _>>()?;
                Ok(CopiedPart { value, is_weaker })
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => self.copy_data(part),
        }
    }

    fn copy_data(&mut self, part: &Value) -> Result<CopiedPart, ReferenceFault> {
        self.count_copied(count_bytes(part, self.most_bytes))?;
        Ok(CopiedPart {
            value: part.clone(),
            is_weaker: false,
        })
    }

    /// Copies the members of an object whose members are schemas.
    fn copy_map(&mut self, part: &'a Value, levels: usize) -> Result<CopiedPart, ReferenceFault> {
        let Value::Object(members) = part else {
            return self.copy_data(part);
        };
        let levels = levels.checked_sub(1).ok_or_else(|| self.too_large())?;
        let (mut copied, mut is_weaker) = (Map::new(), false);
        for (name, member) in members {
            self.count_copied(name.len() + 3)?;
            let member = self.copy_schema(member, levels)?;
            is_weaker |= member.is_weaker;
            copied.insert(name.clone(), member.value);
        }
        let value = Value::Object(copied);
        Ok(CopiedPart { value, is_weaker })
    }

    /// Copies those keywords of a schema that `is_kept`.
    fn copy_keywords(
        &mut self,
        fields: &'a Map<String, Value>,
        levels: usize,
        is_kept: impl Fn(&str) -> bool,
    ) -> Result<CopiedPart, ReferenceFault> {
        let (mut copied, mut weaker) = (Map::new(), Vec::new());
        for (name, part) in fields {
            let is_unused = UNUSED.contains(&name.as_str()) || (name == REFERENCE && part.is_string());
            if is_unused || !is_kept(name) {
                continue;
            }
            self.count_copied(name.len() + 3)?;
            let part = match KeywordValue::of_keyword(name) {
                KeywordValue::Schema => self.copy_schema(part, levels)?,
                KeywordValue::Map => self.copy_map(part, levels)?,
                KeywordValue::Data => self.copy_data(part)?,
            };
            if part.is_weaker {
                weaker.push(name.as_str());
            }
            copied.insert(name.clone(), part.value);
        }
        Ok(finish_keywords(copied, &weaker))
    }

    /// Copies a schema with a reference: the part that it leads to, and the keywords next to the reference.
    fn copy_target(
        &mut self,
        fields: &'a Map<String, Value>,
        target: &'a str,
        levels: usize,
    ) -> Result<CopiedPart, ReferenceFault> {
        let is_remark = |name: &str| REMARKS.contains(&name);
        if self.open.contains(&target) {
            let remarks = self.copy_keywords(fields, levels, is_remark)?;
            return Ok(CopiedPart {
                is_weaker: true,
                ..remarks
            });
        }
        let found = self.find_target(target)?;
        self.open.push(target);
        let copied = self.copy_schema(found, levels);
        self.open.pop();
        let copied = copied?;
        let is_older = self.is_older;
        let siblings = self.copy_keywords(fields, levels, |name| !is_older || is_remark(name))?;
        Ok(join_parts(copied, siblings))
    }

    fn find_target(&self, target: &str) -> Result<&'a Value, ReferenceFault> {
        // In a fragment, other signs than those of an address are encoded (RFC 3986, section 2.1).
        let found = target
            .strip_prefix('#')
            .and_then(|fragment| percent_decode_str(fragment).decode_utf8().ok());
        let found = found.and_then(|pointer| self.root.pointer(&pointer));
        found.ok_or_else(|| ReferenceFault::Missing(target.chars().take(LONGEST_QUOTE).collect()))
    }
}

/// Makes a schema of its keywords, of which some became weaker. Those by which it would be stricter then are left out.
fn finish_keywords(mut copied: Map<String, Value>, weaker: &[&str]) -> CopiedPart {
    for (name, companions) in FRAGILE {
        if weaker.contains(&name) {
            copied.remove(name);
            companions.iter().for_each(|name| drop(copied.remove(*name)));
        }
    }
    if !weaker.is_empty() {
        REST.iter().for_each(|name| drop(copied.remove(*name)));
    }
    CopiedPart {
        value: Value::Object(copied),
        is_weaker: !weaker.is_empty(),
    }
}

/// Makes the schema that holds if both do.
fn join_parts(target: CopiedPart, siblings: CopiedPart) -> CopiedPart {
    let mut is_weaker = target.is_weaker || siblings.is_weaker;
    let value = match (target.value, siblings.value) {
        (Value::Object(mut target), Value::Object(mut siblings))
            if siblings.keys().all(|name| REMARKS.contains(&name.as_str())) =>
        {
            target.append(&mut siblings);
            Value::Object(target)
        }
        // A keyword can change the meaning of another one in the same schema, so they stay apart.
        (value, Value::Object(mut siblings)) => {
            match siblings.get_mut("allOf").and_then(Value::as_array_mut) {
                Some(all) => all.push(value),
                None => drop(siblings.insert("allOf".to_owned(), json!([value]))),
            }
            let weaker: &[&str] = if is_weaker { &["allOf"] } else { &[] };
            let joined = finish_keywords(siblings, weaker);
            is_weaker = joined.is_weaker;
            joined.value
        }
        // Keywords are always an object.
        (value, _) => value,
    };
    CopiedPart { value, is_weaker }
}

/// Counts the bytes of data at least, up to the first value beyond `most`.
fn count_bytes(part: &Value, most: usize) -> usize {
    let mut bytes = 0_usize;
    let mut waiting = vec![part];
    while let Some(part) = waiting.pop() {
        bytes += match part {
            Value::String(text) => text.len() + 2,
            Value::Array(parts) => {
                waiting.extend(parts);
                2
            }
            Value::Object(fields) => {
                waiting.extend(fields.values());
                fields.keys().map(|name| name.len() + 3).sum::<usize>() + 2
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        };
        if bytes > most {
            break;
        }
    }
    bytes
}

#[cfg(test)]
mod tests;
