//! A store in a PostgreSQL database that many nodes share.
