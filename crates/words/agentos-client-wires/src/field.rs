//! Reading the fields of a request one by one.
//!
//! Owns: which fields were read, and the message about a field of the wrong type. Never: knows a wire.

use serde_json::{Map, Value};

use crate::fault::RequestFault;

/// Fields of an object that were not read yet.
///
/// Reading takes a field away, so what is left at the end has no effect on the answer.
#[derive(Debug)]
pub struct ObjectFields {
    fields: Map<String, Value>,
    /// Path of the object. Empty for the body itself.
    path: String,
}

impl ObjectFields {
    /// Takes the fields of a value that must be an object.
    pub fn take(value: Value, path: &str) -> Result<Self, RequestFault> {
        match value {
            Value::Object(fields) => Ok(Self {
                fields,
                path: path.to_owned(),
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Err(wrong_type(path, "an object"))
            }
        }
    }

    /// Returns the path of a field.
    pub fn path_of(&self, name: &str) -> String {
        match self.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        }
    }

    /// Returns a field without taking it. `None` if it is missing or null.
    pub fn peek(&self, name: &str) -> Option<&Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    /// Takes a field. `None` if it is missing or null, which clients use alike.
    pub fn value(&mut self, name: &str) -> Option<Value> {
        // Clients with typed fields write null for what was not set.
        self.fields.remove(name).filter(|value| !value.is_null())
    }

    /// Takes a text. `None` if it is missing.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, RequestFault> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                Err(wrong_type(&self.path_of(name), "a text"))
            }
        }
    }

    /// Takes a text that must be there.
    pub fn required_text(&mut self, name: &str) -> Result<String, RequestFault> {
        self.text(name)?.ok_or_else(|| missing(&self.path_of(name)))
    }

    /// Takes true or false. `None` if it is missing.
    pub fn flag(&mut self, name: &str) -> Result<Option<bool>, RequestFault> {
        let value = self.value(name);
        value
            .map(|value| {
                value
                    .as_bool()
                    .ok_or_else(|| wrong_type(&self.path_of(name), "true or false"))
            })
            .transpose()
    }

    /// Takes a whole number that is not negative. `None` if it is missing.
    pub fn count(&mut self, name: &str) -> Result<Option<u64>, RequestFault> {
        let value = self.value(name);
        value
            .map(|value| {
                value
                    .as_u64()
                    .ok_or_else(|| wrong_type(&self.path_of(name), "a whole number"))
            })
            .transpose()
    }

    /// Takes the limit on an answer, a whole number of at least 1. `None` if it is missing.
    pub fn limit(&mut self, name: &str) -> Result<Option<u64>, RequestFault> {
        match self.count(name)? {
            // Some servers take 0 for a missing limit, and the answer would be longer than what a budget reserves.
            Some(0) => Err(RequestFault::of_field(
                self.path_of(name),
                format!("`{}` must be at least 1", self.path_of(name)),
            )),
            limit => Ok(limit),
        }
    }

    /// Takes a number. `None` if it is missing.
    pub fn number(&mut self, name: &str) -> Result<Option<f64>, RequestFault> {
        let value = self.value(name);
        value
            .map(|value| {
                value
                    .as_f64()
                    .ok_or_else(|| wrong_type(&self.path_of(name), "a number"))
            })
            .transpose()
    }

    /// Takes a list. Empty if it is missing.
    pub fn list(&mut self, name: &str) -> Result<Vec<Value>, RequestFault> {
        match self.value(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(list)) => Ok(list),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
                Err(wrong_type(&self.path_of(name), "a list"))
            }
        }
    }

    /// Takes one text or a list of texts. Empty if it is missing.
    pub fn texts(&mut self, name: &str) -> Result<Vec<String>, RequestFault> {
        let path = self.path_of(name);
        let list = match self.value(name) {
            None => return Ok(Vec::new()),
            Some(Value::Array(list)) => list,
            Some(one) => vec![one],
        };
        let texts = list.into_iter().map(|item| match item {
            Value::String(text) => Ok(text),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                Err(wrong_type(&path, "a text or a list of texts"))
            }
        });
        texts.collect()
    }

    /// Refuses a field unless its value asks for nothing, as `harmless` says.
    pub fn refuse_unless(
        &mut self,
        name: &str,
        harmless: impl FnOnce(&Value) -> bool,
    ) -> Result<(), RequestFault> {
        match self.value(name) {
            Some(value) if !harmless(&value) => Err(RequestFault::of_field(
                self.path_of(name),
                format!("`{}` is not supported with this value", self.path_of(name)),
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// Forgets fields that have no effect on an answer.
    pub fn forget(&mut self, names: &[&str]) {
        for name in names {
            self.fields.remove(*name);
        }
    }

    /// Returns the names of the fields that were not read and are not null, sorted.
    pub fn list_unread(self) -> Vec<String> {
        let unread = self.fields.into_iter().filter(|(_, value)| !value.is_null());
        let mut names: Vec<String> = unread.map(|(name, _)| name).collect();
        names.sort();
        names
    }
}

/// Makes the fault of a field that is missing.
pub fn missing(path: &str) -> RequestFault {
    RequestFault::of_field(path, format!("`{path}` is missing"))
}

/// Makes the fault of a field of the wrong type.
pub fn wrong_type(path: &str, wanted: &str) -> RequestFault {
    match path {
        "" => RequestFault::of_body(format!("the body must be {wanted}")),
        path => RequestFault::of_field(path, format!("`{path}` must be {wanted}")),
    }
}
