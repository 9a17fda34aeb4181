//! The operations of the service and their HTTP routes.

use std::{collections::BTreeSet, error::Error, fmt::Write as _};

use prost_reflect::{
    DynamicMessage, MessageDescriptor, MethodDescriptor, ReflectMessage as _, Value,
};

use crate::descriptor::{Package, rust_type};

pub(crate) fn generate(package: &Package) -> Result<String, Box<dyn Error>> {
    let mut variants = String::new();
    let mut all = String::new();
    let mut names = String::new();
    let mut streaming = Vec::new();
    let mut routes = String::new();
    let mut requests: Vec<(MessageDescriptor, BTreeSet<String>)> = Vec::new();
    for method in package.service.methods() {
        let name = method.name().to_owned();
        let _ = writeln!(variants, "    /// The operation `{name}`.\n    {name},");
        let _ = write!(all, "Self::{name}, ");
        let _ = writeln!(names, "            Self::{name} => \"{name}\",");
        if method.is_server_streaming() {
            streaming.push(format!("Self::{name}"));
        }
        let mut variables = BTreeSet::new();
        for (verb, path, has_body) in rules(&method)? {
            let names = path.split('{').skip(1).filter_map(|rest| rest.split('}').next());
            variables.extend(names.map(str::to_owned));
            let _ = writeln!(
                routes,
                "    Route {{ operation: Operation::{name}, method: \"{verb}\", \
                 path: \"{path}\", has_body: {has_body} }},"
            );
        }
        match requests.iter_mut().find(|(request, _)| *request == method.input()) {
            Some((_, known)) => known.extend(variables),
            None => requests.push((method.input(), variables)),
        }
    }
    let mut tenants = String::new();
    for (request, variables) in requests {
        let fields: Vec<_> = variables.iter().map(|name| format!("\"{name}\" => {name}")).collect();
        let _ = writeln!(
            tenants,
            "request!({}, {}; {}, {});",
            rust_type(request.name()),
            fields.join(", "),
            id_of(&request, "task_id", Some("id")),
            id_of(&request, "context_id", None),
        );
    }
    Ok(format!(
        "/// An operation of the protocol, in the order of the proto.\n///\n\
         /// Exhaustive, like the methods of an agent: code that wraps or routes operations has to\n\
         /// handle a new one.\n\
         #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\n\
         pub enum Operation {{\n{variants}}}\n\n\
         impl Operation {{\n    /// Every operation.\n    \
         pub const ALL: [Self; {count}] = [{all}];\n\n    \
         /// The name of the gRPC procedure and JSON-RPC method.\n    \
         pub const fn name(self) -> &'static str {{\n        match self {{\n{names}        }}\n    }}\n\n    \
         /// Returns whether the response is an event stream.\n    \
         pub const fn is_streaming(self) -> bool {{\n        matches!(self, {streaming})\n    }}\n}}\n\n\
         /// All routes of the HTTP+JSON binding, with and without a tenant.\n\
         pub static ROUTES: &[Route] = &[\n{routes}];\n\n{tenants}",
        count = package.service.methods().len(),
        streaming = streaming.join(" | "),
    ))
}

/// What reads an id of a request: from the field of that name, from the other field, or from the
/// message in the request.
fn id_of(request: &MessageDescriptor, name: &str, other: Option<&str>) -> String {
    let has = |name: &str| request.get_field_by_name(name).is_some();
    match other {
        _ if has(name) => format!("|request| &request.{name}"),
        Some(other) if has(other) => format!("|request| &request.{other}"),
        _ if has("message") => {
            format!("|request| request.message.as_ref().map_or(\"\", |message| &message.{name})")
        }
        _ => "|_| \"\"".to_owned(),
    }
}

/// The HTTP rule of a method: verb, path and whether it has a body.
type Rule = (String, String, bool);

fn rules(method: &MethodDescriptor) -> Result<Vec<Rule>, Box<dyn Error>> {
    let extension = method
        .parent_pool()
        .get_extension_by_name("google.api.http")
        .ok_or("google.api.http is not imported")?;
    let options = method.options();
    let value = options.get_extension(&extension);
    let rule = value.as_message().ok_or_else(|| format!("{} has no route", method.name()))?;
    let mut rules = vec![read(rule)?];
    if let Value::List(more) =
        &*rule.get_field_by_name("additional_bindings").ok_or("no bindings")?
    {
        for binding in more {
            rules.push(read(binding.as_message().ok_or("not a rule")?)?);
        }
    }
    Ok(rules)
}

fn read(rule: &DynamicMessage) -> Result<Rule, Box<dyn Error>> {
    let body = match rule.get_field_by_name("body").as_deref() {
        Some(Value::String(body)) if body.is_empty() => false,
        Some(Value::String(body)) if body == "*" => true,
        other => return Err(format!("no form for a body of {other:?}").into()),
    };
    for verb in ["get", "put", "post", "delete", "patch"] {
        let field = rule.descriptor().get_field_by_name(verb).ok_or("not a rule")?;
        if rule.has_field(&field)
            && let Value::String(path) = &*rule.get_field(&field)
        {
            return Ok((verb.to_uppercase(), path.replace("=*}", "}"), body));
        }
    }
    Err("a rule without a verb".into())
}
