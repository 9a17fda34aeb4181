//! `a2a chat`: a conversation with an agent.

use clap::Args;

use crate::{
    agent::{RemoteAgent, Retries},
    chat::{Conversation, Input},
    failure::Failure,
    settings::{Settings, value},
    watch::wait_options,
};

use super::part::MAX_INLINE;

const NOTES: &str = "\
Each line is a message in the context of the ones before, and a reply while the agent waits for input.
  Commands      /new /attach <path> /cancel /task /card /raw /help /quit
  Ctrl-C        Cancel the task while the agent works; again: leave
  Ctrl-D        Leave
  Ctrl-J        Start a new line of the message
  --timeout     Limits each answer
  Piped lines   Answered as by `a2a send`; the first failure ends the conversation
  JSON          Needs piped lines and --stream";

#[derive(Args, Debug)]
#[command(after_help = NOTES)]
pub(crate) struct Chat {
    /// Keep waiting at AUTH_REQUIRED
    #[arg(long)]
    auth_wait: bool,
    /// Maximum size of an attached file [default: 10 MiB]
    #[arg(long, value_name = "BYTES", value_parser = value::bytes)]
    max_inline: Option<usize>,
}

impl Chat {
    pub(super) async fn run(&self, settings: &Settings) -> Result<(), Failure> {
        // Nothing is called if the conversation can't be held.
        let input = Input::open(settings.output, settings.stream)?;
        let agent = RemoteAgent::connect(settings, Retries::of_command()).await?;
        let options = wait_options(settings, self.auth_wait);
        let max_inline = self.max_inline.unwrap_or(MAX_INLINE);
        let conversation = Conversation::new(agent, settings, options, max_inline);
        Box::pin(conversation.run(input)).await
    }
}
