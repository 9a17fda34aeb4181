//! Secrets of webhooks are sealed where a key is given.

use std::{fs, path::Path};

use a2a_operations::{
    store::{PushOutcome, PushStore as _, StoreError, TaskStore as _},
    testing::store::scenery::{at, due, hooked, push, scope, webhook},
};
use a2a_store::{
    SecretKey, SecretKeys,
    sqlite::{SqliteOptions, SqliteStore},
};
use tempfile::TempDir;

fn key(byte: u8) -> SecretKey {
    SecretKey::from_bytes([byte; 32])
}

async fn open(path: &Path, keys: impl IntoIterator<Item = SecretKey>) -> SqliteStore {
    let options = SqliteOptions::default().with_keys(SecretKeys::new(keys));
    SqliteStore::open_with(path, options).await.unwrap()
}

/// Stores a task with a webhook, whose token is "secret".
async fn store_webhook(path: &Path, keys: impl IntoIterator<Item = SecretKey>) {
    let store = open(path, keys).await;
    store.insert(&scope("ann"), hooked("t", &["a"])).await.unwrap();
    push(&store, &scope("ann"), "t").await;
    store.close().await;
}

fn has(path: &Path, text: &str) -> bool {
    fs::read(path).unwrap().windows(text.len()).any(|bytes| bytes == text.as_bytes())
}

//
#[tokio::test]
async fn with_a_key_the_file_has_no_secret_in_it() {
    let folder = TempDir::new().unwrap();
    for (name, keys, is_plain) in [("sealed.db", Some(key(1)), false), ("plain.db", None, true)] {
        let path = folder.path().join(name);
        store_webhook(&path, keys.clone()).await;
        assert_eq!(has(&path, "secret"), is_plain, "{name}");
        let configs = open(&path, keys).await.configs(&scope("ann"), "t").await.unwrap();
        assert_eq!(configs, [webhook("t", "a")]);
    }
}

#[tokio::test]
async fn a_new_key_is_put_before_the_old_one() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a2a.db");
    store_webhook(&path, [key(1)]).await;
    let store = open(&path, [key(2), key(1)]).await;
    assert_eq!(due(&store, 10).await[0].webhook, webhook("t", "a"));
    store.put_config(&scope("ann"), webhook("t", "a")).await.unwrap();
    store.close().await;
    let store = open(&path, [key(2)]).await;
    assert_eq!(store.configs(&scope("ann"), "t").await.unwrap(), [webhook("t", "a")]);
}

#[tokio::test]
async fn a_webhook_whose_key_is_lost_is_an_error_and_stops_no_other() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a2a.db");
    store_webhook(&path, [key(1)]).await;
    let store = open(&path, [key(2)]).await;
    let ann = scope("ann");
    let configs = store.configs(&ann, "t").await;
    assert!(matches!(configs, Err(StoreError::Failed(_))), "{configs:?}");
    store.insert(&ann, hooked("other", &["b"])).await.unwrap();
    push(&store, &ann, "other").await;
    let due = due(&store, 10).await;
    let [push] = &due[..] else { panic!("{due:?}") };
    assert_eq!(&*push.key.config_id, "b");
    assert!(!store.pushed(&push.key, PushOutcome::Delivered(at(2))).await.unwrap());
    store.delete_config(&ann, "t", "a").await.unwrap();
    assert!(store.configs(&ann, "t").await.unwrap().is_empty());
}
