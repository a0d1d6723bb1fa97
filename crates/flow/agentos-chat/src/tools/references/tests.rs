//! Schemas before and after their references are replaced.

use super::*;

const MOST: usize = 16 << 10;

#[test]
fn a_definition_stands_where_it_was_referred_to() {
    let cases = [
        (
            "as Pydantic writes it",
            json!({"type": "object", "$defs": {"Point": {"type": "object", "title": "Point", "properties": {"x": {"type": "number"}}}},
                "properties": {"at": {"$ref": "#/$defs/Point", "description": "Where"}, "all": {"type": "array", "items": {"$ref": "#/$defs/Point"}}}}),
            json!({"type": "object",
                "properties": {"at": {"type": "object", "title": "Point", "description": "Where", "properties": {"x": {"type": "number"}}},
                    "all": {"type": "array", "items": {"type": "object", "title": "Point", "properties": {"x": {"type": "number"}}}}}}),
        ),
        (
            "a definition that uses another one, in the older place",
            json!({"type": "object", "definitions": {"a": {"items": {"$ref": "#/definitions/b"}}, "b": {"type": "string"}}, "properties": {"p": {"$ref": "#/definitions/a"}}}),
            json!({"type": "object", "properties": {"p": {"items": {"type": "string"}}}}),
        ),
        (
            "another condition beside it holds as well",
            json!({"type": "object", "$defs": {"a": {"maximum": 9}}, "properties": {"p": {"$ref": "#/$defs/a", "minimum": 3}}}),
            json!({"type": "object", "properties": {"p": {"minimum": 3, "allOf": [{"maximum": 9}]}}}),
        ),
        (
            "a part of the schema that is no definition, with an escaped name",
            json!({"type": "object", "properties": {"a/b": {"type": "string"}, "c": {"$ref": "#/properties/a~1b"}}}),
            json!({"type": "object", "properties": {"a/b": {"type": "string"}, "c": {"type": "string"}}}),
        ),
        (
            "a tree ends with any value",
            json!({"type": "object", "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}, "properties": {"tree": {"$ref": "#/$defs/node"}}}),
            json!({"type": "object", "properties": {"tree": {"type": "object", "properties": {"next": {}}}}}),
        ),
        (
            "a property of this name, and data that looks like a reference",
            json!({"type": "object", "properties": {"$ref": {"type": "string", "default": {"$ref": "#/x"}}}}),
            json!({"type": "object", "properties": {"$ref": {"type": "string", "default": {"$ref": "#/x"}}}}),
        ),
        (
            "properties that are named like keywords",
            json!({"type": "object", "$defs": {"a": {"type": "string"}}, "properties": {"default": {"$ref": "#/$defs/a"}, "$defs": {"$ref": "#/$defs/a"}}}),
            json!({"type": "object", "properties": {"default": {"type": "string"}, "$defs": {"type": "string"}}}),
        ),
        (
            "definitions of a definition, and the root itself",
            json!({"type": "object", "$defs": {"a": {"$defs": {"b": {}}, "type": "string"}}, "properties": {"p": {"$ref": "#/$defs/a"}, "again": {"$ref": "#"}}}),
            json!({"type": "object", "properties": {"p": {"type": "string"},
                "again": {"type": "object", "properties": {"p": {"type": "string"}, "again": {}}}}}),
        ),
        (
            "a percent sign in the reference",
            json!({"type": "object", "$defs": {"A<B>": {"type": "string"}}, "properties": {"p": {"$ref": "#/$defs/A%3CB%3E"}}}),
            json!({"type": "object", "properties": {"p": {"type": "string"}}}),
        ),
        (
            "an older draft, where the keywords next to a reference have no meaning",
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a", "definitions": {"a": {"type": "object", "maxProperties": 1}}, "maxProperties": 0}),
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "maxProperties": 1}),
        ),
    ];
    for (case, schema, expected) in cases {
        assert_eq!(replace_references(&schema, MOST).unwrap(), expected, "{case}");
    }
}

#[test]
fn a_reference_to_another_document_or_to_nothing_is_a_fault() {
    for target in [
        "https://example.com/schema",
        "other.json#/a",
        "#/$defs/none",
        "#anchor",
    ] {
        let schema = json!({"type": "object", "properties": {"p": {"$ref": target}}});
        let fault = ReferenceFault::Missing(target.to_owned());
        assert_eq!(replace_references(&schema, MOST), Err(fault), "{target}");
    }
}

#[test]
fn definitions_that_multiply_are_given_up_early() {
    let mut definitions: Map<String, Value> = (0..40)
        .map(|at| {
            let next = json!({ "$ref": format!("#/$defs/a{}", at + 1) });
            (format!("a{at}"), json!({ "allOf": [next, next] }))
        })
        .collect();
    definitions.insert("a40".to_owned(), json!({ "required": ["n"] }));
    let schema = json!({ "type": "object", "$defs": definitions, "allOf": [{ "$ref": "#/$defs/a0" }] });
    assert_eq!(
        replace_references(&schema, MOST),
        Err(ReferenceFault::TooLarge(MOST))
    );
}

#[test]
fn a_part_that_uses_itself_refuses_nothing_that_it_allows() {
    let leaf = json!({"type": "object", "properties": {"kind": {"const": "leaf"}}, "required": ["kind"]});
    let branch = json!({"type": "object", "properties": {"kind": {"const": "branch"},
        "children": {"type": "array", "items": {"oneOf": [{"$ref": "#/$defs/Leaf"}, {"$ref": "#/$defs/Branch"}]}}}, "required": ["kind"]});
    let cases = [
        json!({"$ref": "#/$defs/Branch"}),
        json!({"not": {"required": ["x"], "properties": {"x": {"$ref": "#/$defs/Branch"}}}}),
        json!({"allOf": [{"$ref": "#/$defs/Branch"}], "unevaluatedProperties": false}),
    ];
    let value = json!({"tree": {"kind": "branch", "children": [{"kind": "leaf"}, {"kind": "branch", "children": [{"kind": "leaf"}]}]}});
    for tree in cases {
        let schema = json!({"type": "object", "$defs": {"Leaf": leaf, "Branch": branch}, "properties": {"tree": tree}});
        assert!(agentos_schema::check_value(&schema, &value).is_ok(), "{schema}");
        let replaced = replace_references(&schema, MOST).unwrap();
        assert!(
            agentos_schema::check_value(&replaced, &value).is_ok(),
            "{replaced}"
        );
    }
    let never = json!({"type": "object", "properties": {"p": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}});
    let replaced = replace_references(&never, MOST).unwrap();
    assert_eq!(replaced, json!({"type": "object", "properties": {"p": {}}}));
}

#[test]
fn data_counts_as_often_as_it_is_copied() {
    let many: Vec<Value> = (0..1800).map(|_| json!({"": 0})).collect();
    let uses = |name: &str| (0..44).map(|_| json!({ "$ref": name })).collect::<Vec<_>>();
    let schema = json!({"type": "object", "properties": {"d": {"default": many}, "e": {"allOf": uses("#/properties/d")}}, "allOf": uses("#/properties/e")});
    assert_eq!(
        replace_references(&schema, MOST),
        Err(ReferenceFault::TooLarge(MOST))
    );
}

#[test]
fn a_part_with_an_address_of_its_own_is_a_fault() {
    let schema =
        json!({"type": "object", "properties": {"p": {"$id": "https://example.com/a", "$ref": "#/x"}}});
    assert_eq!(replace_references(&schema, MOST), Err(ReferenceFault::OwnAddress));
}
