//! Accessors of the descriptor for the generators.

use std::error::Error;

use prost_reflect::{
    DescriptorPool, EnumDescriptor, FieldDescriptor, MessageDescriptor, OneofDescriptor,
    ServiceDescriptor, Value,
};

/// One proto package.
pub(crate) struct Package {
    pub(crate) messages: Vec<MessageDescriptor>,
    pub(crate) enums: Vec<EnumDescriptor>,
    pub(crate) service: ServiceDescriptor,
}

impl Package {
    pub(crate) fn new(pool: &DescriptorPool, name: &str) -> Result<Self, Box<dyn Error>> {
        let messages = pool
            .all_messages()
            .filter(|message| message.package_name() == name && !message.is_map_entry())
            .collect();
        let enums = pool.all_enums().filter(|item| item.package_name() == name).collect();
        let service = pool
            .services()
            .find(|service| service.package_name() == name)
            .ok_or("the package defines no service")?;
        Ok(Self { messages, enums, service })
    }
}

/// Returns whether the field is annotated `google.api.field_behavior = REQUIRED`.
pub(crate) fn is_required(field: &FieldDescriptor) -> bool {
    const REQUIRED: i32 = 2;
    let options = field.options();
    let Some(behavior) = field.parent_pool().get_extension_by_name("google.api.field_behavior")
    else {
        return false;
    };
    match &*options.get_extension(&behavior) {
        Value::List(values) => values.iter().any(|value| value.as_enum_number() == Some(REQUIRED)),
        _ => false,
    }
}

/// Returns whether the message only has a union.
pub(crate) fn is_union(message: &MessageDescriptor) -> bool {
    message.fields().len() > 0
        && message
            .fields()
            .all(|field| field.containing_oneof().is_some_and(|oneof| !oneof.is_synthetic()))
}

/// The name that prost generates for a message or an enum.
pub(crate) fn rust_type(name: &str) -> String {
    // prost splits words at the end of an upper-case run: `APIKey` becomes `ApiKey`.
    let letters: Vec<char> = name.chars().collect();
    let mut rust = String::new();
    for (index, letter) in letters.iter().enumerate() {
        let after_upper = index > 0 && letters[index - 1].is_uppercase();
        let before_lower = letters.get(index + 1).is_some_and(|next| next.is_lowercase());
        if letter.is_uppercase() && after_upper && !before_lower {
            rust.extend(letter.to_lowercase());
        } else {
            rust.push(*letter);
        }
    }
    rust
}

/// The path of a generated message.
pub(crate) fn message_type(message: &MessageDescriptor) -> String {
    type_in(message.parent_message(), &rust_type(message.name()))
}

/// The path of a generated enum.
pub(crate) fn enum_type(item: &EnumDescriptor) -> String {
    type_in(item.parent_message(), &rust_type(item.name()))
}

/// The path of a variant of the enum that is generated for a union.
pub(crate) fn variant_type(oneof: &OneofDescriptor, field: &FieldDescriptor) -> String {
    let item = type_in(Some(oneof.parent_message().clone()), &pascal(oneof.name()));
    format!("{item}::{}", pascal(field.name()))
}

/// The path of an item that is declared in a message: prost generates a module for each message.
fn type_in(parent: Option<MessageDescriptor>, name: &str) -> String {
    let mut path = name.to_owned();
    let mut next = parent;
    while let Some(message) = next {
        path = format!("{}::{path}", snake(&rust_type(message.name())));
        next = message.parent_message();
    }
    format!("crate::v1::{path}")
}

/// The name that prost generates for a field.
pub(crate) fn rust_field(name: &str) -> String {
    const KEYWORDS: &str = " as break const continue else enum false fn for if impl in let loop \
        match mod move mut pub ref return static struct trait true type unsafe use where while dyn \
        abstract become box do final macro override priv typeof unsized virtual yield async await \
        try gen ";
    let name = snake(name);
    if ["_", "super", "self", "extern", "crate"].contains(&&*name) {
        format!("{name}_")
    } else if KEYWORDS.contains(&format!(" {name} ")) {
        format!("r#{name}")
    } else {
        name
    }
}

fn pascal(name: &str) -> String {
    let upper_first = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        first.chain(letters.as_str().chars()).collect::<String>()
    };
    name.split('_').map(upper_first).collect()
}

fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() && !snake.ends_with('_') {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}
