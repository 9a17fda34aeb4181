//! Reports in YAML: block style, with strings quoted as in JSON, which YAML 1.2 reads.

use serde_json::Value;

/// Writes the JSON form of a report as YAML.
pub fn yaml(value: &Value) -> String {
    let mut out = String::new();
    block(&mut out, value, 0);
    out
}

fn block(out: &mut String, value: &Value, depth: usize) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                out.push_str(&format!("{indent}{}:", Value::String(name.clone())));
                member_of(out, member, depth);
            }
        }
        Value::Array(items) => {
            for item in items {
                out.push_str(&format!("{indent}-"));
                member_of(out, item, depth);
            }
        }
        scalar => out.push_str(&format!("{indent}{scalar}\n")),
    }
}

fn member_of(out: &mut String, value: &Value, depth: usize) {
    let is_empty = match value {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    };
    if is_empty {
        // Scalars and empty collections are the same as in JSON.
        out.push_str(&format!(" {value}\n"));
    } else {
        out.push('\n');
        block(out, value, depth + 1);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn collections_are_blocks_and_strings_are_quoted() {
        let value = json!({"a": [1, {"b": "x: \n"}], "c": [], "d": null});
        let expected = "\"a\":\n  - 1\n  -\n    \"b\": \"x: \\n\"\n\"c\": []\n\"d\": null\n";
        assert_eq!(yaml(&value), expected);
    }
}
