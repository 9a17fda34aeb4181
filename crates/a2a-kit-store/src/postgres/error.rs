/// Why a database could not be opened.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum PostgresError {
    /// The URL is invalid.
    #[error("invalid database URL: {0}")]
    Address(String),
    /// The trusted certificates could not be loaded.
    #[error("failed to load trusted certificates from {place}")]
    Roots {
        /// The file, or `the system`.
        place: String,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server is unreachable, or rejected the connection.
    #[error("failed to connect to database {database:?} at {host}")]
    Connect {
        /// Host and port.
        host: String,
        /// The name of the database.
        database: String,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The schema was created by a newer version of this library.
    #[error(
        "database {database:?} at {host} has schema version {found}, but this program supports at \
         most {known}: upgrade the program"
    )]
    TooNew {
        /// Host and port.
        host: String,
        /// The name of the database.
        database: String,
        /// The schema version of the database.
        found: u32,
        /// The newest supported version.
        known: u32,
    },
    /// The schema could not be created or migrated.
    #[error("failed to migrate database {database:?} at {host}")]
    Migrate {
        /// Host and port.
        host: String,
        /// The name of the database.
        database: String,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

a2a_core::debug_as_chain!(PostgresError);
