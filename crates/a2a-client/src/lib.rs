//! The A2A client: discovery, choice of interface, streams that resume.
