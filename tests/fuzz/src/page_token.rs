//! Page tokens, which clients may modify.

use std::cell::RefCell;

use a2a_core::{ErrorKind, v1::ListTasksRequest};
use a2a_kit::{AgentCard, Engine, agent_fn};
use a2a_kit_operations::{Agent as _, Call};
use tokio::runtime::{Builder, Runtime};

thread_local! {
    static ENGINE: RefCell<(Runtime, Engine)> = RefCell::new({
        let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
        let engine = {
            let _inside = runtime.enter();
            let card = AgentCard::new("Echo", "Repeats its input");
            Engine::builder(card, agent_fn(async |text: String| text)).build()
        };
        (runtime, engine)
    });
}

/// A token, and in the first byte the size of the page.
pub(crate) fn list(input: &[u8]) {
    let [size, token @ ..] = input else { return };
    let Ok(token) = std::str::from_utf8(token) else { return };
    let request = ListTasksRequest {
        page_size: Some(i32::from(*size) - 20),
        page_token: token.to_owned(),
        ..ListTasksRequest::default()
    };
    ENGINE.with_borrow(|(runtime, engine)| {
        match runtime.block_on(engine.list_tasks(Call::new(request))) {
            Ok(page) => assert!(page.response.tasks.is_empty(), "there are no tasks"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::InvalidParams, "{error}"),
        }
    });
}
