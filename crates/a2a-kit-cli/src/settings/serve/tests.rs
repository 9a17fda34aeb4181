//! The tables of `docs/settings.md` are made from the settings.

use std::{env, fs, path::Path};

use serde_json::Value;

use super::{Declared as _, Section, Serve};
use crate::settings::schema;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");

/// Only in a package that Cargo made, and such a package is without the page.
const PACKAGED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml.orig");

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test has to be noticed")]
fn the_tables_of_the_page_are_up_to_date() {
    if Path::new(PACKAGED).exists() {
        eprintln!("SKIPPED: docs/settings.md is not in the package");
        return;
    }
    let page = fs::read_to_string(PAGE).unwrap();
    let generated = Serve::sections().iter().fold(page.clone(), |page, section| {
        let start = format!("<!-- generated: {} -->\n", section.name);
        let (head, rest) = page.split_once(&start).unwrap_or_else(|| panic!("{start}"));
        let (_, tail) = rest.split_once("<!-- end -->").unwrap();
        format!("{head}{start}{}<!-- end -->{tail}", tables(section))
    });
    if env::var_os("BLESS").is_some() {
        fs::write(PAGE, &generated).unwrap();
    } else {
        assert!(page == generated, "run with BLESS=1 to update docs/settings.md");
    }
}

fn tables(section: &Section) -> String {
    let mut text = "| Key | Flag | Default | Description |\n|---|---|---|---|\n".to_owned();
    let mut rows = String::new();
    for setting in &section.settings {
        let (path, help) = (setting.path, cell(&setting.help));
        if setting.is_table() {
            text.push_str(&format!("| `[[{path}]]` | | | {help} |\n"));
            rows.push_str(&table_of_rows(path, &setting.schema["items"]));
            continue;
        }
        let flag = setting.flag.map_or_else(String::new, |flag| format!("`{flag}` "));
        let secret = [&setting.schema, &setting.schema["items"]].into_iter().any(schema::is_secret);
        let secret = if secret { " *secret*" } else { "" };
        let default = match &setting.default {
            Value::Null => String::new(),
            Value::Array(items) if items.is_empty() => String::new(),
            value => format!("`{value}` "),
        };
        text.push_str(&format!("| `{path}`{secret} | {flag}| {default}| {help} |\n"));
    }
    text + &rows
}

/// The keys of a table that may be repeated.
fn table_of_rows(path: &str, schema: &Value) -> String {
    let mut text = format!("\n`[[{path}]]`:\n\n| Key | | Description |\n|---|---|---|\n");
    for (key, value) in schema["properties"].as_object().unwrap() {
        let required = schema["required"].as_array().into_iter().flatten().any(|one| one == key);
        let required = if required { "required " } else { "" };
        let secret = if schema::is_secret(value) { " *secret*" } else { "" };
        let help = cell(value["description"].as_str().unwrap_or_default());
        text.push_str(&format!("| `{key}`{secret} | {required}| {help} |\n"));
    }
    text
}

/// Help text as a cell of a table.
fn cell(help: &str) -> String {
    help.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|").replace('*', "\\*")
}
