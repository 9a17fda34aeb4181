//! The scenario of 1.0.

use std::{sync::atomic::AtomicUsize, time::Instant};

use super::{access, cancel, conversation, errors, listing, push, sending, streaming};
use crate::{
    evidence::{Evidence, Facts},
    prompts::Prompts,
    recorder::{Learned, Recorder},
    step::Step,
    webhook::Webhook,
    wire::Link,
};

/// What a scenario is given.
pub(crate) struct Setting<'a> {
    pub(crate) link: &'a Link,
    pub(crate) prompts: &'a Prompts,
    pub(crate) facts: Facts,
    pub(crate) deadline: Instant,
    /// How many bytes of responses may still be kept in this run.
    pub(crate) room: &'a AtomicUsize,
    /// A local receiver of notifications, if the agent can reach it.
    pub(crate) webhook: Option<&'a Webhook>,
    pub(crate) on_step: &'a (dyn Fn(Step) + Send + Sync),
}

/// Runs the scenario of 1.0 on an interface. Also returns the id of a task that has ended.
pub(crate) async fn run(setting: Setting<'_>) -> (Evidence, Option<String>) {
    let Setting { link, prompts, facts, deadline, room, webhook, on_step } = setting;
    let mut recorder = Recorder::new(link, prompts, facts, (deadline, room), on_step);
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
