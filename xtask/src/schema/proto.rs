//! The proto for the generators: descriptors with their comments and annotations.

use std::{collections::BTreeMap, path::Path};

use prost_reflect::{
    DescriptorPool, DynamicMessage, EnumDescriptor, FieldDescriptor, FileDescriptor,
    MessageDescriptor, MethodDescriptor, OneofDescriptor, ReflectMessage as _, ServiceDescriptor,
    Value,
};
use protox::{
    Compiler,
    file::{ChainFileResolver, File, FileResolver, GoogleFileResolver, IncludeFileResolver},
};

use crate::{Result, workspace};

/// The proto of protocol 1.0, below the directory of the imported files.
pub(crate) const FILE: &str = "a2a/v1/a2a.proto";
const PACKAGE: &str = "lf.a2a.v1";

/// The compiled proto of protocol 1.0.
pub(crate) struct Proto {
    pool: DescriptorPool,
    comments: BTreeMap<Vec<i32>, String>,
}

/// One HTTP route of a method.
pub(crate) struct HttpRule {
    /// The verb in lower case.
    pub(crate) verb: &'static str,
    /// The template, its variables by proto name: `/tasks/{id}:cancel`.
    pub(crate) path: String,
    /// Whether the request is in the body.
    pub(crate) has_body: bool,
}

/// A text in place of [`FILE`].
struct Source(String);

impl FileResolver for Source {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        if name == FILE {
            File::from_source(name, &self.0)
        } else {
            Err(protox::Error::file_not_found(name))
        }
    }
}

impl Proto {
    /// Compiles the proto below `include`, comments included.
    pub(crate) fn compile(include: &Path) -> Result<Self> {
        Self::parse(workspace::read(&include.join(FILE))?, include)
    }

    /// Compiles a text, whose imports are below `include`.
    pub(crate) fn parse(source: String, include: &Path) -> Result<Self> {
        let mut resolver = ChainFileResolver::new();
        resolver.add(Source(source));
        resolver.add(IncludeFileResolver::new(include.to_owned()));
        resolver.add(GoogleFileResolver::new());
        let mut compiler = Compiler::with_file_resolver(resolver);
        compiler.include_imports(true).include_source_info(true).open_file(FILE)?;
        let pool = DescriptorPool::decode(compiler.encode_file_descriptor_set().as_slice())?;
        let file = pool.get_file_by_name(FILE).ok_or("the proto was not compiled")?;
        let locations = file.file_descriptor_proto().source_code_info.iter();
        let comments = locations
            .flat_map(|info| &info.location)
            .filter_map(|location| {
                let comment = location.leading_comments.as_deref()?;
                Some((location.path.clone(), text(comment)))
            })
            .collect();
        Ok(Self { pool, comments })
    }

    /// The file, with its source information.
    pub(crate) fn file(&self) -> Result<FileDescriptor> {
        self.pool.get_file_by_name(FILE).ok_or_else(|| "the proto was not compiled".into())
    }

    pub(crate) fn messages(&self) -> impl Iterator<Item = MessageDescriptor> {
        self.pool
            .all_messages()
            .filter(|message| message.package_name() == PACKAGE && !message.is_map_entry())
    }

    pub(crate) fn enums(&self) -> impl Iterator<Item = EnumDescriptor> {
        self.pool.all_enums().filter(|item| item.package_name() == PACKAGE)
    }

    pub(crate) fn service(&self) -> Result<ServiceDescriptor> {
        let mut services = self.pool.services();
        services
            .find(|service| service.package_name() == PACKAGE)
            .ok_or_else(|| "the proto has no service".into())
    }

    /// The comment of the item with the descriptor path `path`, or an empty string.
    pub(crate) fn comment(&self, path: &[i32]) -> &str {
        self.comments.get(path).map_or("", String::as_str)
    }

    /// Whether the field is annotated `google.api.field_behavior = REQUIRED`.
    pub(crate) fn is_required(&self, field: &FieldDescriptor) -> Result<bool> {
        const REQUIRED: i32 = 2;
        let behavior = self
            .pool
            .get_extension_by_name("google.api.field_behavior")
            .ok_or("google.api.field_behavior is not imported")?;
        let options = field.options();
        Ok(match &*options.get_extension(&behavior) {
            Value::List(values) => {
                values.iter().any(|value| value.as_enum_number() == Some(REQUIRED))
            }
            _ => false,
        })
    }

    /// The routes of a method, including its additional bindings.
    pub(crate) fn http_rules(&self, method: &MethodDescriptor) -> Result<Vec<HttpRule>> {
        let extension = self
            .pool
            .get_extension_by_name("google.api.http")
            .ok_or("google.api.http is not imported")?;
        let options = method.options();
        let value = options.get_extension(&extension);
        let rule = value.as_message().ok_or_else(|| format!("{} has no route", method.name()))?;
        let mut rules = vec![http_rule(rule)?];
        if let Some(more) = rule.get_field_by_name("additional_bindings")
            && let Value::List(more) = &*more
        {
            for binding in more {
                rules.push(http_rule(binding.as_message().ok_or("not a rule")?)?);
            }
        }
        Ok(rules)
    }
}

/// The unions of a message, without the synthetic ones of `optional` members.
pub(crate) fn unions(message: &MessageDescriptor) -> impl Iterator<Item = OneofDescriptor> {
    message.oneofs().filter(|oneof| !oneof.is_synthetic())
}

/// Whether the field is marked deprecated.
pub(crate) fn is_deprecated(field: &FieldDescriptor) -> bool {
    let options = field.options();
    options
        .get_field_by_name("deprecated")
        .is_some_and(|deprecated| deprecated.as_bool() == Some(true))
}

fn http_rule(rule: &DynamicMessage) -> Result<HttpRule> {
    let has_body = match rule.get_field_by_name("body").as_deref() {
        Some(Value::String(body)) if body.is_empty() => false,
        Some(Value::String(body)) if body == "*" => true,
        other => return Err(format!("unsupported body {other:?}").into()),
    };
    for verb in ["get", "put", "post", "delete", "patch"] {
        let field = rule.descriptor().get_field_by_name(verb).ok_or("not a rule")?;
        if rule.has_field(&field)
            && let Value::String(path) = &*rule.get_field(&field)
        {
            return Ok(HttpRule { verb, path: path.replace("=*}", "}"), has_body });
        }
    }
    Err("a rule without a verb".into())
}

/// A comment as running text: lines of one paragraph joined, members by their JSON names.
fn text(comment: &str) -> String {
    let lines: Vec<&str> = comment.lines().map(str::trim).collect();
    let paragraphs: Vec<String> = lines
        .split(|line| line.is_empty())
        .filter(|paragraph| !paragraph.is_empty())
        .map(|paragraph| json_names(&paragraph.join(" ")))
        .collect();
    paragraphs.join("\n\n")
}

/// Converts names in backticks to JSON names: `task_id` becomes `taskId`.
fn json_names(text: &str) -> String {
    let pieces = text.split('`').enumerate().map(|(index, piece)| {
        let is_member = index % 2 == 1
            && piece.contains('_')
            && piece.chars().all(|letter| letter == '_' || letter.is_ascii_lowercase());
        if is_member { camel_case(piece) } else { piece.to_owned() }
    });
    pieces.collect::<Vec<_>>().join("`")
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_becomes_paragraphs_with_json_names() {
        let comment = " Waits until it ends\n unless `return_immediately` is set.\n\n Never `TASK_STATE_X`.\n";
        assert_eq!(
            text(comment),
            "Waits until it ends unless `returnImmediately` is set.\n\nNever `TASK_STATE_X`."
        );
    }
}
