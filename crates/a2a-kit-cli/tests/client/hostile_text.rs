//! What an agent sends is escaped in everything that is printed on a terminal.
#![cfg(unix)]

use std::fs;

use crate::common::{Run, Server, command, http, terminal::Terminal};

/// Sequences and characters of every kind: OSC, CSI, BEL, DEL, CSI and OSC of C1, the controls of the
/// writing direction, and the separators of lines and paragraphs.
const HOSTILE: &str = "x\u{1b}]52;c;eA==\u{7}\u{1b}[2J\u{7f}\u{9b}2J\u{9d}52;c;eA==\u{9c}\u{61c}\u{200e}\
                       \u{200f}\u{202a}\u{202e}\u{2066}\u{2069}\u{2028}\u{2029}y";

/// The controls in what was written, but line breaks and the styles of the command itself.
fn controls(written: &str) -> String {
    let mut found = String::new();
    let mut rest = written;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\n' | '\r' | '\t' => {}
            '\u{1b}' => {
                let end = rest.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(rest.len() - 1);
                let sequence = &rest[..=end];
                let is_own = sequence.starts_with('[') && sequence.ends_with(['m', 'K', 'h', 'l']);
                match is_own {
                    true => rest = &rest[end + 1..],
                    false => found.push_str(&format!("ESC {sequence:?} ")),
                }
            }
            c if c.is_control() || HOSTILE.contains(c) && !c.is_ascii() => {
                found.push_str(&format!("U+{:04X} ", u32::from(c)));
            }
            _ => {}
        }
    }
    found
}

/// An agent whose card and answers are hostile.
fn agent(folder: &std::path::Path) -> Server {
    let text: String = HOSTILE.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    let json = text.replace('\\', "\\\\");
    let script = format!(
        r#"
[card]
name = "{text}"
description = "{text}"
provider = {{ organization = "{text}", url = "https://example.com" }}
skills = [{{ id = "s", name = "{text}", description = "{text}", tags = ["{text}"] }}]

[default]
steps = [
    {{ state = "working", text = "{text}" }},
    {{ artifact = {{ name = "{text}", parts = [
        {{ text = "{text}" }},
        {{ json = "{{\"{json}\": \"{json}\"}}" }},
        {{ url = "https://example.com/a", filename = "{text}" }},
    ] }} }},
    {{ state = "completed", text = "**{text}** [{text}](https://{text})" }},
]
"#
    );
    let path = folder.join("agent.toml");
    fs::write(&path, script).unwrap();
    Server::start(&["--script", path.to_str().unwrap()])
}

#[test]
fn text_of_an_agent_is_escaped_in_every_command_and_format() {
    let folder = tempfile::tempdir().unwrap();
    let server = agent(folder.path());
    let id = server.json(&["send", "hi"])["task"]["id"].as_str().unwrap().to_owned();
    let out = folder.path().join("out");
    let commands = [
        &["card", "get"][..],
        &["card", "lint"],
        &["send", "hi"],
        &["send", "hi", "--stream"],
        &["send", "hi", "--verbose", "--render"],
        &["send", "hi", "--debug"],
        &["task", "get", &id, "--verbose"],
        &["task", "get", HOSTILE],
        &["task", "list"],
        &["task", "subscribe", &id],
        &["task", "cancel", &id],
        &["task", "download", &id, "--out", out.to_str().unwrap()],
    ];
    for arguments in commands {
        for format in [&["-o", "text"][..], &["-o", "json"], &["-o", "json", "--compact"]] {
            let arguments = [arguments, format].concat();
            let ended = Terminal::start(server.client(&arguments)).end();
            assert_eq!(controls(&ended.bytes), "", "{arguments:?}: {:?}", ended.bytes);
        }
    }
    let json = Terminal::start(server.client(&["task", "get", &id, "-o", "json"])).end();
    assert!(json.bytes.contains("\\u007f\\u009b2J"), "{}", json.bytes);
    for format in ["text", "json", "junit", "sarif", "markdown", "yaml"] {
        let arguments = ["conformance", "--only", "R-30*", "--format", format];
        let ended = Terminal::start(server.client(&arguments)).end();
        assert_eq!(controls(&ended.bytes), "", "{arguments:?}: {:?}", ended.bytes);
    }
}

#[test]
fn text_of_an_agent_is_escaped_in_a_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let server = agent(folder.path());
    let chat = || {
        let mut chat = server.client(&["chat"]);
        chat.env("HOME", folder.path()).env("XDG_CONFIG_HOME", folder.path());
        chat
    };
    let piped = Run::with_stdin(&mut chat(), "hi\n/card\n/task\n/raw\nhi\n/card\n");
    assert_eq!(controls(&piped.stdout), "", "{piped:?}");
    let terminal = Terminal::start(chat());
    let wait_for = |shown: &str| {
        terminal.wait_until(shown, |screen| {
            let last = screen.trim_end().lines().last().unwrap_or_default();
            screen.contains(shown) && last.trim() == ">"
        })
    };
    wait_for("Ctrl-D leaves.");
    for (line, shown) in
        [("hi", "COMPLETED"), ("/raw", "as JSON"), ("again", "TASK_STATE_COMPLETED")]
    {
        terminal.line(line);
        wait_for(shown);
    }
    terminal.enter("\u{4}");
    let bytes = terminal.end().bytes;
    for raw in HOSTILE.chars().filter(|c| !c.is_ascii() || *c == '\u{7f}') {
        assert!(!bytes.contains(raw), "U+{:04X}: {bytes:?}", u32::from(raw));
    }
    for raw in ["\u{1b}]52", "\u{1b}[2J"] {
        assert!(!bytes.contains(raw), "{bytes:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_a_webhook_are_escaped() {
    for format in ["text", "json"] {
        let mut listen = command();
        listen.args(["listen", "--port", "0", "--count", "1", "-o", format]);
        let terminal = Terminal::start(listen);
        let screen = terminal.wait_for("push-config");
        let (_, url) = screen.split_once("http://").unwrap();
        let url = format!("http://{}", url.split_whitespace().next().unwrap());
        let message = serde_json::json!({
            "messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": HOSTILE}], "taskId": HOSTILE,
        });
        let event = serde_json::json!({"message": message}).to_string();
        assert_eq!(http("POST", &url, &[], &event).await.status(), 204);
        let ended = terminal.end();
        assert!(ended.bytes.contains("52;c;eA=="), "{}", ended.bytes);
        assert_eq!(controls(&ended.bytes), "", "{format}: {:?}", ended.bytes);
    }
}
