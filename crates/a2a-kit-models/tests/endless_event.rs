//! An event that has no end. The only test of its process, whose memory it reads.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]
#![cfg(target_os = "linux")]

mod fake;

use std::fs;

use a2a_core::Part;
use a2a_kit_models::{
    ChatModel as _, ProviderModel, ProviderSettings,
    model::{ChatRequest, ModelErrorKind, Turn},
};
use fake::{Fake, Step, head};
use futures_util::StreamExt as _;

/// The largest resident set of this process so far, in bytes.
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

#[tokio::test]
async fn event_without_an_end_is_cut_at_its_bound() {
    // Chunks of 64 KiB, 64 MiB in all, which are written as long as the client reads.
    let chunk = Step::Repeat(vec![b'x'; 64 << 10], 1 << 10);
    let mut before = None;
    for provider in ["openai-chat", "openai", "anthropic", "gemini"] {
        let start = Step::Chunk(b"data: ".to_vec());
        let fake = Fake::start([vec![head(), start, chunk.clone(), Step::End]]).await;
        let mut settings = ProviderSettings::default();
        settings.base_url = Some(fake.url.clone());
        let model = ProviderModel::new(&format!("{provider}/m"), settings).unwrap();
        let before = *before.get_or_insert_with(peak);
        let mut request = ChatRequest::default();
        request.turns = vec![Turn::User(vec![Part::text("a")])];
        let error = model.stream(request).next().await.unwrap().unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Cut, "{provider}");
        // The connection is closed before all of it is written.
        fake.wait(|requests| requests[0].closed.is_some()).await;
        let more = peak() - before;
        assert!(more < 8 << 20, "{provider}: {} KiB more", more >> 10);
    }
}
