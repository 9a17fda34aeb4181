//! Finds the agent for each request.

use std::{collections::HashMap, convert::Infallible, sync::Arc};

use a2a_core::{Error, ErrorKind, Result};
use a2a_kit_http::{
    Limits, body,
    card_page::{CardPage, ListedAgent},
    error_response::{self, is_grpc},
    parse::{PendingBody, parse},
    site_guard::SiteGuard,
};
use axum::{
    Router,
    body::Body,
    extract::Request,
    response::{IntoResponse as _, Response},
};
use http::{
    Method, Uri, header,
    request::Parts,
    uri::{Authority, PathAndQuery},
};
use tower::{Service, ServiceExt as _, service_fn};

use super::{
    Admission,
    place::Place,
    tenant::{below, of_grpc, of_jsonrpc},
};
use crate::ServeError;

/// The path of the service of 1.0, which has tenants.
const GRPC_SERVICE: &str = "/lf.a2a.v1.A2AService/";

/// How much of a body is read to find its agent, before any agent has authenticated the caller, in
/// bytes.
const MAX_UNAUTHENTICATED_BYTES: usize = 64 << 10;

/// How many agents an error names.
const MAX_NAMED: usize = 10;

/// An agent on a port.
pub(crate) struct Placed {
    pub(crate) router: Router,
    /// Who may send it long bodies.
    pub(crate) admission: Admission,
    /// Its entry in lists of agents; `None` without a page, and for a private card.
    pub(crate) listed: Option<ListedAgent>,
    /// Its guard against pages of other sites.
    pub(crate) guard: Option<SiteGuard>,
}

/// The agents of a port, by what selects them.
#[derive(Default)]
pub(super) struct Dispatch {
    hosts: HashMap<String, Router>,
    /// By path and tenant, the longest first.
    named: Vec<(String, Placed)>,
    root: Option<Placed>,
    /// Whether a tenant selects an agent in JSON-RPC requests at the root.
    reads_jsonrpc: bool,
    limits: Limits,
    /// What pages list, in the order of the application.
    listed: Vec<ListedAgent>,
    /// That of the first agent with a guard.
    guard: Option<SiteGuard>,
}

impl Dispatch {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// The agents that pages list.
    pub(super) fn listed(&self) -> &[ListedAgent] {
        &self.listed
    }

    /// The page at the root, behind the guard of the agents; `None` if an agent is there or none is
    /// listed.
    pub(super) fn page(&self) -> Option<Router> {
        if self.root.is_some() || self.listed.is_empty() {
            return None;
        }
        let page = CardPage::of_agents(&self.listed).into_router();
        Some(self.guard.as_ref().map_or(page.clone(), |guard| guard.layer(page)))
    }

    /// Adds an agent.
    ///
    /// # Errors
    ///
    /// [`ServeError::Mount`] if another agent has the place.
    pub(super) fn add(&mut self, place: Place, mut mounted: Placed) -> Result<(), ServeError> {
        self.reads_jsonrpc |= matches!(place, Place::Tenant(_));
        self.listed.extend(mounted.listed.clone());
        self.guard = self.guard.take().or(mounted.guard.take());
        let text = place.to_string();
        let is_taken = match place {
            Place::Port => self.root.replace(mounted).is_some(),
            Place::Host(host) => self.hosts.insert(host, mounted.router).is_some(),
            Place::Path(name) | Place::Tenant(name) => {
                let is_taken = self.named.iter().any(|(known, _)| *known == name);
                self.named.push((name, mounted));
                is_taken
            }
        };
        if is_taken {
            let problem = "another agent is there already";
            return Err(ServeError::Mount { place: text, problem });
        }
        self.named.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Ok(())
    }

    pub(super) fn into_service(
        self,
    ) -> impl Service<Request, Response = Response, Error = Infallible, Future: Send + 'static>
    + Clone
    + Send
    + Sync {
        let this = Arc::new(self);
        service_fn(move |request: Request| {
            let this = Arc::clone(&this);
            async move { Ok(this.serve(request).await) }
        })
    }

    async fn serve(&self, request: Request) -> Response {
        let (mut parts, body) = request.into_parts();
        match self.find(&mut parts, body).await {
            Ok((router, body)) => {
                let request = Request::from_parts(parts, body);
                router.clone().oneshot(request).await.into_response()
            }
            Err(error) => error_response::write(&parts, &error),
        }
    }

    /// Finds the agent, and removes its path from the request.
    async fn find(&self, parts: &mut Parts, body: Body) -> Result<(&Router, Body)> {
        if let Some(router) = host(parts).and_then(|host| self.hosts.get(&host)) {
            return Ok((router, body));
        }
        if is_grpc(&parts.headers) {
            return self.find_by_grpc(parts, body).await;
        }
        for (name, mounted) in &self.named {
            let path = parts.uri.path().strip_prefix('/').unwrap_or_default();
            if let Some(rest) = below(path, name) {
                parts.uri = with_path(&parts.uri, rest)?;
                return Ok((&mounted.router, body));
            }
        }
        let is_jsonrpc = parts.method == Method::POST && parts.uri.path() == "/";
        if self.reads_jsonrpc && is_jsonrpc {
            return self.find_by_tenant(parts, body, of_jsonrpc).await;
        }
        Ok((&self.root.as_ref().ok_or_else(|| self.unknown(parts))?.router, body))
    }

    /// Finds the agent by the tenant in a body; health and reflection are the same for all.
    async fn find_by_grpc(&self, parts: &Parts, body: Body) -> Result<(&Router, Body)> {
        let path = parts.uri.path();
        if let Some(method) = path.strip_prefix(GRPC_SERVICE).filter(|_| !self.named.is_empty()) {
            let method = method.to_owned();
            return self.find_by_tenant(parts, body, move |body| of_grpc(&method, body)).await;
        }
        let any = path.starts_with("/grpc.").then(|| self.named.first().map(|(_, one)| one));
        let mounted = self.root.as_ref().or(any.flatten());
        Ok((&mounted.ok_or_else(|| self.unknown(parts))?.router, body))
    }

    /// Finds the agent by the tenant at the start of a body. If it is not there, the rest is read for
    /// callers that an agent of the port admits.
    async fn find_by_tenant(
        &self,
        parts: &Parts,
        body: Body,
        find: impl Fn(&[u8]) -> Option<String> + Send + 'static,
    ) -> Result<(&Router, Body)> {
        let start = body::read_start(body, MAX_UNAUTHENTICATED_BYTES, &self.limits).await?;
        let tenant = find(start.bytes());
        if tenant.is_some() || start.is_whole() {
            let router = self.named_or_root(parts, &tenant.unwrap_or_default())?;
            return Ok((router, start.into_body()));
        }
        if !self.admit(parts).await? {
            // Any agent responds with a challenge.
            let first = self.root.as_ref().or(self.named.first().map(|(_, one)| one));
            return Ok((&first.ok_or_else(|| self.unknown(parts))?.router, start.into_body()));
        }
        let body = body::read(start.into_body(), &self.limits).await?;
        let body = PendingBody::hold(&parts.extensions, body);
        let copy = body.clone();
        let tenant = parse(body.len(), move || Ok(find(&copy))).await?;
        Ok((self.named_or_root(parts, &tenant.unwrap_or_default())?, body.into()))
    }

    /// Returns whether an agent admits a request; credentials that all of them reject are a failure
    /// for each.
    async fn admit(&self, parts: &Parts) -> Result<bool> {
        let all = || self.root.iter().chain(self.named.iter().map(|(_, one)| one));
        let mut failure = None;
        for mounted in all() {
            match mounted.admission.admits(parts).await {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(error) => drop(failure.get_or_insert(error)),
            }
        }
        let Some(error) = failure else { return Ok(false) };
        if error.kind() == ErrorKind::Unauthenticated {
            all().for_each(|mounted| mounted.admission.record_failure(parts));
        }
        Err(error)
    }

    fn named_or_root(&self, parts: &Parts, tenant: &str) -> Result<&Router> {
        let named = self.named.iter().find(|(name, _)| below(tenant, name).is_some());
        let mounted = named.map(|(_, mounted)| mounted).or(self.root.as_ref());
        Ok(&mounted.ok_or_else(|| self.unknown(parts))?.router)
    }

    /// The error for a request that no agent serves. It names the paths of agents, except to pages of
    /// other sites.
    fn unknown(&self, parts: &Parts) -> Error {
        let path = parts.uri.path();
        let mut text = format!("no agent serves {path} for this host and tenant");
        let is_shown = self.guard.as_ref().is_none_or(|guard| guard.check(parts).is_ok());
        let named = self.named.iter().filter(|(_, one)| is_shown && one.listed.is_some());
        let paths: Vec<_> = named.take(MAX_NAMED).map(|(name, _)| format!("/{name}")).collect();
        if !paths.is_empty() {
            text.push_str(&format!("; agents are at {}", paths.join(", ")));
        }
        Error::new(ErrorKind::MethodNotFound, text)
    }
}

/// The host that a request is for.
fn host(parts: &Parts) -> Option<String> {
    let of_header = || parts.headers.get(header::HOST)?.to_str().ok()?.parse::<Authority>().ok();
    let authority = parts.uri.authority().cloned().or_else(of_header)?;
    Some(authority.host().to_ascii_lowercase())
}

/// Replaces the path of a URI.
fn with_path(uri: &Uri, path: &str) -> Result<Uri> {
    let target = match uri.query() {
        Some(query) => format!("/{path}?{query}"),
        None => format!("/{path}"),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(target).map_err(Error::internal)?);
    Uri::from_parts(parts).map_err(Error::internal)
}
