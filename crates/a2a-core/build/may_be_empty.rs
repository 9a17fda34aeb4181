//! REQUIRED members that may be empty, for the generated rules and the schemas of `cargo xtask
//! schema`.

/// REQUIRED members that may be empty (ruling C-52: pages, skills, tags and modes; an empty string
/// or number in a response is a value).
pub(crate) const MAY_BE_EMPTY: [&str; 9] = [
    "lf.a2a.v1.AgentCard.default_input_modes",
    "lf.a2a.v1.AgentCard.default_output_modes",
    "lf.a2a.v1.AgentCard.description",
    "lf.a2a.v1.AgentCard.skills",
    "lf.a2a.v1.AgentSkill.description",
    "lf.a2a.v1.AgentSkill.tags",
    "lf.a2a.v1.ListTasksResponse.next_page_token",
    "lf.a2a.v1.ListTasksResponse.tasks",
    "lf.a2a.v1.ClientCredentialsOAuthFlow.scopes",
];
