//! The agent card at its well-known path (spec §8.2, §8.6).

use crate::fixtures;

fixtures! {
    //
    #[test]
    fn card_is_at_the_well_known_path: "card/get";

    //
    #[test]
    fn card_with_matching_etag_is_not_sent: "card/not-modified";

    #[test]
    fn allowed_origins_may_call: "card/cors";

    //
    #[test]
    fn card_lists_unsupported_capabilities: "card/without";
}
