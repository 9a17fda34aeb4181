//! Cards of every revision.

/// Any bytes that an agent may serve as its card.
pub(crate) fn read(input: &[u8]) {
    let Ok((card, _revision)) = a2a_compat::card::read_with_revision(input) else { return };
    let _violations = a2a_core::Validate::validate(&card);
    // A card that was read is written, for readers of all revisions, and read again.
    let hybrid = a2a_compat::card::write_hybrid(&card).to_string();
    let again = a2a_compat::card::read(hybrid.as_bytes());
    let Ok(again) = again else { panic!("{again:?} of what was written: {hybrid}") };
    let written_again = a2a_compat::card::write_hybrid(&again).to_string();
    assert_eq!(written_again, hybrid, "{card:?}");
}
