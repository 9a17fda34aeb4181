//! JSON pointers (RFC 6901).

use serde_json::Value;

/// Escapes a member name for a pointer.
pub(crate) fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Splits a pointer into its member names and indices.
pub(crate) fn steps(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~"))
}

/// Converts the path of a violation, such as `skills[0].name`, for a document. Keys of maps may
/// contain dots, so the document decides where they end.
pub(crate) fn of_field(field: &str, json: &Value) -> String {
    let mut pointer = String::new();
    let mut at = Some(json);
    let mut rest = field;
    while !rest.is_empty() {
        let (step, after) = next_step(rest, at);
        pointer.push('/');
        pointer.push_str(&escape(step));
        at = at.and_then(|value| match value {
            Value::Array(list) => list.get(step.parse::<usize>().ok()?),
            other => other.get(step),
        });
        rest = after.trim_start_matches(['.', ']']);
    }
    pointer
}

/// Splits off the first step.
fn next_step<'a>(path: &'a str, at: Option<&Value>) -> (&'a str, &'a str) {
    if let Some(index) = path.strip_prefix('[') {
        return index.split_once(']').unwrap_or((index, ""));
    }
    let members = at.and_then(Value::as_object);
    let is_step = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
    let known = members.into_iter().flat_map(|members| members.keys());
    let known = known.filter(|key| path.strip_prefix(key.as_str()).is_some_and(is_step));
    let end = known.map(String::len).max().filter(|length| *length > 0);
    path.split_at(end.unwrap_or_else(|| path.find(['.', '[']).unwrap_or(path.len())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn violation_paths_become_pointers() {
        let json = json!({"securitySchemes": {"a.b/c": {"x": 1}}, "skills": [{"tags": ["x"]}]});
        for (field, pointer) in [
            ("", ""),
            ("name", "/name"),
            ("skills[0].name", "/skills/0/name"),
            ("skills[0].tags[0]", "/skills/0/tags/0"),
            ("skills[7].name", "/skills/7/name"),
            ("securitySchemes.a.b/c", "/securitySchemes/a.b~1c"),
            ("securitySchemes.a.b/c.scheme", "/securitySchemes/a.b~1c/scheme"),
            ("securitySchemes.gone", "/securitySchemes/gone"),
        ] {
            assert_eq!(of_field(field, &json), pointer, "{field}");
        }
        assert_eq!(steps("/a~1b/0/c~0").collect::<Vec<_>>(), ["a/b", "0", "c~"]);
    }
}
