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
    approvals: "guide/approvals.md",
    asking: "guide/asking.md",
    authentication: "guide/authentication.md",
    axum_application: "guide/axum-application.md",
    calling_agents: "guide/calling-agents.md",
    data: "guide/data.md",
    first_agent: "guide/first-agent.md",
    limits_and_cancelling: "guide/limits-and-cancelling.md",
    many_nodes: "guide/many-nodes.md",
    models: "guide/models.md",
    older_revisions: "guide/older-revisions.md",
    persistence: "guide/persistence.md",
    several_agents: "guide/several-agents.md",
    streaming: "guide/streaming.md",
    testing: "guide/testing.md",
    webhooks: "guide/webhooks.md",
    observability: "observability.md",
    revisions: "revisions.md",
    scripts: "scripts.md",
    test_your_agent: "test-your-agent.md",
    write_a_store: "write-a-store.md",
}
