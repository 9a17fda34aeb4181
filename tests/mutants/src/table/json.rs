//! Changes of JSON documents.

use serde_json::{Map, Value};

type Object = Map<String, Value>;

/// Calls `change` for every object in a document, except those in `metadata` and `data`, which
/// belong to the agent.
pub(super) fn each_object(document: &mut Value, change: &mut dyn FnMut(&mut Object)) {
    match document {
        Value::Array(items) => items.iter_mut().for_each(|item| each_object(item, change)),
        Value::Object(object) => {
            change(object);
            object
                .iter_mut()
                .filter(|(name, _)| !matches!(name.as_str(), "metadata" | "data"))
                .for_each(|(_, value)| each_object(value, change));
        }
        _ => {}
    }
}

/// Removes a member from the objects that also have the member `beside`.
pub(super) fn remove_beside(document: &mut Value, member: &str, beside: &str) {
    each_object(document, &mut |object| {
        if object.contains_key(beside) {
            object.remove(member);
        }
    });
}

/// Renames all members.
pub(super) fn rename(document: &mut Value, name: fn(&str) -> String) {
    each_object(document, &mut |object| {
        *object = std::mem::take(object)
            .into_iter()
            .map(|(member, value)| (name(&member), value))
            .collect();
    });
}

/// `contextId` as `context_id`.
pub(super) fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for character in name.chars() {
        if character.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}

/// Changes every string.
pub(super) fn each_string(document: &mut Value, change: &mut dyn FnMut(&str) -> Option<Value>) {
    each_object(document, &mut |object| {
        for value in object.values_mut() {
            if let Some(changed) = value.as_str().and_then(&mut *change) {
                *value = changed;
            }
        }
    });
}

/// The number of an enum value of the proto, by its name.
pub(super) fn number_of(name: &str) -> Option<i32> {
    use a2a_core::v1::{Role, TaskState};
    let state = TaskState::from_str_name(name).map(i32::from);
    state.or_else(|| Role::from_str_name(name).map(i32::from))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_are_renamed_except_those_of_the_agent() {
        let mut document = json!({"contextId": [{"artifactId": 1}], "metadata": {"myKey": 1}});
        rename(&mut document, snake_case);
        assert_eq!(document, json!({"context_id": [{"artifact_id": 1}], "metadata": {"myKey": 1}}));
    }

    #[test]
    fn enum_values_have_the_numbers_of_the_proto() {
        assert_eq!(number_of("TASK_STATE_COMPLETED"), Some(3));
        assert_eq!(number_of("ROLE_AGENT"), Some(2));
        assert_eq!(number_of("hello"), None);
    }
}
