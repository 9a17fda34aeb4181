//! The chain of the example, over real sockets.

#[path = "../examples/auth_required.rs"]
#[allow(dead_code, reason = "a test runs what the example's main does")]
mod example;

//
#[tokio::test]
async fn a_request_for_an_authorization_goes_up_the_chain_and_the_work_goes_on_behind_it() {
    let said = example::run().await.unwrap();
    let asked = "assistant: [AuthRequired] The calendar asks: May I read today's events once?";
    let answered = "assistant: [Completed] Today: 10:00 stand-up, 15:00 dentist";
    assert_eq!(said.len(), 8, "{said:?}");
    for question in [&said[..4], &said[4..]] {
        assert!(question[1].starts_with(asked), "{said:?}");
        assert!(question[2].ends_with("(204 No Content)"), "{said:?}");
        assert_eq!(question[3], answered);
    }
}
