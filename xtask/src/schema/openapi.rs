//! The HTTP+JSON binding as an OpenAPI 3.1 document, from the HTTP rules of the proto.

use prost_reflect::{FieldDescriptor, MethodDescriptor};
use serde_json::{Map, Value, json};

use super::{
    json_schema::Definitions,
    proto::{HttpRule, Proto},
};
use crate::Result;

const A2A_JSON: &str = "application/a2a+json";
const DESCRIPTION: &str = "The operations of an A2A agent over HTTP (spec §11), generated from \
    the proto by `cargo xtask schema`. Paths are relative to the URL of the agent card's \
    `HTTP+JSON` interface. The agent card declares the credentials that a request needs, if any \
    (`securitySchemes`, `securityRequirements`); they differ from agent to agent.";

pub(super) fn document(proto: &Proto) -> Result<Value> {
    let definitions = Definitions { proto, prefix: "#/components/schemas/" };
    let mut paths = Map::new();
    for method in proto.service()?.methods() {
        for rule in proto.http_rules(&method)? {
            let path = json_path(&method, &rule)?;
            let operation = Operation { definitions: &definitions, method: &method, rule: &rule };
            insert(&mut paths, &path, rule.verb, operation.document("")?)?;
            // The text of the specification has POST where the proto has GET: servers accept
            // both (ruling C-37).
            if method.name() == "SubscribeToTask" {
                insert(&mut paths, &path, "post", operation.document("WithPost")?)?;
            }
        }
    }
    insert(&mut paths, "/.well-known/agent-card.json", "get", agent_card(&definitions))?;
    let mut schemas = definitions.all()?;
    schemas.extend(error_schemas());
    Ok(json!({
        "openapi": "3.1.0",
        "info": {
            "title": "A2A protocol, HTTP+JSON binding",
            "version": "1.0",
            "description": DESCRIPTION,
            "license": { "name": "Apache 2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/", "description": "The URL of the HTTP+JSON interface" }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "parameters": parameters(),
            "headers": {
                "A2AExtensions": {
                    "description": "URIs of the activated extensions.",
                    "schema": { "type": "string" },
                },
            },
            "responses": {
                "Error": {
                    "description": "The error; `details` contains a `google.rpc.ErrorInfo`.",
                    "content": json_content(&definitions.reference("ErrorResponse")),
                },
            },
        },
    }))
}

/// One operation at one route.
struct Operation<'a> {
    definitions: &'a Definitions<'a>,
    method: &'a MethodDescriptor,
    rule: &'a HttpRule,
}

impl Operation<'_> {
    fn document(&self, suffix: &str) -> Result<Value> {
        let comment = self.definitions.proto.comment(self.method.path());
        let summary = comment.split("\n\n").next().unwrap_or_default();
        let tenant = if self.rule.path.starts_with("/{tenant}") { "OfTenant" } else { "" };
        let mut operation = json!({
            "operationId": format!("{}{tenant}{suffix}", self.method.name()),
            "summary": summary,
            "description": comment,
            "parameters": self.parameters()?,
            "responses": {
                "200": self.response(),
                "default": { "$ref": "#/components/responses/Error" },
            },
        });
        if self.rule.has_body {
            operation["requestBody"] = self.body()?;
        }
        Ok(operation)
    }

    fn parameters(&self) -> Result<Vec<Value>> {
        let mut parameters = vec![shared("A2AVersion"), shared("A2AExtensions")];
        if self.method.name().starts_with("Send") {
            parameters.push(shared("IdempotencyKey"));
        }
        if self.method.is_server_streaming() {
            parameters.push(shared("LastEventId"));
        }
        let in_path = variables(&self.rule.path);
        for name in &in_path {
            parameters.push(self.parameter(&field(self.method, name)?, "path", true)?);
        }
        if !self.rule.has_body {
            let fields = self.method.input().fields().collect::<Vec<_>>();
            for field in fields.iter().filter(|field| !in_path.contains(&field.name())) {
                let required = self.definitions.proto.is_required(field)?;
                parameters.push(self.parameter(field, "query", required)?);
            }
        }
        Ok(parameters)
    }

    fn parameter(&self, field: &FieldDescriptor, place: &str, required: bool) -> Result<Value> {
        let mut schema = self.definitions.member(field)?;
        let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        let mut parameter = json!({
            "name": field.json_name(),
            "in": place,
            "required": required,
            "schema": schema,
        });
        if let Some(description) = description {
            parameter["description"] = description;
        }
        Ok(parameter)
    }

    /// The body: the request without the members in the path.
    fn body(&self) -> Result<Value> {
        let proto = self.definitions.proto;
        let request = self.method.input();
        let in_path = variables(&self.rule.path);
        let mut in_body_required = false;
        for field in request.fields() {
            in_body_required |= proto.is_required(&field)? && !in_path.contains(&field.name());
        }
        let schema = if in_path.is_empty() {
            self.definitions.reference(request.name())
        } else {
            self.definitions.message(&request, &in_path)?
        };
        Ok(json!({ "required": in_body_required, "content": json_content(&schema) }))
    }

    /// One event of a stream of messages.
    fn event(&self, message: &str) -> Value {
        json!({
            "type": "object",
            "required": ["data"],
            "properties": {
                "id": {
                    "description": "The position in the log of the task, for `Last-Event-ID`.",
                    "type": "string",
                },
                "data": {
                    "description": format!("The `{message}` as JSON text."),
                    "type": "string",
                    "contentMediaType": "application/json",
                    "contentSchema": self.definitions.reference(message),
                },
            },
        })
    }

    fn response(&self) -> Value {
        let output = self.method.output();
        let headers = json!({ "A2A-Extensions": { "$ref": "#/components/headers/A2AExtensions" } });
        if self.method.is_server_streaming() {
            return json!({
                "description": "Server-sent events. The schema is that of one event.",
                "headers": headers,
                "content": { "text/event-stream": { "schema": self.event(output.name()) } },
            });
        }
        let (description, schema) = match output.full_name() {
            "google.protobuf.Empty" => ("Done.".to_owned(), json!({ "type": "object" })),
            _ => (format!("The `{}`.", output.name()), self.definitions.reference(output.name())),
        };
        json!({
            "description": description,
            "headers": headers,
            "content": json_content(&schema),
        })
    }
}

/// The same schema for the protocol's media type and for plain JSON, which agents also accept.
fn json_content(schema: &Value) -> Value {
    json!({ A2A_JSON: { "schema": schema }, "application/json": { "schema": schema } })
}

fn shared(name: &str) -> Value {
    json!({ "$ref": format!("#/components/parameters/{name}") })
}

fn parameters() -> Value {
    json!({
        "A2AVersion": {
            "name": "A2A-Version",
            "in": "header",
            "description": "Protocol version as `Major.Minor`. Clients send it with every \
                request; a request without it is interpreted as 0.3.",
            "schema": { "type": "string", "examples": ["1.0"] },
        },
        "A2AExtensions": {
            "name": "A2A-Extensions",
            "in": "header",
            "description": "URIs of the extensions to activate, separated by commas.",
            "schema": { "type": "string" },
        },
        "IdempotencyKey": {
            "name": "Idempotency-Key",
            "in": "header",
            "description": "A key chosen by the caller: a retry with the same key and body \
                returns the task that the first attempt created. Not part of the protocol.",
            "schema": { "type": "string", "minLength": 1, "maxLength": 255 },
        },
        "LastEventId": {
            "name": "Last-Event-ID",
            "in": "header",
            "description": "The `id` of the last received event: the stream resumes after it. \
                Not part of the protocol.",
            "schema": { "type": "string" },
        },
    })
}

/// The discovery document, which is at the root of the host and not in the proto.
fn agent_card(definitions: &Definitions<'_>) -> Value {
    json!({
        "operationId": "GetAgentCard",
        "summary": "Reads the public agent card (spec §8.2).",
        "description": "Reads the public agent card (spec §8.2). It is at the root of the host, \
            independent of the path of the interface.",
        "parameters": [{
            "name": "If-None-Match",
            "in": "header",
            "description": "The `ETag` of the cached card.",
            "schema": { "type": "string" },
        }],
        "responses": {
            "200": {
                "description": "The card.",
                "headers": {
                    "Cache-Control": { "schema": { "type": "string" } },
                    "ETag": { "schema": { "type": "string" } },
                },
                "content": {
                    "application/json": { "schema": definitions.reference("AgentCard") },
                },
            },
            "304": { "description": "The cached card is current." },
        },
    })
}

/// The error body of spec §11.6: a `google.rpc.Status` with the HTTP status as its code.
fn error_schemas() -> Map<String, Value> {
    let mut schemas = Map::new();
    schemas.insert(
        "ErrorResponse".to_owned(),
        json!({
            "description": "The body of every error (spec §11.6).",
            "type": "object",
            "required": ["error"],
            "properties": { "error": { "$ref": "#/components/schemas/ErrorStatus" } },
        }),
    );
    schemas.insert(
        "ErrorStatus".to_owned(),
        json!({
            "description": "The error.",
            "type": "object",
            "required": ["code", "status", "message"],
            "properties": {
                "code": { "description": "The HTTP status.", "type": "integer" },
                "status": {
                    "description": "The name of the gRPC code, such as `NOT_FOUND`.",
                    "type": "string",
                },
                "message": { "description": "Human-readable description.", "type": "string" },
                "details": {
                    "description": "Typed details: `google.rpc.ErrorInfo` always, \
                        `google.rpc.BadRequest` if members of the request are invalid.",
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/ErrorDetail" },
                },
            },
        }),
    );
    schemas.insert(
        "ErrorDetail".to_owned(),
        json!({
            "description": "One detail. The other members depend on `@type`; these are those \
                of `ErrorInfo` and `BadRequest`.",
            "type": "object",
            "required": ["@type"],
            "properties": {
                "@type": {
                    "type": "string",
                    "examples": ["type.googleapis.com/google.rpc.ErrorInfo"],
                },
                "reason": {
                    "description": "The A2A error, such as `TASK_NOT_FOUND`.",
                    "type": "string",
                },
                "domain": { "type": "string", "examples": ["a2a-protocol.org"] },
                "metadata": {
                    "type": "object",
                    "additionalProperties": { "type": "string" },
                },
                "fieldViolations": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "field": {
                                "description": "The path of the member, such as `message.parts`.",
                                "type": "string",
                            },
                            "description": { "type": "string" },
                        },
                    },
                },
            },
        }),
    );
    schemas
}

/// Adds an operation; two for the same path and verb are an error in the proto.
fn insert(paths: &mut Map<String, Value>, path: &str, verb: &str, operation: Value) -> Result {
    let item = paths.entry(path).or_insert_with(|| json!({}));
    if item.get(verb).is_some() {
        return Err(format!("two operations at {verb} {path}").into());
    }
    item[verb] = operation;
    Ok(())
}

/// The path with the JSON names of its variables, as everywhere in the document.
fn json_path(method: &MethodDescriptor, rule: &HttpRule) -> Result<String> {
    let mut path = rule.path.clone();
    for name in variables(&rule.path) {
        let field = field(method, name)?;
        path = path.replace(&format!("{{{name}}}"), &format!("{{{}}}", field.json_name()));
    }
    Ok(path)
}

/// The names in braces, in their order.
fn variables(path: &str) -> Vec<&str> {
    path.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect()
}

fn field(method: &MethodDescriptor, name: &str) -> Result<FieldDescriptor> {
    method
        .input()
        .get_field_by_name(name)
        .ok_or_else(|| format!("{}: no member {name}", method.name()).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    fn paths() -> Map<String, Value> {
        let proto = Proto::compile(&workspace::root().join("proto")).unwrap();
        document(&proto).unwrap()["paths"].as_object().unwrap().clone()
    }

    fn schema_of_body(operation: &Value) -> &Value {
        &operation["requestBody"]["content"][A2A_JSON]["schema"]
    }

    #[test]
    fn every_path_has_a_variant_with_a_tenant() {
        let paths = paths();
        let plain = paths.keys().filter(|path| !path.starts_with("/{tenant}"));
        for path in plain.filter(|path| !path.starts_with("/.well-known")) {
            assert!(paths.contains_key(&format!("/{{tenant}}{path}")), "{path}");
        }
    }

    #[test]
    fn path_variables_are_not_required_in_the_body() {
        let paths = paths();
        let cancel = &paths["/tasks/{id}:cancel"]["post"];
        assert_eq!(schema_of_body(cancel)["properties"].get("id"), None);
        assert_eq!(cancel["requestBody"]["required"], false);
        let send = &paths["/message:send"]["post"];
        assert_eq!(schema_of_body(send)["$ref"], "#/components/schemas/SendMessageRequest");
        assert_eq!(send["requestBody"]["required"], true);
    }

    #[test]
    fn streams_are_events_with_both_verbs() {
        let paths = paths();
        for verb in ["get", "post"] {
            let content = &paths["/tasks/{id}:subscribe"][verb]["responses"]["200"]["content"];
            let data = &content["text/event-stream"]["schema"]["properties"]["data"];
            let message = &data["contentSchema"]["$ref"];
            assert_eq!(message, "#/components/schemas/StreamResponse", "{verb}");
        }
    }
}
