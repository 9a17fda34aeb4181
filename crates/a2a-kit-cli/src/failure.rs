//! Failures of commands: codes, hints and exit status.
//!
//! Whatever is wrong with a flag, a variable or a file is a usage failure that names it.

use std::{fmt, time::Duration};

pub(crate) use a2a_core::error_chain as chain;
use a2a_core::{Error, ErrorKind};
use a2a_kit_client::credentials::CredentialError;
use a2a_kit_http::client::TransportError;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::connection_hint::connection_hint;

/// Why a command failed. With `-o json`, it is the member `error` of what replaces the result.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Failure {
    pub(crate) code: Code,
    message: String,
    hint: Option<String>,
    pub(crate) a2a_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
    /// Whether the agent can't have received the request.
    #[serde(skip)]
    pub(crate) is_unsent: bool,
}

/// The stable codes of failures: those of the protocol, and those of this tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// The agent responded with the error, or its card implies it.
    Protocol(ErrorKind),
    Usage,
    CardNotFound,
    CardInvalid,
    Unreachable,
    CredentialsMissing,
    AuthFailed,
    Timeout,
    Internal,
    Interrupted,
    /// Another program listens at the address.
    AddressInUse,
    /// The check ran and its result, which is printed, is negative.
    Reported,
    /// A signal ended the command, and what it has so far is printed.
    ReportedInterrupted,
    /// The reader of stdout closed it. Nothing is printed, and the exit status is 0.
    OutputClosed,
}

impl Code {
    /// The name in the error envelope.
    pub(crate) const fn name(self) -> &'static str {
        self.name_and_exit().0
    }

    /// The exit status of the process.
    pub(crate) const fn exit(self) -> u8 {
        self.name_and_exit().1
    }

    const fn name_and_exit(self) -> (&'static str, u8) {
        match self {
            Self::Protocol(kind) => (protocol_name(kind), 1),
            Self::Usage => ("A2ACLI_ERR_USAGE", 2),
            Self::CardNotFound => ("A2ACLI_ERR_CARD_NOT_FOUND", 3),
            Self::CardInvalid => ("A2ACLI_ERR_CARD_INVALID", 1),
            Self::Unreachable => ("A2ACLI_ERR_UNREACHABLE", 3),
            Self::CredentialsMissing => ("A2ACLI_ERR_CREDENTIALS_MISSING", 4),
            Self::AuthFailed => ("A2ACLI_ERR_AUTH_FAILED", 4),
            Self::Timeout => ("A2ACLI_ERR_TIMEOUT", 5),
            Self::Internal => ("A2ACLI_ERR_INTERNAL", 1),
            Self::Interrupted => ("A2AX_ERR_INTERRUPTED", 130),
            Self::AddressInUse => ("A2AX_ERR_ADDRESS_IN_USE", 1),
            Self::Reported => ("", 1),
            Self::ReportedInterrupted => ("", 130),
            Self::OutputClosed => ("", 0),
        }
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The protocol's name for a kind of error. Transport errors have the name of their JSON-RPC code.
const fn protocol_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::TaskNotFound => "TaskNotFoundError",
        ErrorKind::TaskNotCancelable => "TaskNotCancelableError",
        ErrorKind::PushNotificationNotSupported => "PushNotificationNotSupportedError",
        ErrorKind::UnsupportedOperation => "UnsupportedOperationError",
        ErrorKind::ContentTypeNotSupported | ErrorKind::UnsupportedMediaType => {
            "ContentTypeNotSupportedError"
        }
        ErrorKind::InvalidAgentResponse => "InvalidAgentResponseError",
        ErrorKind::ExtendedAgentCardNotConfigured => "ExtendedAgentCardNotConfiguredError",
        ErrorKind::ExtensionSupportRequired => "ExtensionSupportRequiredError",
        ErrorKind::VersionNotSupported => "VersionNotSupportedError",
        ErrorKind::ParseError => "JSONParseError",
        ErrorKind::InvalidRequest | ErrorKind::MethodNotAllowed | ErrorKind::PayloadTooLarge => {
            "InvalidRequestError"
        }
        ErrorKind::MethodNotFound => "MethodNotFoundError",
        ErrorKind::InvalidParams => "InvalidParamsError",
        // The protocol has no code for it.
        ErrorKind::ResourceExhausted => "A2AX_ERR_LIMITED",
        _ => "InternalError",
    }
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message, hint: None, a2a_code: None, details: None, is_unsent: false }
    }

    /// An invalid argument, flag or combination.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Code::Usage, message)
    }

    /// An error of this tool.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::Internal, message)
    }

    /// The error of an operation; `credential` is whether one was configured.
    pub(crate) fn of_operation(error: &Error, credential: bool) -> Self {
        let kind = error.kind();
        let code = match kind {
            ErrorKind::Unauthenticated | ErrorKind::PermissionDenied if credential => {
                Code::AuthFailed
            }
            ErrorKind::Unauthenticated | ErrorKind::PermissionDenied => Code::CredentialsMissing,
            ErrorKind::DeadlineExceeded if is_own_timeout(error) => Code::Timeout,
            ErrorKind::Unavailable | ErrorKind::DeadlineExceeded => Code::Unreachable,
            _ => Code::Protocol(kind),
        };
        let mut failure = Self::protocol(kind, explained(error));
        failure.code = code;
        failure.is_unsent = is_unsent(error);
        if matches!(code, Code::Unreachable | Code::Timeout) {
            failure.a2a_code = None;
        }
        failure.hint = match code {
            Code::Unreachable => Some(connection_hint(error).to_owned()),
            Code::Timeout => Some("raise --request-timeout".to_owned()),
            _ if is_of_older_version(error) => Some(OLDER_VERSION.to_owned()),
            _ if is_too_large(error) => Some(TOO_LARGE.to_owned()),
            _ => hint(code).map(str::to_owned),
        };
        if !error.violations().is_empty() {
            failure.details = Some(json!({ "violations": error.violations() }));
        }
        failure.explain_retry(kind, error.retry_after());
        failure
    }

    /// Says when the agent will accept the request, if it said so, or that it accepts fewer.
    fn explain_retry(&mut self, kind: ErrorKind, delay: Option<Duration>) {
        let is_limited = kind == ErrorKind::ResourceExhausted;
        if !is_limited && kind != ErrorKind::Unavailable {
            return;
        }
        let cause = if is_limited { "the agent limits requests" } else { "the agent is busy" };
        if let Some(delay) = delay {
            let seconds = delay.as_secs() + u64::from(delay.subsec_nanos() > 0);
            self.message.push_str(&format!(" (retry after {seconds}s)"));
            self.hint = Some(format!("{cause}: retry after {seconds}s"));
            self.details = Some(json!({ "retryAfter": seconds }));
        } else if is_limited {
            self.hint = Some(format!("{cause}: retry later, or send fewer"));
        }
    }

    /// An error of the protocol.
    pub(crate) fn protocol(kind: ErrorKind, message: impl Into<String>) -> Self {
        let code = Code::Protocol(kind);
        let mut failure = Self::new(code, message);
        failure.hint = hint(code).map(str::to_owned);
        failure.a2a_code = Some(kind.codes().jsonrpc);
        failure
    }

    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the flags that name the agent to the commands that the hint quotes.
    #[must_use]
    pub(crate) fn with_agent(mut self, flags: &str) -> Self {
        if let Some(hint) = &self.hint {
            let parts = hint.split('`').enumerate().map(|(index, part)| {
                // Every second part is quoted.
                let is_command = index % 2 == 1 && part.starts_with("a2a ");
                let names_agent = part.contains(" -a ") || part.contains(" -e ");
                if is_command && !names_agent { format!("{part} {flags}") } else { part.to_owned() }
            });
            self.hint = Some(parts.collect::<Vec<_>>().join("`"));
        }
        self
    }

    /// Without the secrets of the run, which a peer may repeat and `redact` replaces in a JSON value.
    #[must_use]
    pub(crate) fn redacted(mut self, redact: impl Fn(&mut Value)) -> Self {
        for text in [Some(&mut self.message), self.hint.as_mut()].into_iter().flatten() {
            let mut value = Value::String(std::mem::take(text));
            redact(&mut value);
            if let Value::String(redacted) = value {
                *text = redacted;
            }
        }
        if let Some(details) = &mut self.details {
            redact(details);
        }
        self
    }

    /// Prefixes the message with the place of the cause, such as a line of a file.
    #[must_use]
    pub(crate) fn with_place(mut self, place: &str) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    #[must_use]
    pub(crate) fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.message)
    }
}

/// Returns whether this tool stopped waiting for a response, and not the agent or a proxy.
fn is_own_timeout(error: &Error) -> bool {
    let is_elapsed = sources(error).any(|source| source.is::<tokio::time::error::Elapsed>());
    is_elapsed || TransportError::of(error).is_some_and(TransportError::is_timeout)
}

/// Returns whether an error occurred before the request was sent: while connecting, or while
/// obtaining a credential for it.
fn is_unsent(error: &Error) -> bool {
    sources(error).any(|source| source.is::<CredentialError>())
        || TransportError::of(error).is_some_and(TransportError::is_connect)
}

fn sources(error: &Error) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    std::iter::successors(std::error::Error::source(error), |source| source.source())
}

/// The message of an error with those of its sources that it does not repeat.
pub(crate) fn with_sources(error: &Error) -> String {
    with_texts(error.message(), sources(error).map(ToString::to_string))
}

/// The message of an error with everything that the agent said about it: its sources, the violations
/// and the `error_description` of its challenge (RFC 6750 §3).
fn explained(error: &Error) -> String {
    let described = error.challenge().and_then(|challenge| {
        Some(challenge.split_once("error_description=\"")?.1.split_once('"')?.0.to_owned())
    });
    let violations = error.violations().iter().map(|violation| {
        format!("{} {}", violation.field, violation.description).trim().to_owned()
    });
    with_texts(&with_sources(error), described.into_iter().chain(violations))
}

/// Appends texts to a message that does not contain them.
fn with_texts(message: &str, texts: impl Iterator<Item = String>) -> String {
    texts.fold(message.to_owned(), |message, text| match message.contains(&text) {
        true => message,
        false => format!("{message}: {text}"),
    })
}

/// What to do about a response in the format of an older version.
const OLDER_VERSION: &str = "the agent seems to speak an older version: try --a2a-version 0.3";

fn is_of_older_version(error: &Error) -> bool {
    error.kind() == ErrorKind::InvalidAgentResponse
        && error.message().contains("format of an older version")
}

/// What to do about a response over the limit of the client.
const TOO_LARGE: &str = "the response is too large to be read at once: `a2a send --stream` gets the \
                         result as it comes; a program raises ClientSettings::max_response_bytes";

fn is_too_large(error: &Error) -> bool {
    error.kind() == ErrorKind::InvalidAgentResponse
        && error.message().starts_with("response of ")
        && error.message().ends_with(" bytes")
}

const fn hint(code: Code) -> Option<&'static str> {
    match code {
        Code::Protocol(ErrorKind::TaskNotFound) => {
            Some("check the id with `a2a task list`; add --debug for the raw answer")
        }
        Code::Protocol(ErrorKind::TaskNotCancelable) => {
            Some("it has ended, or the agent can't cancel it: show it with `a2a task get <id>`")
        }
        Code::Protocol(ErrorKind::VersionNotSupported) => {
            Some("list the versions with `a2a card get`, and select one with --a2a-version")
        }
        Code::Protocol(ErrorKind::ExtensionSupportRequired) => {
            Some("list the extensions with `a2a card get`, and request one with --extension")
        }
        Code::Protocol(
            ErrorKind::UnsupportedOperation
            | ErrorKind::PushNotificationNotSupported
            | ErrorKind::ExtendedAgentCardNotConfigured,
        ) => Some("list the capabilities with `a2a card get`; add --debug for the raw answer"),
        Code::Protocol(ErrorKind::PayloadTooLarge) => Some(
            "the message is too large for the agent: refer to files by URL, as --file https://…",
        ),
        Code::Protocol(_) => Some("add --debug for the raw answer"),
        Code::CredentialsMissing => {
            Some("give a credential, for example --bearer or A2ACLI_BEARER")
        }
        Code::AuthFailed => Some("check that the credential is valid and has not expired"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use a2a_core::{Detail, Violation};

    use super::*;

    #[test]
    fn envelope_has_the_code_and_number_of_a_protocol_error() {
        let failure = Failure::of_operation(&Error::task_not_found("nope"), false);
        assert_eq!(
            serde_json::to_string(&failure).unwrap(),
            r#"{"code":"TaskNotFoundError","message":"task not found: nope","hint":"check the id with `a2a task list`; add --debug for the raw answer","a2aCode":-32001}"#
        );
    }

    #[test]
    fn commands_in_a_hint_name_the_agent() {
        let failure = Failure::internal("x").with_hint("see `a2a card get` and `--debug`");
        let hint = failure.with_agent("-a b:1").with_agent("-a c:2");
        assert_eq!(hint.hint(), Some("see `a2a card get -a b:1` and `--debug`"));
    }

    #[test]
    fn everything_that_the_agent_said_is_in_the_message() {
        let violation = Violation::new("message.parts", "must not be empty");
        let error = Error::from_wire(
            ErrorKind::InvalidParams,
            "invalid".to_owned(),
            vec![Detail::BadRequest { field_violations: vec![violation] }],
        );
        let failure = Failure::of_operation(&error, false);
        assert_eq!(failure.message(), "invalid: message.parts must not be empty");
        let error = Error::new(ErrorKind::Unauthenticated, "no").with_challenge(
            r#"Bearer error="invalid_token", error_description="The access token expired""#,
        );
        let failure = Failure::of_operation(&error, true);
        assert_eq!(failure.message(), "no: The access token expired");
    }

    #[test]
    fn rejected_and_missing_credentials_have_different_codes() {
        let error = Error::new(ErrorKind::Unauthenticated, "unauthenticated");
        assert_eq!(Failure::of_operation(&error, true).code, Code::AuthFailed);
        assert_eq!(Failure::of_operation(&error, false).code, Code::CredentialsMissing);
        assert_eq!(Code::AuthFailed.exit(), 4);
    }

    #[test]
    fn requested_delay_is_named() {
        let error = |kind| Error::new(kind, "busy").with_retry_after(Duration::from_millis(6_500));
        for (kind, code, hint) in [
            (
                ErrorKind::ResourceExhausted,
                Code::Protocol(ErrorKind::ResourceExhausted),
                "the agent limits requests: retry after 7s",
            ),
            (ErrorKind::Unavailable, Code::Unreachable, "the agent is busy: retry after 7s"),
        ] {
            let failure = Failure::of_operation(&error(kind), false);
            assert_eq!((failure.code, failure.hint()), (code, Some(hint)));
            assert_eq!(failure.message(), "busy (retry after 7s)");
        }
        let failure = Failure::of_operation(&error(ErrorKind::ResourceExhausted), false);
        assert_eq!(failure.code.name(), "A2AX_ERR_LIMITED");
    }

    #[test]
    fn response_that_is_too_large_is_to_be_streamed() {
        let message = "response of http://a exceeds 67108864 bytes";
        let error = Error::new(ErrorKind::InvalidAgentResponse, message);
        let failure = Failure::of_operation(&error, false);
        assert!(failure.hint().unwrap().contains("`a2a send --stream`"), "{failure:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn own_timeout_is_not_unreachable() {
        let elapsed = tokio::time::timeout(Duration::ZERO, std::future::pending::<()>()).await;
        let timeout = || Error::new(ErrorKind::DeadlineExceeded, "timed out");
        let own = timeout().with_source(elapsed.unwrap_err());
        assert_eq!(Failure::of_operation(&own, false).code, Code::Timeout);
        let timed_out = |error| TransportError::new(error).with_timed_out(true);
        let lost = timed_out("no response").with_sent(true).into_error("a");
        assert_eq!(Failure::of_operation(&lost, false).code, Code::Timeout);
        for other in [timeout(), timed_out("no route").into_error("a")] {
            assert_eq!(Failure::of_operation(&other, false).code, Code::Unreachable);
        }
    }

    #[test]
    fn request_that_was_not_sent_is_known() {
        let unsent = TransportError::new("refused").into_error("a");
        let sent = TransportError::new("reset").with_sent(true).into_error("a");
        let busy = Error::unavailable("HTTP status 503");
        for (error, expected) in [(unsent, true), (sent, false), (busy, false)] {
            assert_eq!(Failure::of_operation(&error, false).is_unsent, expected, "{error}");
        }
    }
}
