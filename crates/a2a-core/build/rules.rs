//! The validation rules of the proto: REQUIRED members, exactly one member of a union, known enum
//! values.

use std::{error::Error, fmt::Write as _};

use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor, OneofDescriptor};

use crate::{
    descriptor::{Package, enum_type, is_required, message_type, rust_field, variant_type},
    may_be_empty::MAY_BE_EMPTY,
};

pub(crate) fn generate(package: &Package) -> Result<String, Box<dyn Error>> {
    for name in MAY_BE_EMPTY {
        let known = package.messages.iter().flat_map(MessageDescriptor::fields);
        if !known.into_iter().any(|field| field.full_name() == name) {
            return Err(format!("{name} is excepted from a rule and does not exist").into());
        }
    }
    let mut code = String::new();
    for message in &package.messages {
        let mut body = String::new();
        for oneof in message.oneofs().filter(|oneof| !oneof.is_synthetic()) {
            let names: Vec<_> = oneof.fields().map(|field| field.json_name().to_owned()).collect();
            let _ = writeln!(
                body,
                "        rules.one_of(self.{}.is_some(), \"{}\");",
                rust_field(oneof.name()),
                names.join(", ")
            );
        }
        for field in message.fields() {
            if field.containing_oneof().is_some_and(|oneof| !oneof.is_synthetic()) {
                continue;
            }
            body.push_str(&rule(&field));
        }
        for oneof in message.oneofs().filter(|oneof| !oneof.is_synthetic()) {
            body.push_str(&union_rule(&oneof));
        }
        let rules = if body.is_empty() { "_rules" } else { "rules" };
        let _ = writeln!(
            code,
            "impl Validate for {} {{\n    \
             fn check(&self, {rules}: &mut Rules) {{\n{body}    }}\n}}",
            message_type(message)
        );
    }
    Ok(code)
}

fn rule(field: &FieldDescriptor) -> String {
    let json = field.json_name();
    let rust = rust_field(field.name());
    let required = is_required(field) && !MAY_BE_EMPTY.contains(&field.full_name());
    let mut code = String::new();
    let mut line = |text: String| {
        let _ = writeln!(code, "        {text}");
    };
    if let Kind::Message(entry) = field.kind()
        && field.is_map()
    {
        match entry.map_entry_value_field().kind() {
            Kind::Message(value) if is_ours(field, &value) => {
                line(format!("rules.each_value(\"{json}\", &self.{rust});"));
            }
            Kind::Enum(kind) => line(format!(
                "for (key, number) in &self.{rust} {{ \
                 rules.enumeration::<{}>(&format!(\"{json}.{{key}}\"), *number, false); }}",
                enum_type(&kind)
            )),
            _ => {}
        }
        return code;
    }
    if field.is_list() {
        if required {
            line(format!("rules.required(\"{json}\", !self.{rust}.is_empty());"));
        }
        match field.kind() {
            Kind::Message(message) if is_ours(field, &message) => {
                line(format!("rules.each(\"{json}\", &self.{rust});"));
            }
            Kind::Enum(kind) => line(format!(
                "for (index, number) in self.{rust}.iter().enumerate() {{ \
                 rules.enumeration::<{}>(&format!(\"{json}[{{index}}]\"), *number, false); }}",
                enum_type(&kind)
            )),
            _ => {}
        }
        return code;
    }
    let presence = field.supports_presence();
    if required && presence {
        line(format!("rules.required(\"{json}\", self.{rust}.is_some());"));
    }
    match field.kind() {
        Kind::String | Kind::Bytes if required && !presence => {
            line(format!("rules.required(\"{json}\", !self.{rust}.is_empty());"));
        }
        Kind::Enum(kind) => {
            let number = if presence { ".unwrap_or_default()" } else { "" };
            line(format!(
                "rules.enumeration::<{}>(\"{json}\", self.{rust}{number}, {});",
                enum_type(&kind),
                required && !presence
            ));
        }
        Kind::Message(message) if is_ours(field, &message) => {
            line(format!("rules.member(\"{json}\", self.{rust}.as_ref());"));
        }
        _ => {}
    }
    code
}

/// Returns whether a message has rules.
fn is_ours(field: &FieldDescriptor, message: &MessageDescriptor) -> bool {
    message.package_name() == field.parent_message().package_name()
}

fn union_rule(oneof: &OneofDescriptor) -> String {
    let mut arms = String::new();
    for field in oneof.fields() {
        let json = field.json_name();
        let check = match field.kind() {
            Kind::Message(message) if is_ours(&field, &message) => {
                format!("rules.member(\"{json}\", Some(member))")
            }
            Kind::Enum(kind) => {
                format!("rules.enumeration::<{}>(\"{json}\", *member, false)", enum_type(&kind))
            }
            _ => continue,
        };
        let variant = variant_type(oneof, &field);
        let _ = writeln!(arms, "            Some({variant}(member)) => {check},");
    }
    if arms.is_empty() {
        return String::new();
    }
    let name = rust_field(oneof.name());
    format!("        match &self.{name} {{\n{arms}            _ => {{}}\n        }}\n")
}
