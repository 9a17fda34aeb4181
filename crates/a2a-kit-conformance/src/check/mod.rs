//! The checks, one file per area. Each is a pure function over the evidence of one interface.

mod access;
mod cancel;
mod catalog;
mod definition;
mod errors;
mod extension;
mod get;
mod interface;
mod json;
mod jsonrpc;
mod legacy;
mod list;
mod push;
mod rest;
mod send;
mod stream;
mod subscribe;
mod webhook;

#[cfg(test)]
mod tests;

pub(crate) mod card;
pub(crate) mod together;

pub(crate) use catalog::all;
pub(crate) use definition::{Check, Feature, Judge};
