//! The Rust blocks of the book as documentation tests: `cargo test --doc -p a2a-book`.
//!
//! `cargo xtask book --check` fails for a chapter with a Rust block that is not listed here.

#![cfg(doctest)]

macro_rules! chapters {
    ($($name:ident: $path:literal,)*) => {
        $(
            #[doc = include_str!(concat!("../../../docs/", $path))]
            mod $name {}
        )*
    };
}

chapters! {
    card_signatures: "card-signatures.md",
    client: "client.md",
    credentials: "credentials.md",
    errors: "errors.md",
    observability: "observability.md",
    revisions: "revisions.md",
}
