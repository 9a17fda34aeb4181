//! The codes of errors, with the exit status of each.

/// A code and its exit status.
pub(super) const ERROR_CODES: [(&str, i32); 23] = [
    ("TaskNotFoundError", 1),
    ("TaskNotCancelableError", 1),
    ("PushNotificationNotSupportedError", 1),
    ("UnsupportedOperationError", 1),
    ("ContentTypeNotSupportedError", 1),
    ("InvalidAgentResponseError", 1),
    ("ExtendedAgentCardNotConfiguredError", 1),
    ("ExtensionSupportRequiredError", 1),
    ("VersionNotSupportedError", 1),
    ("JSONParseError", 1),
    ("InvalidRequestError", 1),
    ("MethodNotFoundError", 1),
    ("InvalidParamsError", 1),
    ("InternalError", 1),
    ("A2ACLI_ERR_USAGE", 2),
    ("A2ACLI_ERR_CARD_NOT_FOUND", 3),
    ("A2ACLI_ERR_CARD_INVALID", 1),
    ("A2ACLI_ERR_UNREACHABLE", 3),
    ("A2ACLI_ERR_CREDENTIALS_MISSING", 4),
    ("A2ACLI_ERR_AUTH_FAILED", 4),
    ("A2ACLI_ERR_TIMEOUT", 5),
    ("A2ACLI_ERR_INTERNAL", 1),
    ("A2AX_ERR_INTERRUPTED", 130),
];
