//! The rules of `a2a card lint`.
//!
//! Each group of rules is a file with its [`Rule`]s and a function that adds [`Finding`]s for a
//! [`Subject`]. [`live`] contacts the agent; all others read the document only.

mod address;
mod caching;
mod capability;
mod finding;
mod grpc;
mod instruction;
mod interface;
mod invisible;
mod legacy;
mod link;
mod live;
mod member;
mod mend;
mod mode;
mod oauth;
mod pointer;
mod prose;
mod report;
mod rule;
mod sarif;
mod schema;
mod security;
mod signature;
mod skill;
mod source;
mod strings;
mod subject;
mod table;
#[cfg(test)]
mod tests;
mod version;

pub(crate) use caching::CardResponses;
pub(crate) use finding::{Finding, Findings};
pub(crate) use invisible::is_invisible;
pub(crate) use live::check as check_live;
pub(crate) use mend::{Mended, mend};
pub(crate) use report::{Format, Report};
pub(crate) use rule::Rule;
pub(crate) use schema::malformed;
pub(crate) use subject::{Place, Subject};
pub(crate) use table::{check, rules};
