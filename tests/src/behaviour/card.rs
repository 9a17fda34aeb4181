//! The card for authenticated callers.

use a2a_core::ErrorKind;
use a2a_kit_operations::Call;

use crate::{Options, Topology, agent::ExtendedCard};

//
pub async fn extended_card_is_returned_if_declared(topology: Topology) {
    for (extended_card, expected) in [
        (ExtendedCard::Present, Ok("An agent under test, with more to tell")),
        (ExtendedCard::PromisedOnly, Err(ErrorKind::ExtendedAgentCardNotConfigured)),
        (ExtendedCard::Absent, Err(ErrorKind::UnsupportedOperation)),
    ] {
        let fixture = topology.agent(Options { extended_card, ..Options::default() }).await;
        let card = fixture.agent.get_extended_agent_card(Call::default()).await;
        let description = card.as_ref().map(|reply| &*reply.response.description);
        assert_eq!(description.map_err(a2a_core::Error::kind), expected, "{extended_card:?}");
    }
}
