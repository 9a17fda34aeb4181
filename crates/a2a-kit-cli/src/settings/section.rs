//! Declares settings: a struct for each section, and the description of each key.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The suffix of keys and variables that name a file with a secret, in place of the secret.
pub(super) const FILE_SUFFIX: &str = "_file";

/// The prefix of the variables of a server.
pub(super) const SERVE_PREFIX: &str = "A2ACLI_SERVE_";

/// The settings of a program: those of `a2a serve`, or of the commands that call an agent.
pub(crate) trait Declared: DeserializeOwned {
    /// What the settings are for, as the title of their JSON Schema.
    const TITLE: &'static str;
    /// How to see all settings, as the hint of a failure.
    const HINT: &'static str;

    /// The sections, in the order in which they are shown.
    fn sections() -> &'static [Section];

    /// All settings.
    fn settings() -> impl Iterator<Item = &'static Setting> {
        Self::sections().iter().flat_map(|section| &section.settings)
    }

    /// The setting at a path such as `listen.port`.
    fn setting(path: &str) -> Option<&'static Setting> {
        Self::settings().find(|setting| setting.path == path)
    }

    /// The message for a key that no section has.
    fn unknown(_key: &str) -> String {
        "unknown setting".to_owned()
    }
}

/// A setting: a key of a section, with its flag and variable.
pub(crate) struct Setting {
    /// The name of the setting: the section and the key, such as `listen.port`, or for commands that
    /// call an agent the name of the flag.
    pub(crate) path: &'static str,
    pub(crate) section: &'static str,
    pub(crate) key: &'static str,
    /// The flag, such as `--port`; `None` for tables that are in the file only, and for settings that
    /// are in the file and in variables only.
    pub(crate) flag: Option<&'static str>,
    /// The flag with its short form, its aliases and the name of its value: `-e --endpoint <URL>`, or
    /// `[REF]` for a value that may be left out.
    pub(super) usage: &'static str,
    /// Whether only the long help shows the flag.
    pub(super) is_advanced: bool,
    pub(crate) help: String,
    /// The JSON Schema of the value.
    pub(crate) schema: Value,
    /// The default, null for none.
    pub(crate) default: Value,
    pub(super) prefix: &'static str,
}

impl Setting {
    /// The variable, such as `A2ACLI_SERVE_LISTEN_PORT`.
    pub(crate) fn variable(&self) -> String {
        variable(self.prefix, self.path)
    }

    /// Returns whether this is a table that may be repeated, which is in the file only.
    pub(super) fn is_table(&self) -> bool {
        self.flag.is_none() && self.schema["items"]["type"] == "object"
    }

    /// What applies if there is neither a value nor a default, as the help says.
    pub(super) fn otherwise(&self) -> &str {
        let stated = self.help.split_once("[default: ").and_then(|(_, rest)| rest.split_once(']'));
        stated.map_or("none", |(stated, _)| stated)
    }
}

/// The variable of the setting at `path`.
pub(super) fn variable(prefix: &str, path: &str) -> String {
    format!("{prefix}{}", path.replace(['.', '-'], "_")).to_ascii_uppercase()
}

/// A section of settings: a table of the settings file, and a heading of the help.
pub(crate) struct Section {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) settings: Vec<Setting>,
}

impl Section {
    /// Names the settings by their flags alone: `agent-card` and `A2ACLI_AGENT_CARD`.
    pub(super) fn named_by_flags(mut self, prefix: &'static str) -> Self {
        for setting in &mut self.settings {
            let flag = setting.flag.unwrap_or(setting.usage);
            (setting.path, setting.prefix) = (flag.trim_start_matches("--"), prefix);
        }
        self
    }
}

/// The JSON Schema of a type, without references.
pub(super) fn schema_of<T: JsonSchema>() -> Value {
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
/// A key without a default is an [`Option`]. One without a flag has a variable, unless it is a table
/// that may be repeated; one whose flag is without dashes has a variable only, and the short help
/// leaves out an `advanced` one.
macro_rules! section {
    (
        #[doc = $title:literal]
        $(#[$attribute:meta])*
        $section:ident: $name:ident {$(
            $(#[doc = $help:literal])+
            $key:ident: $type:ty $(= $default:tt)? $(, $flag:literal $($advanced:ident)?)?;
        )+}
    ) => {
        #[doc = $title]
        $(#[$attribute])*
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {$(
            $(#[doc = $help])+
            pub(crate) $key: $crate::settings::section::value_type!($type $(, $default)?),
        )+}

        impl $name {
            /// Describes the section.
            pub(super) fn section() -> $crate::settings::section::Section {
                use $crate::settings::section::{SERVE_PREFIX, Section, Setting, schema_of};

                let settings = vec![$({
                    let usage: &'static str = [$($flag)?].first().copied().unwrap_or_default();
                    Setting {
                        path: concat!(stringify!($section), ".", stringify!($key)),
                        section: stringify!($section),
                        key: stringify!($key),
                        flag: usage.split(' ').find(|word| word.starts_with("--")),
                        usage,
                        is_advanced: !stringify!($($($advanced)?)?).is_empty(),
                        help: [$($help),+].map(str::trim).join("\n"),
                        schema: schema_of::<$type>(),
                        default: serde_json::json!([$($default)?]).get(0).cloned().unwrap_or_default(),
                        prefix: SERVE_PREFIX,
                    }
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
