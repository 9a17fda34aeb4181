//! Declares the settings of a server: a struct for each section, and the description of each key.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

/// The prefix of the variables of a server.
pub(crate) const PREFIX: &str = "A2ACLI_SERVE_";

/// A setting: a key of the settings file, with its flag and variable.
pub(crate) struct Setting {
    /// The section and the key, such as `listen.port`.
    pub(crate) path: &'static str,
    pub(crate) section: &'static str,
    pub(crate) key: &'static str,
    /// The flag, such as `--port`; `None` for tables that are in the file only.
    pub(crate) flag: Option<&'static str>,
    /// Whether only the long help shows the flag.
    pub(crate) is_advanced: bool,
    pub(crate) help: String,
    /// The JSON Schema of the value.
    pub(crate) schema: Value,
    /// The default, null for none.
    pub(crate) default: Value,
}

impl Setting {
    /// The variable, such as `A2ACLI_SERVE_LISTEN_PORT`.
    pub(crate) fn variable(&self) -> String {
        variable(self.path)
    }
}

/// The variable of the setting at `path`.
pub(crate) fn variable(path: &str) -> String {
    format!("{PREFIX}{}", path.replace('.', "_")).to_ascii_uppercase()
}

/// A table of the settings file.
pub(crate) struct Section {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) settings: Vec<Setting>,
}

/// The JSON Schema of a type, without references.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
    });
    let schema = settings.into_generator().subschema_for::<T>().to_value();
    let Some(variants) = schema["oneOf"].as_array() else { return schema };
    // Variants of an enum with their documentation.
    let names: Vec<_> = variants.iter().map(|variant| variant["const"].clone()).collect();
    serde_json::json!({ "type": "string", "enum": names })
}

/// Declares a section: its title, and for each key the help, the type, the default and the flag.
/// A key without a default is an [`Option`], one without a flag is in the file only, and the short
/// help leaves out an `advanced` one.
macro_rules! section {
    (
        #[doc = $title:literal]
        $section:ident: $name:ident {$(
            $(#[doc = $help:literal])+
            $key:ident: $type:ty $(= $default:tt)? $(, $flag:literal $($advanced:ident)?)?;
        )+}
    ) => {
        #[doc = $title]
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {$(
            $(#[doc = $help])+
            pub(crate) $key: $crate::settings::serve::section::value_type!($type $(, $default)?),
        )+}

        impl $name {
            /// Describes the section.
            pub(super) fn section() -> $crate::settings::serve::section::Section {
                use $crate::settings::serve::section::{Section, Setting, schema_of};

                let settings = vec![$(Setting {
                    path: concat!(stringify!($section), ".", stringify!($key)),
                    section: stringify!($section),
                    key: stringify!($key),
                    flag: [$($flag)?].first().copied(),
                    is_advanced: !stringify!($($($advanced)?)?).is_empty(),
                    help: [$($help),+].map(str::trim).join("\n"),
                    schema: schema_of::<$type>(),
                    default: serde_json::json!([$($default)?]).get(0).cloned().unwrap_or_default(),
                }),+];
                Section { name: stringify!($section), title: $title.trim(), settings }
            }
        }
    };
}

/// The type of a key: optional unless there is a default.
macro_rules! value_type {
    ($type:ty) => { Option<$type> };
    ($type:ty, $default:tt) => { $type };
}

pub(crate) use {section, value_type};
