//! The card for authenticated callers.

use a2a_core::ErrorKind;
use a2a_operations::Call;

use crate::{Options, Seat, agent::ExtendedCard};

//
pub async fn the_extended_card_is_there_when_it_is_promised(seat: Seat) {
    for (extended_card, expected) in [
        (ExtendedCard::Present, Ok("An agent under test, with more to tell")),
        (ExtendedCard::PromisedOnly, Err(ErrorKind::ExtendedAgentCardNotConfigured)),
        (ExtendedCard::Absent, Err(ErrorKind::UnsupportedOperation)),
    ] {
        let fixture = seat.agent(Options { extended_card, ..Options::default() }).await;
        let card = fixture.agent.get_extended_agent_card(Call::default()).await;
        let told = card.as_ref().map(|reply| &*reply.response.description);
        assert_eq!(told.map_err(a2a_core::Error::kind), expected, "{extended_card:?}");
    }
}
