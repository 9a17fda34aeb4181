/// Why a database could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresError {
    /// The text is not the address of a database.
    #[error("the address of the database is wrong: {0}")]
    Address(String),
    /// The certificates to check the server's against can't be read, or are none.
    #[error("the certificates to trust, of {place}, can't be used")]
    Roots {
        /// The file, or `the system`.
        place: String,
        /// What is wrong with them.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server can't be reached, or refuses us.
    #[error("no connection to the database {database:?} at {host}")]
    Connect {
        /// Host and port.
        host: String,
        /// The name of the database.
        database: String,
        /// What went wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The tables were made by a newer version of this library.
    #[error(
        "the tables of the database {database:?} at {host} have version {found}, and this program \
         knows {known} at most: run a newer one"
    )]
    TooNew {
        /// Host and port.
        host: String,
        /// The name of the database.
        database: String,
        /// The version of the tables.
        found: u32,
        /// The newest that is known here.
        known: u32,
    },
    /// The tables could not be made, or brought to the version that is needed.
    #[error("the tables of the database {database:?} at {host} could not be made")]
    Migrate {
        /// Host and port.
        host: String,
        /// The name of the database.
        database: String,
        /// What went wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
