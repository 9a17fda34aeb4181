//! Usage of owners between nodes.

use std::sync::Arc;

use a2a_core::TaskState;

use super::fixtures::{ann, orphan};
use crate::store::fixtures::{change, insert_held};
use a2a_kit_operations::Store;

/// Open tasks are counted by any node as soon as another one has inserted or ended them.
pub async fn open_tasks_include_the_writes_of_other_nodes(
    one: Arc<dyn Store>,
    two: Arc<dyn Store>,
) {
    let open = async |store: &Arc<dyn Store>| {
        store.usage("ann").await.expect("the store succeeds");
        store.open_tasks("ann").await.expect("the store succeeds")
    };
    assert_eq!((open(&one).await, open(&two).await), (0, 0));
    insert_held(&*one, &ann(), "t", b"work").await;
    insert_held(&*one, &ann(), "u", b"work").await;
    assert_eq!((open(&one).await, open(&two).await), (2, 2));
    orphan(&*two, "t").await;
    change(&*two, &ann(), "t", TaskState::Completed, 2).await;
    assert_eq!((open(&one).await, open(&two).await), (1, 1));
    let usage = one.usage("ann").await.expect("the store succeeds");
    assert_eq!(usage.open_tasks, 1, "the count replaces an older measurement");
}
