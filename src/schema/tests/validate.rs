//! The part of JSON Schema that our schemas use.

use regex_automata::Input;
use regex_automata::dfa::{Automaton, dense};
use serde_json::Value;

/// Why a value does not satisfy a schema; the first reason found.
pub(super) fn refusal(schema: &Value, value: &Value) -> Option<String> {
    let keyword = |name: &str| schema.get(name);
    if let Some(words) = keyword("enum")
        && !words.as_array().unwrap().contains(value)
    {
        return Some(format!("{value} is none of {words}"));
    }
    if let Some(types) = keyword("type") {
        let types = types.as_array().map_or_else(|| vec![types.clone()], Clone::clone);
        if !types.iter().any(|name| is(value, name.as_str().unwrap())) {
            return Some(format!("{value} is no {types:?}"));
        }
    }
    if let (Some(least), Some(number)) = (keyword("minimum").and_then(Value::as_f64), value.as_f64())
        && number < least
    {
        return Some(format!("{number} is below {least}"));
    }
    if let (Some(pattern), Some(text)) = (keyword("pattern"), value.as_str()) {
        let automaton = dense::DFA::new(pattern.as_str().unwrap()).unwrap();
        if automaton.try_search_fwd(&Input::new(text)).unwrap().is_none() {
            return Some(format!("`{text}` is not of {pattern}"));
        }
    }
    if let Some(shapes) = keyword("anyOf") {
        let reasons: Option<Vec<String>> =
            shapes.as_array().unwrap().iter().map(|shape| refusal(shape, value)).collect();
        if let Some(reasons) = reasons {
            return Some(reasons.join(" and "));
        }
    }
    match value {
        Value::Array(items) => {
            keyword("items").and_then(|item| items.iter().find_map(|value| refusal(item, value)))
        }
        Value::Object(entries) => members(schema, entries),
        _ => None,
    }
}

fn members(schema: &Value, entries: &serde_json::Map<String, Value>) -> Option<String> {
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten() {
        if entries.get(name.as_str().unwrap()).is_none_or(Value::is_null) {
            return Some(format!("{name} is missing"));
        }
    }
    entries.iter().find_map(|(name, value)| {
        let own = schema.get("properties").and_then(|properties| properties.get(name));
        match own.or_else(|| schema.get("additionalProperties")) {
            Some(Value::Bool(false)) => Some(format!("unknown key `{name}`")),
            Some(shape) => refusal(shape, value),
            None => None,
        }
    })
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("type {other} is not used"),
    }
}
