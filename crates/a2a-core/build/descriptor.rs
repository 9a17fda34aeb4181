//! Accessors of the descriptor for the generators.

use std::error::Error;

use prost_reflect::{
    DescriptorPool, EnumDescriptor, FieldDescriptor, MessageDescriptor, ServiceDescriptor, Value,
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
