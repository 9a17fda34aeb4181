//! The validation rules of the proto: REQUIRED members, exactly one member of a union, known enum
//! values.

use std::{error::Error, fmt::Write as _};

use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};

use crate::{
    descriptor::{Package, is_required, rust_type},
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
                oneof.name(),
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
            body.push_str(&union_rule(message, oneof.name(), oneof.fields()));
        }
        let rules = if body.is_empty() { "_rules" } else { "rules" };
        let _ = writeln!(
            code,
            "impl Validate for {} {{\n    \
             fn check(&self, {rules}: &mut Rules) {{\n{body}    }}\n}}",
            rust_type(message.name())
        );
    }
    Ok(code)
}

fn rule(field: &FieldDescriptor) -> String {
    let json = field.json_name();
    let rust = field.name();
    let required = is_required(field) && !MAY_BE_EMPTY.contains(&field.full_name());
    let mut code = String::new();
    let mut line = |text: String| {
        let _ = writeln!(code, "        {text}");
    };
    let ours = |message: &MessageDescriptor| {
        message.package_name() == field.parent_message().package_name()
    };
    if field.is_map() {
        if let Kind::Message(entry) = field.kind()
            && let Kind::Message(value) = entry.map_entry_value_field().kind()
            && ours(&value)
        {
            line(format!("rules.each_value(\"{json}\", &self.{rust});"));
        }
    } else if field.is_list() {
        if required {
            line(format!("rules.required(\"{json}\", !self.{rust}.is_empty());"));
        }
        if let Kind::Message(message) = field.kind()
            && ours(&message)
        {
            line(format!("rules.each(\"{json}\", &self.{rust});"));
        }
    } else {
        match field.kind() {
            Kind::String if required => {
                line(format!("rules.required(\"{json}\", !self.{rust}.is_empty());"));
            }
            Kind::Enum(kind) => line(format!(
                "rules.enumeration::<{}>(\"{json}\", self.{rust}, {required});",
                rust_type(kind.name())
            )),
            Kind::Message(message) => {
                if required {
                    line(format!("rules.required(\"{json}\", self.{rust}.is_some());"));
                }
                if ours(&message) {
                    line(format!("rules.member(\"{json}\", self.{rust}.as_ref());"));
                }
            }
            _ => {}
        }
    }
    code
}

fn union_rule(
    message: &MessageDescriptor,
    oneof: &str,
    fields: impl Iterator<Item = FieldDescriptor>,
) -> String {
    let mut arms = String::new();
    for field in fields {
        if let Kind::Message(inner) = field.kind()
            && inner.package_name() == message.package_name()
        {
            let _ = writeln!(
                arms,
                "            Some({}::{}::{}(member)) => rules.member(\"{}\", Some(member)),",
                snake(&rust_type(message.name())),
                pascal(oneof),
                pascal(field.name()),
                field.json_name()
            );
        }
    }
    if arms.is_empty() {
        return String::new();
    }
    format!("        match &self.{oneof} {{\n{arms}            None => {{}}\n        }}\n")
}

fn pascal(name: &str) -> String {
    name.split('_')
        .map(|word| {
            let mut letters = word.chars();
            letters
                .next()
                .into_iter()
                .flat_map(char::to_uppercase)
                .chain(letters)
                .collect::<String>()
        })
        .collect()
}

/// The module that prost generates for the unions of a message.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for (index, letter) in name.chars().enumerate() {
        if letter.is_uppercase() && index > 0 {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}
