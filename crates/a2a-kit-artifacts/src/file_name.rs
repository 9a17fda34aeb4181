//! Safe and distinct file names.

use std::collections::HashMap;

use a2a_kit_lint::is_invisible;

/// Maximum length of a name, in bytes: file systems allow 255, and a number may be added.
const MAX_LENGTH: usize = 200;
/// Maximum length of an extension that is kept when a long name is cut, with its dot, in bytes.
const MAX_EXTENSION: usize = 20;
/// Device names on Windows, with any extension.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Returns the base name of a path as a name that is safe on every system, or `None` if nothing of
/// it is left.
///
/// Both kinds of slashes separate folders. Control characters, invisible ones, those that change the
/// direction of text, and those that are reserved on Windows are replaced by `_`. A name starts with a
/// letter or a digit: an agent must not be able to create a hidden file that configures another
/// program, or a name that a shell or a program takes for something else, such as `~` or `-rf`.
pub fn safe_file_name(path: &str) -> Option<String> {
    let base = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let base = base.trim_end_matches(['.', ' ']);
    let name: String = base.chars().map(|c| if is_unsafe(c) { '_' } else { c }).collect();
    let mut name = name.trim_start_matches(|c: char| !c.is_alphanumeric()).to_owned();
    if is_device(&name) {
        let stem = name.find('.').unwrap_or(name.len());
        name.insert(stem, '_');
    }
    (!name.is_empty()).then(|| cut(&name))
}

fn is_unsafe(c: char) -> bool {
    let is_separator = matches!(c, '\u{2028}' | '\u{2029}');
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(c, '\u{2066}'..='\u{2069}');
    c.is_control() || is_separator || turns || is_invisible(c) || "<>:\"|?*".contains(c)
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
    let is_numbered = |start: &str| {
        let number = stem.strip_prefix(start).map(|number| number.chars().collect::<Vec<_>>());
        matches!(number.as_deref(), Some(['0'..='9' | '¹' | '²' | '³']))
    };
    DEVICES.contains(&stem.as_str()) || is_numbered("com") || is_numbered("lpt")
}

/// Shortens a name, and keeps its extension.
fn cut(name: &str) -> String {
    if name.len() <= MAX_LENGTH {
        return name.to_owned();
    }
    let (stem, extension) = split(name);
    let extension = if extension.len() <= MAX_EXTENSION { extension } else { "" };
    let most = stem.len().min(MAX_LENGTH - extension.len());
    let end = (0..=most).rev().find(|end| stem.is_char_boundary(*end)).unwrap_or_default();
    format!("{}{extension}", &stem[..end])
}

/// Splits a name into stem and extension, which has the dot.
fn split(name: &str) -> (&str, &str) {
    name.rfind('.').filter(|dot| *dot > 0).map_or((name, ""), |dot| name.split_at(dot))
}

/// Makes the names of one task distinct, without regard to case, as some file systems ignore it.
#[derive(Debug, Default)]
pub(super) struct DistinctNames {
    /// By each name in lower case, the next number to try for it.
    taken: HashMap<String, u32>,
}

impl DistinctNames {
    /// Returns the name, or the first of `name-2.txt`, `name-3.txt` and so on that is not yet taken.
    pub(super) fn take(&mut self, name: String) -> String {
        let key = name.to_lowercase();
        let Some(mut number) = self.taken.get(&key).copied() else {
            self.taken.insert(key, 2);
            return name;
        };
        let (stem, extension) = split(&name);
        loop {
            let numbered = format!("{stem}-{number}{extension}");
            number = number.saturating_add(1);
            if self.taken.contains_key(&numbered.to_lowercase()) {
                continue;
            }
            self.taken.insert(key, number);
            self.taken.insert(numbered.to_lowercase(), 2);
            return numbered;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_safe_base_name_is_kept() {
        for (path, expected) in [
            ("report.pdf", Some("report.pdf")),
            ("../../etc/passwd", Some("passwd")),
            ("/etc/passwd", Some("passwd")),
            ("C:\\Windows\\system.ini", Some("system.ini")),
            ("C:evil.txt", Some("C_evil.txt")),
            ("a/b\\c.txt", Some("c.txt")),
            ("stream.txt:hidden", Some("stream.txt_hidden")),
            ("..", None),
            (".", None),
            ("...", None),
            ("", None),
            ("a/", None),
            ("a\\..", None),
            (" . ", None),
            ("\0", None),
            ("a\0b\nc\u{1b}[31m\u{7f}\u{9b}.txt", Some("a_b_c_[31m__.txt")),
            ("photo\u{202e}gpj.exe", Some("photo_gpj.exe")),
            (".env", Some("env")),
            ("..env", Some("env")),
            ("name. . ", Some("name")),
            ("con", Some("con_")),
            ("NUL.txt", Some("NUL_.txt")),
            ("com1.tar.gz", Some("com1_.tar.gz")),
            ("LPT³", Some("LPT³_")),
            ("Aux .log", Some("Aux _.log")),
            ("-rf", Some("rf")),
            ("--help.txt", Some("help.txt")),
            ("~", None),
            ("~root", Some("root")),
            ("$HOME", Some("HOME")),
            ("\u{200b}\u{3164}a", Some("a")),
            ("a\u{200b}b", Some("a_b")),
            ("\u{200b}", None),
            ("!x", Some("x")),
            ("7.txt", Some("7.txt")),
            ("com10", Some("com10")),
            ("console", Some("console")),
            ("Größe 1.csv", Some("Größe 1.csv")),
        ] {
            assert_eq!(safe_file_name(path).as_deref(), expected, "{path:?}");
        }
    }

    #[test]
    fn long_name_is_cut_and_keeps_its_extension() {
        let name = safe_file_name(&format!("{}.json", "ä".repeat(300))).unwrap();
        assert!(name.len() <= MAX_LENGTH && name.ends_with("ä.json"), "{name}");
        let name = safe_file_name(&format!("a.{}", "x".repeat(300))).unwrap();
        assert_eq!(name, "a");
        assert_eq!(safe_file_name(&"y".repeat(300)).unwrap().len(), MAX_LENGTH);
    }

    #[test]
    fn equal_names_are_numbered() {
        let mut names = DistinctNames::default();
        let mut take = |name: &str| names.take(name.to_owned());
        assert_eq!(take("a.txt"), "a.txt");
        assert_eq!(take("A.TXT"), "A-2.TXT");
        assert_eq!(take("a-2.txt"), "a-2-2.txt");
        assert_eq!(take("a.txt"), "a-3.txt");
        assert_eq!(take("b"), "b");
        assert_eq!(take("b"), "b-2");
    }
}
