//! Lists of tasks.

use a2a_core::ErrorKind;
use serde_json::Value;

use super::definition::{Check, may, must, should};
use crate::{
    evidence::Evidence,
    exchange::{Exchange, state, text},
    expect,
    step::Step,
    timestamp,
    verdict::Verdict,
};

pub(super) const CHECKS: &[Check] = &[
    must("R-048", "3.1.4", "Pages neither repeat nor skip tasks").by(pages),
    must("R-049", "3.1.4", "Tasks are listed by status timestamp, newest first").by(order),
    must("R-050", "3.1.4", "`artifacts` are left out unless asked for").by(no_artifacts),
    should("R-051", "3.1.4", "`artifacts` are listed if asked for").by(artifacts),
    must("R-052", "3.1.4", "`nextPageToken` is always present").by(next_page_token),
    must("R-053", "3.1.4", "Pages have 1 to 100 tasks, 50 by default").by(page_size),
    must("R-054", "3.1.4", "Lists are filtered by context, status and time").by(filters),
    must("R-055", "3.1.4", "`totalSize` and `pageSize` are right").by(sizes),
    may("R-056", "3.1.4", "Lists have no history unless asked for").by(history),
    must("R-057", "4.4", "The time filter keeps tasks of that time").by(boundary),
];

const LISTS: [Step; 7] = [
    Step::List,
    Step::ListContext,
    Step::ListPage,
    Step::ListHistoryZero,
    Step::ListStatus,
    Step::ListOtherStatus,
    Step::ListSince,
];

fn tasks(exchange: &Exchange) -> Option<&Vec<Value>> {
    exchange.result()?.get("tasks")?.as_array()
}

fn ids(exchange: &Exchange) -> Vec<&str> {
    tasks(exchange).into_iter().flatten().map(|task| text(task, "id")).collect()
}

/// Every list that succeeded; if there is none, the reason is noted.
fn lists<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'_>) -> Vec<&'a Exchange> {
    let all: Vec<_> = LISTS
        .iter()
        .flat_map(|step| evidence.of_step(*step))
        .filter(|exchange| tasks(exchange).is_some())
        .collect();
    if all.is_empty() {
        let _reason_noted = verdict.result(evidence, Step::List);
    }
    all
}

fn pages(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some((all, _)) = verdict.result(evidence, Step::ListContext) else { return };
    let expected = ids(all);
    if expected.len() < 2 {
        return verdict.not_measured("the context has less than two tasks");
    }
    let pages: Vec<_> = evidence.of_step(Step::ListPage).collect();
    let mut found: Vec<&str> = Vec::new();
    for page in &pages {
        let Some(result) = page.result() else {
            verdict.wrong_answer(page, "a page");
            return;
        };
        for id in ids(page) {
            verdict
                .require(!found.contains(&id), page, || format!("the task {id:?} is on two pages"));
            found.push(id);
        }
        let is_last = text(result, "nextPageToken").is_empty();
        verdict.require(!is_last || found.len() >= expected.len(), page, || {
            format!("the pages end after {} of {} tasks", found.len(), expected.len())
        });
    }
    if let Some(last) = pages.last() {
        let mut missing = expected.iter().filter(|id| !found.contains(id));
        let first_missing = missing.next();
        verdict.require(first_missing.is_none(), last, || {
            format!("the task {:?} is on no page", first_missing.unwrap_or(&""))
        });
        let more = last.result().is_some_and(|page| !text(page, "nextPageToken").is_empty());
        verdict.require(!more, last, || {
            format!("the last of {} pages still has a `nextPageToken`", pages.len())
        });
    }
}

fn order(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for exchange in lists(evidence, verdict) {
        let times: Vec<_> = tasks(exchange)
            .into_iter()
            .flatten()
            .filter_map(|task| timestamp::parse(text(task.get("status")?, "timestamp")))
            .collect();
        if times.len() < 2 {
            verdict.not_measured("no list has two tasks with a timestamp");
            continue;
        }
        verdict.require(times.is_sorted_by(|newer, older| newer >= older), exchange, || {
            "the tasks are not sorted by status timestamp, newest first".to_owned()
        });
    }
}

fn no_artifacts(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for exchange in lists(evidence, verdict) {
        for task in tasks(exchange).into_iter().flatten() {
            verdict.require(task.get("artifacts").is_none(), exchange, || {
                "a task of a list has `artifacts`, which were not asked for".to_owned()
            });
        }
    }
}

fn artifacts(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some((exchange, _)) = verdict.result(evidence, Step::ListArtifacts) else { return };
    let sent = evidence.of_step(Step::SendInContext).filter_map(Exchange::task);
    for task in sent.filter(|task| task.get("artifacts").is_some_and(|list| list != &Value::Null)) {
        let listed = tasks(exchange)
            .into_iter()
            .flatten()
            .find(|listed| text(listed, "id") == text(task, "id"));
        let Some(listed) = listed else { continue };
        verdict.require(listed.get("artifacts").is_some(), exchange, || {
            "with `includeArtifacts`, a task with artifacts is listed without them".to_owned()
        });
    }
    verdict.not_measured("the tasks of the context have no artifacts");
}

fn next_page_token(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for exchange in lists(evidence, verdict) {
        let token = exchange.result().and_then(|result| result.get("nextPageToken"));
        verdict.require(token.is_some_and(Value::is_string), exchange, || {
            "the list lacks `nextPageToken`, which is \"\" on the last page".to_owned()
        });
    }
}

fn page_size(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for step in [Step::ListPageZero, Step::ListPageTooLarge] {
        let Some(exchange) = verdict.take(evidence, step) else { continue };
        if exchange.succeeded() {
            let asked = exchange.params.get("pageSize").cloned().unwrap_or_default();
            verdict.found(
                exchange,
                format!("`pageSize` {asked} was accepted, which is not between 1 and 100"),
            );
        } else {
            expect::error(verdict, exchange, &[ErrorKind::InvalidParams]);
        }
    }
    if let Some((exchange, result)) = verdict.result(evidence, Step::List) {
        let size = result.get("pageSize").and_then(Value::as_i64);
        // A server may report how many tasks the page has.
        let count = i64::try_from(ids(exchange).len()).unwrap_or(i64::MAX);
        verdict.require(size == Some(50) || size == Some(count) && count < 50, exchange, || {
            format!("without `pageSize`, the page size is {size:?} instead of 50")
        });
        verdict.require(count <= 50, exchange, || {
            format!("without `pageSize`, the page has {count} tasks instead of at most 50")
        });
    }
    for exchange in evidence.of_step(Step::ListPage) {
        let count = ids(exchange).len();
        verdict.require(count <= 1, exchange, || {
            format!("with `pageSize` 1, the page has {count} tasks")
        });
    }
}

fn filters(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for exchange in evidence.of_steps(&[Step::ListContext, Step::ListStatus, Step::ListPage]) {
        let asked = text(&exchange.params, "contextId");
        for task in tasks(exchange).into_iter().flatten() {
            let context = text(task, "contextId");
            verdict.require(context.is_empty() || context == asked, exchange, || {
                format!("the list of the context {asked:?} has a task of {context:?}")
            });
        }
    }
    if let Some((exchange, _)) = verdict.result(evidence, Step::ListContext) {
        let sent: Vec<_> = evidence
            .of_step(Step::SendInContext)
            .filter_map(Exchange::task)
            .filter(|task| text(task, "contextId") == text(&exchange.params, "contextId"))
            .map(|task| text(task, "id"))
            .collect();
        let listed = ids(exchange);
        let missing = sent.iter().find(|id| !listed.contains(id));
        verdict.require(missing.is_none(), exchange, || {
            format!("the list of the context lacks its task {:?}", missing.unwrap_or(&""))
        });
    }
    if let Some((exchange, _)) = verdict.result(evidence, Step::ListStatus) {
        let asked = text(&exchange.params, "status");
        verdict.require(!ids(exchange).is_empty(), exchange, || {
            format!("the list of tasks in {asked} is empty, although one was listed before")
        });
    }
    for exchange in evidence.of_steps(&[Step::ListStatus, Step::ListOtherStatus]) {
        let asked = text(&exchange.params, "status");
        for task in tasks(exchange).into_iter().flatten() {
            verdict.require(state(task) == asked, exchange, || {
                format!("the list of tasks in {asked} has one in {}", state(task))
            });
        }
    }
    if let Some((exchange, _)) = verdict.result(evidence, Step::ListFuture) {
        let count = ids(exchange).len();
        verdict.require(count == 0, exchange, || {
            format!("`statusTimestampAfter` in the year 2999 gave {count} tasks")
        });
    }
}

fn sizes(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some((all, _)) = verdict.result(evidence, Step::ListContext) else { return };
    let total = ids(all).len();
    for exchange in std::iter::once(all).chain(evidence.of_step(Step::ListPage)) {
        let Some(result) = exchange.result() else { continue };
        let size = result.get("totalSize").and_then(Value::as_u64);
        let expected = u64::try_from(total).ok();
        verdict.require(size == expected, exchange, || {
            format!("`totalSize` is {size:?}, and the context has {total} tasks")
        });
    }
    for exchange in evidence.of_step(Step::ListPage) {
        let Some(result) = exchange.result() else { continue };
        let size = result.get("pageSize").and_then(Value::as_u64);
        verdict.require(size == Some(1), exchange, || {
            format!("`pageSize` is {size:?}, although 1 was asked for")
        });
    }
}

fn history(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for exchange in evidence.of_steps(&[Step::List, Step::ListContext]) {
        for task in tasks(exchange).into_iter().flatten() {
            verdict.require(task.get("history").is_none(), exchange, || {
                "a task of a list has `history`, which was not asked for".to_owned()
            });
        }
    }
    let _reason_noted = verdict.result(evidence, Step::List);
}

fn boundary(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some((exchange, _)) = verdict.result(evidence, Step::ListSince) else { return };
    let since = text(&exchange.params, "statusTimestampAfter");
    let Some(bound) = timestamp::parse(since) else {
        return verdict.not_measured("the timestamp of the newest task is malformed");
    };
    let newest = evidence.get(Step::ListContext).ok().and_then(|all| ids(all).first().copied());
    if let Some(newest) = newest {
        verdict.require(ids(exchange).contains(&newest), exchange, || {
            format!("`statusTimestampAfter` {since} leaves out the task of that very time")
        });
    }
    for task in tasks(exchange).into_iter().flatten() {
        let time = task.get("status").map(|status| text(status, "timestamp")).unwrap_or_default();
        let is_later = timestamp::parse(time).is_none_or(|time| time >= bound);
        verdict.require(is_later, exchange, || {
            format!("`statusTimestampAfter` {since} gave a task of {time}")
        });
    }
}
