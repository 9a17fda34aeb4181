//! The agent: an engine with the words of the demo agent, and a wrapper with a fault.

mod demo;
mod fault;
mod faulty_agent;
mod stream;

pub(crate) use demo::SCHEME;
pub use demo::demo_engine;
pub use fault::AgentFault;
pub use faulty_agent::FaultyAgent;
