//! Tasks in memory.
