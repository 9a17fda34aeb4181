//! The kinds of error and their codes in the three bindings.

/// The codes of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Codes {
    /// `error.code` of JSON-RPC.
    pub jsonrpc: i32,
    /// HTTP status of the JSON-RPC error: 200 except for transport errors.
    pub jsonrpc_http: u16,
    /// HTTP status of the HTTP+JSON binding.
    pub http: u16,
    /// gRPC status code.
    pub grpc: i32,
    /// Name of a `google.rpc.Code`, as `error.status` of HTTP+JSON.
    pub status: &'static str,
    /// `ErrorInfo.reason`.
    pub reason: &'static str,
}

/// Defines the kinds, each with its codes in the order of the members of [`Codes`].
macro_rules! kinds {
    ($(
        $(#[$doc:meta])+
        $kind:ident: $jsonrpc:expr, $jsonrpc_http:expr, $http:expr, $grpc:expr, $status:expr,
            $reason:expr;
    )*) => {
        /// The kind of an error, the same in every binding and revision.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[$doc])+ $kind,)*
        }

        impl ErrorKind {
            /// All kinds.
            pub const ALL: [Self; [$(stringify!($kind)),*].len()] = [$(Self::$kind),*];

            /// The codes of this kind (spec §5.4, column of 1.0.1).
            pub const fn codes(self) -> Codes {
                let (jsonrpc, jsonrpc_http, http, grpc, status, reason) = match self {
                    $(Self::$kind => ($jsonrpc, $jsonrpc_http, $http, $grpc, $status, $reason),)*
                };
                Codes { jsonrpc, jsonrpc_http, http, grpc, status, reason }
            }
        }
    };
}
kinds! {
    /// The task does not exist or belongs to another caller.
    TaskNotFound: -32001, 200, 404, 5, "NOT_FOUND", "TASK_NOT_FOUND";
    /// The task has ended and can't be canceled.
    TaskNotCancelable: -32002, 200, 400, 9, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE";
    /// The agent does not support webhooks.
    PushNotificationNotSupported: -32003, 200, 400, 9, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED";
    /// The agent or the state of the task does not allow the operation.
    UnsupportedOperation: -32004, 200, 400, 9, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION";
    /// A part has a media type that the agent does not support.
    ContentTypeNotSupported: -32005, 200, 400, 3, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED";
    /// An agent returned an invalid response.
    InvalidAgentResponse: -32006, 200, 500, 13, "INTERNAL", "INVALID_AGENT_RESPONSE";
    /// The card declares an extended card that is not configured.
    ExtendedAgentCardNotConfigured: -32007, 200, 400, 9, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED";
    /// The agent requires an extension that was not requested.
    ExtensionSupportRequired: -32008, 200, 400, 9, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED";
    /// The requested version is not supported.
    VersionNotSupported: -32009, 200, 400, 9, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED";
    /// The body is not valid JSON.
    ParseError: -32700, 200, 400, 3, "INVALID_ARGUMENT", "PARSE_ERROR";
    /// The body is not a request.
    InvalidRequest: -32600, 200, 400, 3, "INVALID_ARGUMENT", "INVALID_REQUEST";
    /// The method, route or procedure does not exist.
    MethodNotFound: -32601, 200, 404, 12, "NOT_FOUND", "METHOD_NOT_FOUND";
    /// Members of the request are invalid; see [`Error::violations`](super::Error::violations).
    InvalidParams: -32602, 200, 400, 3, "INVALID_ARGUMENT", "INVALID_PARAMS";
    /// The route does not support the HTTP method.
    MethodNotAllowed: -32600, 405, 405, 12, "UNIMPLEMENTED", "METHOD_NOT_ALLOWED";
    /// The binding does not support the media type of the HTTP body.
    UnsupportedMediaType: -32005, 415, 415, 3, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED";
    /// The body exceeds the size limit.
    PayloadTooLarge: -32600, 413, 413, 8, "INVALID_ARGUMENT", "PAYLOAD_TOO_LARGE";
    /// An internal error of the server. Only an error id is sent.
    Internal: -32603, 200, 500, 13, "INTERNAL", "INTERNAL";
    /// The caller is not authenticated.
    Unauthenticated: -31401, 401, 401, 16, "UNAUTHENTICATED", "UNAUTHENTICATED";
    /// The caller is not authorized.
    PermissionDenied: -31403, 403, 403, 7, "PERMISSION_DENIED", "PERMISSION_DENIED";
    /// A rate limit or quota is exceeded.
    ResourceExhausted: -32603, 429, 429, 8, "RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED";
    /// Transient: the server is draining or unreachable, or the stream was interrupted.
    Unavailable: -32603, 503, 503, 14, "UNAVAILABLE", "UNAVAILABLE";
    /// The caller's deadline is exceeded.
    DeadlineExceeded: -32603, 504, 504, 4, "DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED";
}

impl ErrorKind {
    /// Finds the kind of an `ErrorInfo.reason`.
    pub fn from_reason(reason: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.codes().reason == reason)
    }

    /// Finds the kind of a JSON-RPC error code and its HTTP status.
    pub fn from_jsonrpc(code: i32, http_status: u16) -> Self {
        let exact =
            |kind: &Self| kind.codes().jsonrpc == code && kind.codes().jsonrpc_http == http_status;
        let same_code = |kind: &Self| kind.codes().jsonrpc == code;
        let all = Self::ALL;
        all.into_iter().find(exact).or_else(|| all.into_iter().find(same_code)).unwrap_or_else(
            || if http_status == 200 { Self::Internal } else { Self::from_http(http_status) },
        )
    }

    /// Finds the kind of an HTTP status without other information (the columns of 1.0.0 and 1.0.1).
    pub fn from_http(status: u16) -> Self {
        match status {
            400 | 422 => Self::InvalidParams,
            401 => Self::Unauthenticated,
            403 => Self::PermissionDenied,
            404 => Self::MethodNotFound,
            405 => Self::MethodNotAllowed,
            408 | 504 => Self::DeadlineExceeded,
            409 => Self::TaskNotCancelable,
            413 => Self::PayloadTooLarge,
            415 => Self::UnsupportedMediaType,
            429 => Self::ResourceExhausted,
            502 | 503 => Self::Unavailable,
            501 => Self::MethodNotFound,
            _ => Self::Internal,
        }
    }

    /// Finds the kind of a gRPC status code without other information.
    pub fn from_grpc(code: i32) -> Self {
        match code {
            3 | 11 => Self::InvalidParams,
            4 => Self::DeadlineExceeded,
            5 => Self::TaskNotFound,
            7 => Self::PermissionDenied,
            8 => Self::ResourceExhausted,
            9 => Self::UnsupportedOperation,
            1 | 10 | 14 => Self::Unavailable,
            12 => Self::MethodNotFound,
            16 => Self::Unauthenticated,
            _ => Self::Internal,
        }
    }

    /// Keeps `transport`, the kind of the status, if a reason is shared: unreadable bodies and
    /// unsupported parts both have `CONTENT_TYPE_NOT_SUPPORTED`.
    pub(super) fn refined_by(self, transport: Self) -> Self {
        if self.codes().reason == transport.codes().reason { transport } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_has_each_kind_once() {
        let distinct: std::collections::HashSet<_> = ErrorKind::ALL.into_iter().collect();
        assert_eq!(distinct.len(), ErrorKind::ALL.len());
    }

    #[test]
    fn kinds_round_trip_by_reason_and_code() {
        for kind in ErrorKind::ALL {
            let codes = kind.codes();
            let by_reason = ErrorKind::from_reason(codes.reason).expect("every reason is known");
            assert_eq!(by_reason.codes().reason, codes.reason, "{kind:?}");
            let by_code = ErrorKind::from_jsonrpc(codes.jsonrpc, codes.jsonrpc_http);
            assert_eq!(by_code.codes().jsonrpc, codes.jsonrpc, "{kind:?}");
        }
    }

    //
    #[test]
    fn protocol_code_range_has_only_protocol_errors() {
        let of_protocol = -32009..=-32001;
        for kind in ErrorKind::ALL {
            let code = kind.codes().jsonrpc;
            let in_range = (-32099..=-32000).contains(&code);
            assert_eq!(in_range, of_protocol.contains(&code), "{kind:?}");
        }
    }

    //
    #[test]
    fn protocol_errors_have_the_codes_of_1_0_1() {
        for (kind, jsonrpc, grpc, http, reason) in [
            (ErrorKind::TaskNotFound, -32001, 5, 404, "TASK_NOT_FOUND"),
            (ErrorKind::TaskNotCancelable, -32002, 9, 400, "TASK_NOT_CANCELABLE"),
            (
                ErrorKind::PushNotificationNotSupported,
                -32003,
                9,
                400,
                "PUSH_NOTIFICATION_NOT_SUPPORTED",
            ),
            (ErrorKind::UnsupportedOperation, -32004, 9, 400, "UNSUPPORTED_OPERATION"),
            (ErrorKind::ContentTypeNotSupported, -32005, 3, 400, "CONTENT_TYPE_NOT_SUPPORTED"),
            (ErrorKind::InvalidAgentResponse, -32006, 13, 500, "INVALID_AGENT_RESPONSE"),
            (
                ErrorKind::ExtendedAgentCardNotConfigured,
                -32007,
                9,
                400,
                "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
            ),
            (ErrorKind::ExtensionSupportRequired, -32008, 9, 400, "EXTENSION_SUPPORT_REQUIRED"),
            (ErrorKind::VersionNotSupported, -32009, 9, 400, "VERSION_NOT_SUPPORTED"),
        ] {
            let codes = kind.codes();
            let found = (codes.jsonrpc, codes.grpc, codes.http, codes.reason, codes.jsonrpc_http);
            assert_eq!(found, (jsonrpc, grpc, http, reason, 200), "{kind:?}");
        }
    }
}
