//! Shared by the older revisions: lenient deserializers, enum names, and the encoding of content
//! that only 1.0 supports.

pub(crate) mod error_data;
pub(crate) mod json;
pub(crate) mod member;
pub(crate) mod part;
pub(crate) mod push;
pub(crate) mod spelling;
