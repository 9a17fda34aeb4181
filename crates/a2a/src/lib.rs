//! The front door to A2A: agents and clients on every binding.
