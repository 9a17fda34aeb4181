//! Cards of every revision.

/// Arbitrary bytes as the card of an agent.
pub(crate) fn read(input: &[u8]) {
    let Ok((card, _revision)) = a2a_kit_compat::card::read_with_revision(input) else { return };
    let _violations = a2a_core::Validate::validate(&card);
    // A parsed card can be written for all revisions and parsed again.
    let hybrid = a2a_kit_compat::card::write_hybrid(&card).to_string();
    let again = a2a_kit_compat::card::read(hybrid.as_bytes());
    let Ok(again) = again else { panic!("{again:?} of what was written: {hybrid}") };
    let written_again = a2a_kit_compat::card::write_hybrid(&again).to_string();
    assert_eq!(written_again, hybrid, "{card:?}");
}
