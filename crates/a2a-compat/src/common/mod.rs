//! What the older revisions have in common: lenient readers of members, the spellings of enum
//! values, and what becomes of content that only 1.0 can say.

pub(crate) mod fault;
pub(crate) mod json;
pub(crate) mod member;
pub(crate) mod part;
pub(crate) mod push;
pub(crate) mod spelling;
