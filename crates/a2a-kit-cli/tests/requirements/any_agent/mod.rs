//! Scenarios for any agent that knows the words `echo`, `message`, `stream`, `ask`, `slow` and
//! `fail`, and echoes the parts of a message whose id starts with `acc-echo`.

mod card;
mod interact;
mod output;
mod send;
mod task;
mod transport;
