//! Items of a paged operation.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use a2a_core::{Error, ErrorKind, Result};
use futures_core::Stream;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

/// The items of all pages, fetched page by page as they are read.
///
/// The stream ends after an `Err`.
///
/// ```no_run
/// # async fn example(client: a2a_kit_client::Client) -> a2a_core::Result<()> {
/// let mut tasks = client.list(Default::default());
/// while let Some(task) = tasks.next().await {
///     println!("{}", task?.id);
/// }
/// # Ok(())
/// # }
/// ```
pub struct Listing<T> {
    items: Pin<Box<dyn Stream<Item = Result<T>> + Send>>,
}

impl<T: Send + 'static> Listing<T> {
    /// Lists the items from the page of `token` on. `fetch` returns a page and the token of the
    /// next one, which is empty after the last page.
    pub(crate) fn new<F>(token: String, fetch: impl Fn(String) -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<(Vec<T>, String)>> + Send,
    {
        let cycle = CycleDetection::new(token.clone());
        let pages = Pages { items: Vec::new().into_iter(), token: Some(token), cycle };
        let items = stream::unfold((pages, fetch), |(mut pages, fetch)| async move {
            loop {
                if let Some(item) = pages.items.next() {
                    return Some((Ok(item), (pages, fetch)));
                }
                let token = pages.token.take()?;
                match fetch(token).await {
                    // Pages that refer to each other would be fetched forever.
                    Ok((_, next)) if !next.is_empty() && pages.cycle.is_closed_by(&next) => {
                        let error = Error::new(
                            ErrorKind::InvalidAgentResponse,
                            "page token refers to an earlier page",
                        );
                        return Some((Err(error), (pages, fetch)));
                    }
                    Ok((items, next)) => {
                        pages.items = items.into_iter();
                        pages.token = (!next.is_empty()).then_some(next);
                    }
                    Err(error) => return Some((Err(error), (pages, fetch))),
                }
            }
        });
        Self { items: Box::pin(items) }
    }

    /// Waits for the next item; `None` at the end.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: dropping the future loses no item.
    pub async fn next(&mut self) -> Option<Result<T>> {
        self.items.next().await
    }

    /// Fetches all pages, however many there are, and returns their items.
    ///
    /// # Errors
    ///
    /// The first error; the items before it are dropped.
    pub async fn try_collect(self) -> Result<Vec<T>> {
        self.items.try_collect().await
    }
}

struct Pages<T> {
    items: std::vec::IntoIter<T>,
    token: Option<String>,
    cycle: CycleDetection,
}

/// Detects tokens that repeat, by Brent's algorithm: each token is compared with an earlier one,
/// which is replaced after twice as many tokens each time.
struct CycleDetection {
    earlier: String,
    /// The tokens since the earlier one.
    distance: usize,
    /// The distance at which it is replaced.
    limit: usize,
}

impl CycleDetection {
    fn new(first: String) -> Self {
        Self { earlier: first, distance: 0, limit: 1 }
    }

    /// Returns whether the next token is the earlier one.
    fn is_closed_by(&mut self, next: &str) -> bool {
        if self.earlier == next {
            return true;
        }
        self.distance += 1;
        if self.distance == self.limit {
            next.clone_into(&mut self.earlier);
            self.distance = 0;
            self.limit *= 2;
        }
        false
    }
}

impl<T> Stream for Listing<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.items.poll_next_unpin(cx)
    }
}

impl<T> fmt::Debug for Listing<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listing").finish_non_exhaustive()
    }
}
