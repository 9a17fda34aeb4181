//! Requests that succeed for other owners without access, and requests of the owner.

use a2a_core::{
    ProtocolVersion::{V0_1, V1_0},
    fresh_id,
};

use super::{
    Dialect, Probe, Target,
    fixtures::{self, CONFIG, OWNER, OwnedTask, by_owner, member},
    mask::masked,
    suite::{CHOSEN, Suite, UNKNOWN, UNKNOWN_CHOSEN},
    wire::Until,
};
use crate::webhook::Receiver;

impl Suite {
    /// Sends with ids of another owner that are not rejected: a context with the same id is
    /// separate, a reference is ignored, an idempotency key and a chosen task id are unused.
    pub(super) async fn sends(&mut self, fixtures: &[OwnedTask]) {
        let anns = &fixtures[0];
        for (number, dialect) in Dialect::ALL.into_iter().enumerate() {
            let (theirs, own) =
                (format!("ann's key {number:02}"), format!("bob's key {number:02}"));
            let first = Target {
                text: "input first".to_owned(),
                idempotency_key: theirs.clone(),
                ..Target::default()
            };
            let first = by_owner(&self.cluster, Dialect::JsonRpc(V1_0), Probe::Send, &first).await;
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
        // A context of ann contains no tasks of others.
        let target = Target { context: anns.context.clone(), ..Target::default() };
        let listed = by_owner(&self.cluster, Dialect::JsonRpc(V1_0), Probe::List, &target).await;
        assert!(listed.names(&anns.id) && listed.names("\"totalSize\":1"), "{listed:?}");
        // The chosen id still refers to ann's task.
        let target = Target { task: CHOSEN.to_owned(), ..Target::default() };
        let found = by_owner(&self.cluster, Dialect::JsonRpc(V0_1), Probe::Get, &target).await;
        assert!(found.names("input-required"), "{found:?}");
    }

    /// Sends as bob, once with an id of ann's and once with an unknown one.
    async fn send(
        &mut self,
        dialect: Dialect,
        probe: Probe,
        mut theirs: Target,
        mut never: Target,
        secret: &str,
    ) {
        if dialect.has_chosen_ids() && theirs.task.is_empty() {
            // Clients have to choose an id here.
            theirs.task = fresh_id();
            never.task = fresh_id();
        }
        let detail = format!("{probe:?}, {}, {theirs:?}", dialect.name());
        let requests = dialect.request(probe, &theirs).zip(dialect.request(probe, &never));
        let (theirs, never) = requests.expect("every revision has it");
        let answer = self.cluster.request(0, Some("bob"), &theirs, Until::End).await;
        let expected = self.cluster.request(0, Some("bob"), &never, Until::End).await;
        let leaks = !secret.is_empty() && answer.names(secret);
        // Streams and protobuf messages may vary in their encoding.
        let is_exact = probe == Probe::Send && !matches!(dialect, Dialect::Grpc(_));
        let masked = |answer, chosen| masked(answer).replace(chosen, "<id>");
        let differs = is_exact && masked(&answer, CHOSEN) != masked(&expected, UNKNOWN_CHOSEN);
        if leaks || differs || !dialect.is_success(&answer) {
            self.deviations.push(format!("{detail}: expected\n{expected:?}\nand got\n{answer:?}"));
        }
    }

    /// Page tokens of another owner only list the caller's tasks.
    pub(super) async fn pages(&mut self, fixtures: &[OwnedTask]) {
        let dialect = Dialect::JsonRpc(V1_0);
        let target = Target { page_size: Some(1), ..Target::default() };
        let page = by_owner(&self.cluster, dialect, Probe::List, &target).await;
        let token = member(&page.text(), "nextPageToken").expect("a token");
        assert!(!token.is_empty(), "ann has more than one task: {page:?}");
        for dialect in Dialect::ALL {
            let target = Target { page_token: token.clone(), ..Target::default() };
            let Some(request) = dialect.request(Probe::List, &target) else { continue };
            for caller in ["bob", "zoe"] {
                let answer = self.cluster.request(0, Some(caller), &request, Until::End).await;
                let leaks = fixtures.iter().any(|owned| answer.names(&owned.id));
                if leaks || !dialect.is_success(&answer) {
                    let detail = format!("page token, {}, {caller}: {answer:?}", dialect.name());
                    self.deviations.push(detail);
                } else {
                    self.table.add(Probe::List.operation(), dialect);
                }
            }
            let own = by_owner(&self.cluster, dialect, Probe::List, &target).await;
            assert!(fixtures.iter().any(|owned| own.names(&owned.id)), "{own:?}");
        }
    }

    /// Rejected webhooks get no events.
    pub(super) async fn webhooks(
        &mut self,
        fixtures: &[OwnedTask],
        anns: &mut Receiver,
        bobs: &mut Receiver,
    ) {
        let dialect = Dialect::JsonRpc(V1_0);
        for owned in fixtures.iter().filter(|owned| owned.what == "waiting task") {
            let target = Target {
                tenant: owned.tenant.to_owned(),
                task: owned.id.clone(),
                text: "more".to_owned(),
                ..Target::default()
            };
            let answer = by_owner(&self.cluster, dialect, Probe::Send, &target).await;
            assert!(answer.names("TASK_STATE_COMPLETED"), "{answer:?}");
            let delivery = anns.next().await.body.to_string();
            assert!(fixtures.iter().any(|owned| delivery.contains(&owned.id)), "{delivery}");
        }
        // Bob's webhook works, and gets no other event before its own.
        let target = Target { text: "input".to_owned(), ..Target::default() };
        let request = dialect.request(Probe::Send, &target).expect("1.0 has it");
        let answer = self.cluster.request(0, Some("bob"), &request, Until::End).await;
        let own = member(&answer.text(), "id").expect("a task");
        let target = Target {
            task: own.clone(),
            config: CONFIG.to_owned(),
            webhook: bobs.url.clone(),
            text: "more".to_owned(),
            ..Target::default()
        };
        for probe in [Probe::CreateConfig, Probe::Send] {
            let request = dialect.request(probe, &target).expect("1.0 has it");
            let answer = self.cluster.request(0, Some("bob"), &request, Until::End).await;
            assert!(dialect.is_success(&answer), "{answer:?}");
        }
        loop {
            let delivery = bobs.next().await.body.to_string();
            if !delivery.contains(&own) {
                self.deviations.push(format!("bob's webhook got {delivery}"));
            }
            if delivery.contains("TASK_STATE_COMPLETED") {
                break;
            }
        }
    }

    /// All requests succeed for the owner, so the rejections above have no other cause.
    pub(super) async fn owner(&mut self, webhook: &str) {
        let state = "TASK_STATE_INPUT_REQUIRED";
        for (index, dialect) in Dialect::ALL.into_iter().enumerate() {
            let mut ids = Vec::new();
            for number in 0..3 {
                ids.push(if dialect.has_chosen_ids() {
                    let id = format!("chosen-{index}-{number}");
                    fixtures::chosen(&self.cluster, &id, webhook).await.id
                } else {
                    fixtures::task(&self.cluster, "own", "", "input", state, webhook).await.id
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
                let Some(request) = dialect.request(probe, &target) else { continue };
                let until = if probe.streams() { Until::FirstFrame } else { Until::End };
                let answer = self.cluster.request(0, Some(OWNER), &request, until).await;
                let served = dialect.is_success(&answer) && !dialect.is_not_found(&answer);
                assert!(served, "{probe:?}, {}: {answer:?}", dialect.name());
            }
        }
    }
}
