//! What is no refusal to somebody else, and has to lead nowhere; and what is of use to its owner.

use a2a_core::{
    ProtocolVersion::{V0_1, V1_0},
    fresh_id,
};

use super::{
    Dialect, Probe, Target,
    mask::masked,
    suite::{CHOSEN, Suite, UNKNOWN, UNKNOWN_CHOSEN},
    things::{self, CONFIG, OWNER, Thing, by_owner, member},
    wire::Until,
};
use crate::webhook::Receiver;

impl Suite {
    /// Sends that name what is somebody else's, where that is no refusal: a conversation of the
    /// same name is another one, a reference leads nowhere, a key is free, a chosen id too.
    pub(super) async fn sends(&mut self, things: &[Thing]) {
        let anns = &things[0];
        for (number, dialect) in Dialect::ALL.into_iter().enumerate() {
            let (theirs, own) =
                (format!("ann's key {number:02}"), format!("bob's key {number:02}"));
            let first = Target {
                text: "input first".to_owned(),
                idempotency_key: theirs.clone(),
                ..Target::default()
            };
            let first = by_owner(&self.place, Dialect::JsonRpc(V1_0), Probe::Send, &first).await;
            let of_key = member(&first.text(), "id").expect("a task");
            let base = || Target { text: "input".to_owned(), ..Target::default() };
            let context = |id: &str| Target { context: id.to_owned(), ..base() };
            let reference = |id: &str| Target { reference: id.to_owned(), ..base() };
            let keyed = |key: String| Target { idempotency_key: key, ..base() };
            let chosen = |id: &str| Target { task: id.to_owned(), ..base() };
            let (known, none) = (&anns.context, UNKNOWN);
            self.send(dialect, Probe::Send, context(known), context(none), &anns.id).await;
            self.send(dialect, Probe::Stream, context(known), context(none), &anns.id).await;
            self.send(dialect, Probe::Send, reference(&anns.id), reference(none), "").await;
            self.send(dialect, Probe::Send, keyed(theirs), keyed(own), &of_key).await;
            if dialect.has_chosen_ids() {
                let none = UNKNOWN_CHOSEN;
                self.send(dialect, Probe::Send, chosen(CHOSEN), chosen(none), &anns.id).await;
            }
        }
        // A conversation of ann's has nobody else in it.
        let target = Target { context: anns.context.clone(), ..Target::default() };
        let listed = by_owner(&self.place, Dialect::JsonRpc(V1_0), Probe::List, &target).await;
        assert!(listed.names(&anns.id) && listed.names("\"totalSize\":1"), "{listed:?}");
        // The chosen id still leads ann to her task.
        let target = Target { task: CHOSEN.to_owned(), ..Target::default() };
        let found = by_owner(&self.place, Dialect::JsonRpc(V0_1), Probe::Get, &target).await;
        assert!(found.names("input-required"), "{found:?}");
    }

    /// Sends in bob's name what names something of ann's, and what names nothing.
    async fn send(
        &mut self,
        dialect: Dialect,
        probe: Probe,
        mut theirs: Target,
        mut never: Target,
        secret: &str,
    ) {
        if dialect.has_chosen_ids() && theirs.task.is_empty() {
            // There a client has to choose.
            theirs.task = fresh_id();
            never.task = fresh_id();
        }
        let told = format!("{probe:?}, {}, {theirs:?}", dialect.name());
        let asks = dialect.ask(probe, &theirs).zip(dialect.ask(probe, &never));
        let (theirs, never) = asks.expect("every revision sends");
        let answer = self.place.ask(0, Some("bob"), &theirs, Until::End).await;
        let expected = self.place.ask(0, Some("bob"), &never, Until::End).await;
        let leaks = !secret.is_empty() && answer.names(secret);
        // What a stream or a message of protobuf has in it may differ in its form.
        let is_exact = probe == Probe::Send && !matches!(dialect, Dialect::Grpc(_));
        let masked = |answer, chosen| masked(answer).replace(chosen, "<id>");
        let differs = is_exact && masked(&answer, CHOSEN) != masked(&expected, UNKNOWN_CHOSEN);
        if leaks || differs || !dialect.is_success(&answer) {
            self.deviations.push(format!("{told}: expected\n{expected:?}\nand got\n{answer:?}"));
        }
    }

    /// The token of a page leads to nobody's tasks but one's own.
    pub(super) async fn pages(&mut self, things: &[Thing]) {
        let dialect = Dialect::JsonRpc(V1_0);
        let target = Target { page_size: Some(1), ..Target::default() };
        let page = by_owner(&self.place, dialect, Probe::List, &target).await;
        let token = member(&page.text(), "nextPageToken").expect("a token");
        assert!(!token.is_empty(), "ann has more than one task: {page:?}");
        for dialect in Dialect::ALL {
            let target = Target { page_token: token.clone(), ..Target::default() };
            let Some(ask) = dialect.ask(Probe::List, &target) else { continue };
            for caller in ["bob", "zoe"] {
                let answer = self.place.ask(0, Some(caller), &ask, Until::End).await;
                let leaks = things.iter().any(|thing| answer.names(&thing.id));
                if leaks || !dialect.is_success(&answer) {
                    let told = format!("page token, {}, {caller}: {answer:?}", dialect.name());
                    self.deviations.push(told);
                } else {
                    self.table.add(Probe::List.operation(), dialect);
                }
            }
            let own = by_owner(&self.place, dialect, Probe::List, &target).await;
            assert!(things.iter().any(|thing| own.names(&thing.id)), "{own:?}");
        }
    }

    /// Whoever was refused a webhook gets no event.
    pub(super) async fn webhooks(
        &mut self,
        things: &[Thing],
        anns: &mut Receiver,
        bobs: &mut Receiver,
    ) {
        let dialect = Dialect::JsonRpc(V1_0);
        for thing in things.iter().filter(|thing| thing.what == "one that waits") {
            let target = Target {
                tenant: thing.tenant.to_owned(),
                task: thing.id.clone(),
                text: "more".to_owned(),
                ..Target::default()
            };
            let answer = by_owner(&self.place, dialect, Probe::Send, &target).await;
            assert!(answer.names("TASK_STATE_COMPLETED"), "{answer:?}");
            let delivery = anns.next().await.body.to_string();
            assert!(things.iter().any(|thing| delivery.contains(&thing.id)), "{delivery}");
        }
        // Bob's own webhook works, and nothing else comes before its event.
        let target = Target { text: "input".to_owned(), ..Target::default() };
        let ask = dialect.ask(Probe::Send, &target).expect("1.0 has it");
        let answer = self.place.ask(0, Some("bob"), &ask, Until::End).await;
        let own = member(&answer.text(), "id").expect("a task");
        let target = Target {
            task: own.clone(),
            config: CONFIG.to_owned(),
            webhook: bobs.url.clone(),
            text: "more".to_owned(),
            ..Target::default()
        };
        for probe in [Probe::CreateConfig, Probe::Send] {
            let ask = dialect.ask(probe, &target).expect("1.0 has it");
            let answer = self.place.ask(0, Some("bob"), &ask, Until::End).await;
            assert!(dialect.is_success(&answer), "{answer:?}");
        }
        loop {
            let delivery = bobs.next().await.body.to_string();
            if !delivery.contains(&own) {
                self.deviations.push(format!("bob's webhook was told {delivery}"));
            }
            if delivery.contains("TASK_STATE_COMPLETED") {
                break;
            }
        }
    }

    /// To its owner every request is of use: what was refused above was not refused for its form.
    pub(super) async fn owner(&mut self, webhook: &str) {
        let state = "TASK_STATE_INPUT_REQUIRED";
        for (index, dialect) in Dialect::ALL.into_iter().enumerate() {
            let mut ids = Vec::new();
            for number in 0..3 {
                ids.push(if dialect.has_chosen_ids() {
                    let id = format!("chosen-{index}-{number}");
                    things::chosen(&self.place, &id, webhook).await.id
                } else {
                    things::task(&self.place, "own", "", "input", state, webhook).await.id
                });
            }
            for (probe, id) in [
                (Probe::Get, &ids[0]),
                (Probe::List, &ids[0]),
                (Probe::GetConfig, &ids[0]),
                (Probe::ListConfigs, &ids[0]),
                (Probe::CreateConfig, &ids[0]),
                (Probe::DeleteConfig, &ids[0]),
                (Probe::Subscribe, &ids[0]),
                (Probe::Resume, &ids[0]),
                (Probe::Send, &ids[0]),
                (Probe::Stream, &ids[1]),
                (Probe::Cancel, &ids[2]),
            ] {
                let target = Target {
                    task: id.clone(),
                    config: CONFIG.to_owned(),
                    webhook: webhook.to_owned(),
                    text: "more".to_owned(),
                    ..Target::default()
                };
                let Some(ask) = dialect.ask(probe, &target) else { continue };
                let until = if probe.streams() { Until::FirstFrame } else { Until::End };
                let answer = self.place.ask(0, Some(OWNER), &ask, until).await;
                let served = dialect.is_success(&answer) && !dialect.is_not_found(&answer);
                assert!(served, "{probe:?}, {}: {answer:?}", dialect.name());
            }
        }
    }
}
