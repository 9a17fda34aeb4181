//! The scenario of 1.0.

use super::{access, cancel, conversation, errors, listing, push, sending, streaming};
use crate::{
    evidence::Evidence,
    recorder::{Learned, Recorder, Setting},
};

/// Runs the scenario of 1.0 on an interface. Also returns the id of a task that has ended.
pub(crate) async fn run(setting: Setting<'_>) -> (Evidence, Option<String>) {
    let webhook = setting.webhook;
    let mut recorder = Recorder::new(setting);
    let mut learned = Learned::default();
    sending::run(&mut recorder, &mut learned).await;
    listing::run(&mut recorder, &learned).await;
    conversation::run(&mut recorder, &learned).await;
    streaming::run(&mut recorder, &mut learned).await;
    cancel::run(&mut recorder, &learned).await;
    push::run(&mut recorder, &learned, webhook).await;
    errors::run(&mut recorder, &learned).await;
    access::run(&mut recorder, &learned).await;
    recorder.clean_up().await;
    (recorder.evidence, learned.ended.map(|(id, _)| id))
}
