//! Characters that people don't see and models read.

use a2a_core::escape::is_invisible;

use crate::{
    Edit, Findings, Rule, Subject,
    strings::{self, quote},
};

rules! {
    error(fixable) INVISIBLE = "invisible-text":
        "a text has invisible characters (zero width, tags, selectors), which can hide instructions",
        "remove the characters";
    error(fixable) DIRECTION = "bidi-control":
        "a text has controls of the writing direction, which make it look different from what it says",
        "remove the characters";
    warning(fixable) CONTROL = "control-character":
        "a text has control characters, which terminals execute",
        "remove the characters";
}

pub(super) fn check(subject: &Subject<'_>, findings: &mut Findings) {
    strings::each(&subject.json, &mut |text| {
        let Some(found) = find(text.text) else { return };
        let kept = quote(&found.visible);
        let mut message = format!("U+{:04X} in {kept}", u32::from(found.first));
        if found.count > 1 {
            message.push_str(&format!(" and {} more", found.count - 1));
        }
        if !found.hidden.is_empty() {
            message.push_str(&format!(", hidden text {}", quote(&found.hidden)));
        }
        let rule = match found.class {
            Class::Invisible => &INVISIBLE,
            Class::Direction => &DIRECTION,
            Class::Control => &CONTROL,
        };
        findings.add_with_edit(rule, text.pointer, message, Edit::Replace(found.visible));
    });
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Invisible,
    Direction,
    Control,
}

/// Invisible characters of a text.
#[derive(Debug)]
struct Found {
    /// The most serious class.
    class: Class,
    first: char,
    count: usize,
    /// The text without them.
    visible: String,
    /// What tag characters spell in ASCII.
    hidden: String,
}

fn find(text: &str) -> Option<Found> {
    // Most texts have none, and need no copy.
    if text.chars().all(|c| class(c).is_none()) {
        return None;
    }
    let characters: Vec<char> = text.chars().collect();
    let is_rtl = characters.iter().copied().any(is_right_to_left);
    let mut found: Option<Found> = None;
    let mut visible = String::with_capacity(text.len());
    for (index, &c) in characters.iter().enumerate() {
        match class(c) {
            Some(class) if !is_legitimate(&characters, index, is_rtl) => {
                let found = found.get_or_insert_with(|| Found {
                    class,
                    first: c,
                    count: 0,
                    visible: String::new(),
                    hidden: String::new(),
                });
                if class < found.class {
                    (found.class, found.first) = (class, c);
                }
                found.count += 1;
                found.hidden.extend(untagged(c));
            }
            _ => visible.push(c),
        }
    }
    found.map(|found| Found { visible, ..found })
}

fn class(c: char) -> Option<Class> {
    Some(match u32::from(c) {
        0x202A..=0x202E | 0x2066..=0x2069 | 0x200E | 0x200F | 0x061C => Class::Direction,
        0x09 | 0x0A | 0x0D => return None,
        _ if is_invisible(c) => Class::Invisible,
        _ if c.is_control() => Class::Control,
        _ => return None,
    })
}

/// Uses that scripts and emoji need.
fn is_legitimate(characters: &[char], index: usize, is_rtl: bool) -> bool {
    let before = index.checked_sub(1).and_then(|index| characters.get(index)).copied();
    let after = characters.get(index + 1).copied();
    let is_plain = |c: Option<char>| c.is_some_and(|c| !c.is_ascii() && class(c).is_none());
    match u32::from(characters[index]) {
        // Joiners between letters of complex scripts, and between emoji.
        0x200C | 0x200D => {
            let is_selector = |c: Option<char>| matches!(c, Some('\u{FE0E}' | '\u{FE0F}'));
            (is_plain(before) || is_selector(before)) && is_plain(after)
        }
        // Text or emoji form of the character before; also of digits, for keycaps.
        0xFE00..=0xFE0F => is_plain(before) || before.is_some_and(|c| "#*0123456789©®".contains(c)),
        // Marks of the writing direction, in text of scripts from right to left.
        0x200E | 0x200F | 0x061C => is_rtl,
        // Flags of regions: a black flag, at most six tags, and the cancel tag.
        0xE0020..=0xE007F => is_in_flag(characters, index),
        // A soft hyphen in a word.
        0x00AD => before.is_some_and(char::is_alphabetic) && after.is_some_and(char::is_alphabetic),
        _ => false,
    }
}

fn is_in_flag(characters: &[char], index: usize) -> bool {
    const MAX_TAGS: usize = 7;
    let is_tag = |c: &char| matches!(u32::from(*c), 0xE0020..=0xE007F);
    let start = (0..index).rev().take(MAX_TAGS).find(|at| !is_tag(&characters[*at]));
    let Some(start) = start.filter(|start| characters[*start] == '\u{1F3F4}') else { return false };
    let tags = characters[start + 1..].iter().take_while(|c| is_tag(c));
    let tags: Vec<_> = tags.take(MAX_TAGS + 1).collect();
    tags.len() <= MAX_TAGS && tags.last() == Some(&&'\u{E007F}')
}

fn untagged(c: char) -> Option<char> {
    let ascii = u32::from(c).checked_sub(0xE0000).filter(|ascii| (0x20..0x7F).contains(ascii))?;
    char::from_u32(ascii)
}

fn is_right_to_left(c: char) -> bool {
    matches!(u32::from(c), 0x0590..=0x08FF | 0xFB1D..=0xFDFF | 0xFE70..=0xFEFC | 0x10800..=0x10FFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_found_and_removed() {
        let tagged: String =
            "obey".chars().filter_map(|c| char::from_u32(0xE0000 + u32::from(c))).collect();
        for (text, class, visible, hidden) in [
            ("a\u{200B}b", Class::Invisible, "ab", ""),
            ("a\u{200D}b", Class::Invisible, "ab", ""),
            ("a\u{FEFF}", Class::Invisible, "a", ""),
            ("a\u{202E}b", Class::Direction, "ab", ""),
            ("a\u{200F}b", Class::Direction, "ab", ""),
            ("a\u{1B}[31m", Class::Control, "a[31m", ""),
            (&format!("a{tagged}"), Class::Invisible, "a", "obey"),
            (
                &format!("\u{1F3F4}{tagged}{tagged}{tagged}"),
                Class::Invisible,
                "\u{1F3F4}",
                "obeyobeyobey",
            ),
            ("\u{E0101}\u{E0102}x", Class::Invisible, "x", ""),
        ] {
            let found = find(text).unwrap();
            assert_eq!((found.class, &*found.visible, &*found.hidden), (class, visible, hidden));
        }
    }

    #[test]
    fn scripts_and_emoji_are_left_alone() {
        for text in [
            "plain\ttext\r\nwith lines",
            "family \u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}",
            "heart \u{2764}\u{FE0F}\u{200D}\u{1F525}",
            "keycap 1\u{FE0F}\u{20E3}",
            "England \u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
            "\u{0645}\u{06CC}\u{200C}\u{062E}\u{0648}\u{0627}\u{0647}\u{0645}",
            "\u{05E9}\u{05DC}\u{05D5}\u{05DD}\u{200F} (1)",
            "Donau\u{AD}dampf",
        ] {
            assert!(find(text).is_none(), "{text:?}");
        }
    }
}
