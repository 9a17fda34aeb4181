//! cargo run -p a2a-kit --example custom_store
//!
//! A store of your own: tasks in a file, to which each write appends a line. Only pairs of keys and
//! values are left to write; `SingleNode` does the rest. Stop the agent, start it again, and its
//! tasks are still there.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{Read as _, Write as _},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use a2a_kit::operations::store::{KeyValue, SingleNode, StoreError};
use a2a_kit::{AgentCard, Engine, agent_fn};
use async_trait::async_trait;
use bytes::Bytes;

type Line = Vec<(String, Option<String>)>;

/// Pairs in a file. Each line has the changes of one write.
#[derive(Clone, Debug)]
pub(crate) struct LogFile(Arc<Mutex<(File, u64)>>);

impl LogFile {
    /// Opens the file, unless another process has it open.
    #[allow(clippy::incompatible_msrv, reason = "`try_lock` needs Rust 1.89, the crate does not")]
    pub(crate) fn open(path: &Path) -> std::io::Result<Self> {
        let file = File::options().read(true).append(true).create(true).open(path)?;
        file.try_lock()?;
        Ok(Self(Arc::new(Mutex::new((file, 0)))))
    }

    fn read(&self) -> std::io::Result<BTreeMap<String, Bytes>> {
        let (file, len) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut text, mut pairs) = (String::new(), BTreeMap::new());
        file.read_to_string(&mut text)?;
        // What follows the last line break is left from a write that was interrupted.
        *len = text.rfind('\n').map_or(0, |end| end as u64 + 1);
        for line in text.lines().take(text.matches('\n').count()) {
            for (key, value) in serde_json::from_str::<Line>(line)? {
                match value {
                    Some(value) => pairs.insert(key, value.into()),
                    None => pairs.remove(&key),
                };
            }
        }
        Ok(pairs)
    }

    fn append(&self, mut line: Vec<u8>) -> std::io::Result<()> {
        let (file, len) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        line.push(b'\n');
        file.set_len(*len)?;
        file.write_all(&line)?;
        file.sync_data()?;
        *len += line.len() as u64;
        Ok(())
    }
}

#[async_trait]
impl KeyValue for LogFile {
    async fn load(&self) -> Result<Vec<(String, Bytes)>, StoreError> {
        Ok(self.read().map_err(StoreError::failed)?.into_iter().collect())
    }

    async fn write(&self, changes: &[(String, Option<Bytes>)]) -> Result<(), StoreError> {
        let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
        let line: Line =
            changes.iter().map(|(key, value)| (key.clone(), value.as_ref().map(text))).collect();
        let line = serde_json::to_vec(&line).map_err(StoreError::failed)?;
        let file = self.clone();
        let written = tokio::task::spawn_blocking(move || file.append(line)).await;
        written.map_err(StoreError::failed)?.map_err(StoreError::failed)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = SingleNode::open(LogFile::open(Path::new("tasks.log"))?).await?;
    let card = AgentCard::new("Echo", "Repeats its input");
    let echo = agent_fn(async |text: String| format!("You said: {text}"));
    let engine = Engine::builder(card, echo).store(store).build();
    Ok(a2a_kit::serve(engine, "127.0.0.1:8080").await?)
}
