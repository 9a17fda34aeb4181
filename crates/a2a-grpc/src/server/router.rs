//! The service as a router, to mount beside anything.

use std::sync::Arc;

use a2a_core::{DESCRIPTOR, Error, ErrorKind, SERVICE};
use a2a_http::{Limits, VersionPolicy};
use a2a_operations::Agent;
use axum::{Router, extract::Request, response::Response};
use futures_util::FutureExt as _;
use http::StatusCode;
use tonic::{body::Body, service::Routes};
use tonic_health::ServingStatus;
use tonic_reflection::server::{Builder, Error as ReflectionError};

use super::{guard::Guard, service::AgentService, watch_limit::WatchLimit};
use crate::{generated::a2_a_service_server::A2AServiceServer, metadata::is_grpc, status};

/// How the service behaves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// What is enforced before an operation is reached; a message may have as many bytes as a
    /// body.
    pub limits: Limits,
    /// What a call without `a2a-version` stands for. Default: revision 0.3, which is refused.
    pub versions: VersionPolicy,
    /// Largest message of an answer, in bytes; the call fails beyond it. Default: no limit but
    /// gRPC's own 4 GiB.
    pub max_answer_bytes: usize,
    /// Whether peers may ask for the descriptor (`grpc.reflection.v1` and `v1alpha`).
    /// Default: yes.
    pub reflection: bool,
    /// Whether the service answers `grpc.health.v1`. Default: yes.
    pub health: bool,
    /// Services that are mounted beside this one, by their names and encoded descriptors, for
    /// health and reflection. Default: none.
    pub services: Vec<(&'static str, &'static [u8])>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            versions: VersionPolicy::default(),
            max_answer_bytes: usize::MAX,
            reflection: true,
            health: true,
            services: Vec::new(),
        }
    }
}

impl Options {
    /// Sets what is enforced before an operation is reached.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets what a call without `a2a-version` stands for.
    #[must_use]
    pub fn with_versions(mut self, versions: VersionPolicy) -> Self {
        self.versions = versions;
        self
    }

    /// Sets the largest message of an answer, in bytes.
    #[must_use]
    pub fn with_max_answer_bytes(mut self, bytes: usize) -> Self {
        self.max_answer_bytes = bytes;
        self
    }

    /// Sets whether peers may ask for the descriptor.
    #[must_use]
    pub fn with_reflection(mut self, reflection: bool) -> Self {
        self.reflection = reflection;
        self
    }

    /// Adds a service that is mounted beside this one, such as `a2a.v1.A2AService`, with the
    /// encoded descriptor of its file.
    #[must_use]
    pub fn with_service(mut self, name: &'static str, descriptor: &'static [u8]) -> Self {
        self.services.push((name, descriptor));
        self
    }

    /// Sets whether the service answers health checks.
    #[must_use]
    pub fn with_health(mut self, health: bool) -> Self {
        self.health = health;
        self
    }
}

/// Serves `agent` over gRPC (spec §10), with health and reflection beside it.
///
/// The router has no fallback, so it merges with any other; give [`fallback`] to the whole, or
/// call it from yours.
pub fn router(agent: impl Agent) -> Router {
    router_with(agent, Options::default())
}

/// Serves `agent` over gRPC as [`router`] does, but with `options`.
pub fn router_with(agent: impl Agent, options: Options) -> Router {
    routes(Arc::new(agent), &options)
}

fn routes(agent: Arc<dyn Agent>, options: &Options) -> Router {
    let service = AgentService::new(
        agent,
        options.versions,
        options.max_answer_bytes,
        options.limits.max_json_values,
    );
    let service =
        A2AServiceServer::new(service).max_decoding_message_size(options.limits.max_body_bytes);
    let services = [(SERVICE, DESCRIPTOR)].into_iter().chain(options.services.iter().copied());
    with_operations(Routes::new(Guard(service)), options, services.collect())
}

/// Serves health and reflection of the services that `options` name, without the current one:
/// for those who mount services of older revisions alone.
pub fn operations_router(options: &Options) -> Router {
    with_operations(Routes::default(), options, options.services.clone())
}

/// Puts what operators ask for beside services.
fn with_operations(
    mut routes: Routes,
    options: &Options,
    services: Vec<(&'static str, &'static [u8])>,
) -> Router {
    if options.health {
        let (reporter, health) = tonic_health::server::health_reporter();
        for (name, _) in &services {
            // Nobody else holds the reporter's lock yet, so this never has to wait.
            let _ = reporter.set_service_status(name, ServingStatus::Serving).now_or_never();
        }
        routes = routes.add_service(WatchLimit::new(health, &options.limits));
    }
    if options.reflection {
        let descriptors: Vec<_> = services.into_iter().map(|(_, descriptor)| descriptor).collect();
        routes = match reflected(routes.clone(), options, &descriptors) {
            Ok(reflected) => reflected,
            Err(error) => {
                tracing::error!("the service is not reflected: {error}");
                routes
            }
        };
    }
    // tonic's fallback answers every unknown path, and routers that both have one don't merge.
    routes.into_axum_router().reset_fallback()
}

fn reflected(
    routes: Routes,
    options: &Options,
    descriptors: &[&'static [u8]],
) -> Result<Routes, ReflectionError> {
    let builder = || {
        let mut builder = Builder::configure();
        for descriptor in descriptors {
            builder = builder.register_encoded_file_descriptor_set(descriptor);
        }
        if options.health {
            builder.register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        } else {
            builder
        }
    };
    Ok(routes.add_service(builder().build_v1()?).add_service(builder().build_v1alpha()?))
}

/// Answers what no route answers: calls of gRPC with UNIMPLEMENTED, anything else with 404.
pub async fn fallback(request: Request) -> Response {
    let response = if is_grpc(request.headers()) {
        let message = format!("there is no method {}", request.uri().path());
        status::encode(Error::new(ErrorKind::MethodNotFound, message)).into_http::<Body>()
    } else {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_FOUND;
        response
    };
    response.map(axum::body::Body::new)
}
