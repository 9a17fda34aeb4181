//! Shared by the older revisions: their JSON formats, and lenient deserializers.

pub(crate) mod card;
pub(crate) mod error_data;
pub(crate) mod event;
pub(crate) mod extensions;
pub(crate) mod format;
pub(crate) mod json;
pub(crate) mod member;
pub(crate) mod name;
pub(crate) mod part;
pub(crate) mod parts;
pub(crate) mod push;
pub(crate) mod request;
pub(crate) mod security;
pub(crate) mod spelling;
pub(crate) mod task;
