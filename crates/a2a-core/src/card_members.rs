//! The members of the messages of a card, as far as their JSON depends on them.

/// A member of a message.
#[derive(Debug)]
pub struct Member {
    /// The name in the proto.
    pub name: &'static str,
    /// The name in ProtoJSON.
    pub json_name: &'static str,
    /// Whether there are several values.
    pub shape: Shape,
    /// The type of a value.
    pub kind: MemberKind,
    /// Whether the default value is written: the member is REQUIRED, or unset is another value.
    pub keeps_default: bool,
}

/// Whether a member has several values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One value.
    Single,
    /// An array.
    List,
    /// An object with a value for each key.
    Map,
}

/// The type of a value of a member.
#[derive(Debug)]
pub enum MemberKind {
    /// An object with these members.
    Message(&'static &'static [Member]),
    /// A string.
    String,
    /// A boolean.
    Bool,
    /// Another value, or an object with any members.
    Opaque,
}

include!(concat!(env!("OUT_DIR"), "/card_members.rs"));
