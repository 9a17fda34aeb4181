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
    asking: "guide/asking.md",
    authentication: "guide/authentication.md",
    calling_agents: "guide/calling-agents.md",
    data: "guide/data.md",
    first_agent: "guide/first-agent.md",
    many_nodes: "guide/many-nodes.md",
    older_revisions: "guide/older-revisions.md",
    persistence: "guide/persistence.md",
    streaming: "guide/streaming.md",
    testing: "guide/testing.md",
    observability: "observability.md",
    revisions: "revisions.md",
    test_your_agent: "test-your-agent.md",
    write_a_store: "write-a-store.md",
}
