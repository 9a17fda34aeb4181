//! The embedded descriptor compared with facts from the specification.

use std::fmt::Write as _;

use prost_reflect::{Cardinality, DescriptorPool, DynamicMessage, FieldDescriptor, Kind, Value};

/// Each rpc: its request, response, streaming, HTTP rule, body and method signatures.
const METHODS: [(&str, &str, &str, bool, &str, &str, &str); 11] = [
    (
        "SendMessage",
        "SendMessageRequest",
        "SendMessageResponse",
        false,
        "POST /message:send",
        "*",
        "",
    ),
    (
        "SendStreamingMessage",
        "SendMessageRequest",
        "StreamResponse",
        true,
        "POST /message:stream",
        "*",
        "",
    ),
    ("GetTask", "GetTaskRequest", "Task", false, "GET /tasks/{id=*}", "", "id"),
    ("ListTasks", "ListTasksRequest", "ListTasksResponse", false, "GET /tasks", "", ""),
    ("CancelTask", "CancelTaskRequest", "Task", false, "POST /tasks/{id=*}:cancel", "*", ""),
    (
        "SubscribeToTask",
        "SubscribeToTaskRequest",
        "StreamResponse",
        true,
        "GET /tasks/{id=*}:subscribe",
        "",
        "",
    ),
    (
        "CreateTaskPushNotificationConfig",
        "TaskPushNotificationConfig",
        "TaskPushNotificationConfig",
        false,
        "POST /tasks/{task_id=*}/pushNotificationConfigs",
        "*",
        "task_id,config",
    ),
    (
        "GetTaskPushNotificationConfig",
        "GetTaskPushNotificationConfigRequest",
        "TaskPushNotificationConfig",
        false,
        "GET /tasks/{task_id=*}/pushNotificationConfigs/{id=*}",
        "",
        "task_id,id",
    ),
    (
        "ListTaskPushNotificationConfigs",
        "ListTaskPushNotificationConfigsRequest",
        "ListTaskPushNotificationConfigsResponse",
        false,
        "GET /tasks/{task_id=*}/pushNotificationConfigs",
        "",
        "task_id",
    ),
    (
        "DeleteTaskPushNotificationConfig",
        "DeleteTaskPushNotificationConfigRequest",
        "google.protobuf.Empty",
        false,
        "DELETE /tasks/{task_id=*}/pushNotificationConfigs/{id=*}",
        "",
        "task_id,id",
    ),
    (
        "GetExtendedAgentCard",
        "GetExtendedAgentCardRequest",
        "AgentCard",
        false,
        "GET /extendedAgentCard",
        "",
        "",
    ),
];

fn pool() -> DescriptorPool {
    DescriptorPool::decode(a2a_core::DESCRIPTOR).expect("a descriptor")
}

fn short(name: &str) -> String {
    name.strip_prefix("lf.a2a.v1.").unwrap_or(name).to_owned()
}

/// The value of an option that is an extension, if it is set.
fn option(pool: &DescriptorPool, options: &DynamicMessage, name: &str) -> Option<Value> {
    let extension = pool.get_extension_by_name(name).expect("an extension");
    options.has_extension(&extension).then(|| options.get_extension(&extension).into_owned())
}

fn is_required(pool: &DescriptorPool, field: &FieldDescriptor) -> bool {
    let behavior = option(pool, &field.options(), "google.api.field_behavior");
    let required = Value::EnumNumber(2);
    behavior.is_some_and(|behavior| behavior.as_list().is_some_and(|list| list.contains(&required)))
}

fn type_name(kind: &Kind) -> String {
    match kind {
        Kind::Message(message) => short(message.full_name()),
        Kind::Enum(kind) => short(kind.full_name()),
        scalar => format!("{scalar:?}").to_lowercase(),
    }
}

fn type_of(field: &FieldDescriptor) -> String {
    match field.kind() {
        Kind::Message(entry) if field.is_map() => format!(
            "map<{},{}>",
            type_name(&entry.map_entry_key_field().kind()),
            type_name(&entry.map_entry_value_field().kind())
        ),
        kind => type_name(&kind),
    }
}

fn label_of(field: &FieldDescriptor) -> String {
    let oneof = field.containing_oneof().filter(|oneof| !oneof.is_synthetic());
    match (oneof, field.cardinality()) {
        (Some(oneof), _) => format!("oneof {}", oneof.name()),
        _ if field.is_map() => "map".to_owned(),
        (_, Cardinality::Repeated) => "repeated".to_owned(),
        _ if field.field_descriptor_proto().proto3_optional() => "optional".to_owned(),
        _ => "singular".to_owned(),
    }
}

/// Each message and enum in the format of the fixture.
fn described(pool: &DescriptorPool) -> Vec<String> {
    let mut found = Vec::new();
    for item in pool.all_enums().filter(|item| item.package_name() == "lf.a2a.v1") {
        let mut text = format!("enum {}", item.name());
        for value in item.values() {
            let _ = write!(text, "\n  {} {}", value.number(), value.name());
        }
        found.push(text);
    }
    for message in pool.all_messages() {
        if message.package_name() != "lf.a2a.v1" || message.is_map_entry() {
            continue;
        }
        let mut text = format!("message {}", message.name());
        for field in message.fields() {
            let (number, name, json) = (field.number(), field.name(), field.json_name());
            let (kind, label) = (type_of(&field), label_of(&field));
            let _ = write!(text, "\n  {number} {name} {json} {kind} {label}");
            text.push_str(if is_required(pool, &field) { " REQUIRED" } else { "" });
        }
        found.push(text);
    }
    found.sort();
    found
}

//
#[test]
fn messages_and_enums_match_the_released_proto() {
    let table = include_str!("../../wire/descriptor.txt");
    let mut expected: Vec<String> = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        match line.starts_with(' ') {
            false => expected.push(line.to_owned()),
            true => {
                let item = expected.last_mut().expect("a title before");
                item.push('\n');
                item.push_str(line);
            }
        }
    }
    expected.sort();
    let found = described(&pool());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len());
    let required = found.iter().map(|item| item.matches(" REQUIRED").count()).sum::<usize>();
    assert_eq!(required, 61, "members that are REQUIRED");
}

/// Verb and path of an `HttpRule`.
fn rule(rule: &DynamicMessage) -> String {
    ["get", "put", "post", "delete", "patch"]
        .into_iter()
        .find(|verb| rule.has_field_by_name(verb))
        .map(|verb| {
            let path = rule.get_field_by_name(verb).expect("a field").into_owned();
            format!("{} {}", verb.to_uppercase(), path.as_str().expect("a path"))
        })
        .expect("a verb")
}

//
#[test]
fn methods_have_the_released_types_routes_and_signatures() {
    let pool = pool();
    let service = pool.get_service_by_name("lf.a2a.v1.A2AService").expect("the service");
    assert_eq!(service.methods().len(), METHODS.len());
    for (name, input, output, streams, route, body, signature) in METHODS {
        let method = service.methods().find(|method| method.name() == name).expect(name);
        assert_eq!(short(method.input().full_name()), input, "{name}");
        assert_eq!(short(method.output().full_name()), output, "{name}");
        assert_eq!((method.is_client_streaming(), method.is_server_streaming()), (false, streams));
        let options = method.options();
        let http = option(&pool, &options, "google.api.http").expect("a rule");
        let http = http.as_message().expect("a message");
        assert_eq!(rule(http), route, "{name}");
        let field = |rule: &DynamicMessage, name: &str| {
            rule.get_field_by_name(name).expect("a field").as_str().expect("text").to_owned()
        };
        assert_eq!(field(http, "body"), body, "{name}");
        let more = http.get_field_by_name("additional_bindings").expect("a field").into_owned();
        let [Value::Message(tenant)] = more.as_list().expect("a list") else {
            panic!("{name}: one more route");
        };
        assert_eq!(rule(tenant), route.replacen(" /", " /{tenant}/", 1), "{name}");
        assert_eq!(field(tenant, "body"), body, "{name}");
        let signatures = option(&pool, &options, "google.api.method_signature");
        let signatures = signatures.as_ref().and_then(Value::as_list).unwrap_or_default();
        let expected: Vec<_> =
            (!signature.is_empty()).then(|| Value::String(signature.into())).into_iter().collect();
        assert_eq!(signatures, expected, "{name}");
    }
}

#[test]
fn only_discouraged_flows_are_deprecated() {
    let pool = pool();
    let messages = pool.all_messages().filter(|message| message.package_name() == "lf.a2a.v1");
    let mut found: Vec<_> = messages
        .flat_map(|message| message.fields().collect::<Vec<_>>())
        .filter(|field| {
            let options = field.options();
            options.get_field_by_name("deprecated").is_some_and(|value| *value == Value::Bool(true))
        })
        .map(|field| short(field.full_name()))
        .collect();
    found.sort();
    assert_eq!(found, ["OAuthFlows.implicit", "OAuthFlows.password"]);
}

//
#[test]
fn operation_names_and_routes_match_the_proto() {
    let names: Vec<_> = a2a_core::Operation::ALL.iter().map(|operation| operation.name()).collect();
    assert_eq!(names, METHODS.map(|method| method.0));
    for (name, .., streams, route, body, _) in METHODS {
        let operation = a2a_core::Operation::ALL
            .into_iter()
            .find(|operation| operation.name() == name)
            .expect(name);
        assert_eq!(operation.is_streaming(), streams, "{name}");
        let path = route.replace("=*}", "}");
        for path in [path.clone(), path.replacen(" /", " /{tenant}/", 1)] {
            let found = a2a_core::ROUTES
                .iter()
                .find(|route| format!("{} {}", route.method, route.path) == path)
                .unwrap_or_else(|| panic!("no route {path}"));
            assert_eq!((found.operation, found.has_body), (operation, body == "*"), "{path}");
        }
    }
    assert_eq!(a2a_core::ROUTES.len(), 22);
    assert_eq!(a2a_core::SERVICE, "lf.a2a.v1.A2AService");
}
