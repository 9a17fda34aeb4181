//! Encryption of webhook secrets.

use std::{fs, path::Path};

use a2a_kit_operations::store::{DeliveryOutcome, PushStore as _, StoreError, TaskStore as _};
use a2a_kit_store::{
    SecretKey, SecretKeys,
    sqlite::{SqliteOptions, SqliteStore},
};
use a2a_kit_store_testing::store::fixtures::{at, due, hooked, push, scope, webhook};
use tempfile::TempDir;

fn key(byte: u8) -> SecretKey {
    SecretKey::from_bytes([byte; 32])
}

async fn open(path: &Path, keys: impl IntoIterator<Item = SecretKey>) -> SqliteStore {
    let options = SqliteOptions::default().with_secret_keys(SecretKeys::new(keys));
    SqliteStore::open_with(path, options).await.unwrap()
}

/// Stores a task with a webhook with the token "secret".
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
async fn encrypted_file_contains_no_secret() {
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
async fn key_rotation_keeps_old_secrets_readable() {
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
async fn webhook_with_a_missing_key_does_not_block_others() {
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
    assert!(!store.record_delivery(&push.key, DeliveryOutcome::Delivered(at(2))).await.unwrap());
    store.delete_config(&ann, "t", "a").await.unwrap();
    assert!(store.configs(&ann, "t").await.unwrap().is_empty());
}
