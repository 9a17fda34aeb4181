"""A graph of LangGraph with a fake chat model, served by the server of `langgraph dev`."""

import base64
import json
import os
import sys
import tempfile
import uuid
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
import driver  # Before the framework, whose logger keeps the standard output it finds.

from langchain_core.language_models.chat_models import BaseChatModel, agenerate_from_stream
from langchain_core.messages import AIMessageChunk, HumanMessage
from langchain_core.outputs import ChatGenerationChunk
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

CANNOT = {
    'cancel': 'blocking is not read, so a send returns when the task has ended; '
    'a task whose stream is open can be canceled, but the stream ends with COMPLETED',
    'subscribe': 'there is no such method',
    'push': 'the card says no: "Not implemented yet"',
}


class State(MessagesState):
    city: str  # Data parts become members of the state.


class Model(BaseChatModel):
    """Answers to the user's messages of the whole conversation, with the files of the last one."""

    @property
    def _llm_type(self):
        return 'fake'

    def _generate(self, *_, **__):
        raise NotImplementedError

    async def _agenerate(self, messages, stop=None, run_manager=None, **_):
        return await agenerate_from_stream(self._astream(messages, stop, run_manager))

    async def _astream(self, messages, stop=None, run_manager=None, **_):
        users = [message for message in messages if isinstance(message, HumanMessage)]
        files = [
            (block['mime_type'], base64.b64decode(block['base64']))
            for block in users[-1].content_blocks
            if 'base64' in block
        ]
        async for text in driver.answer([message.text for message in users], files):
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=text))
            if run_manager:
                await run_manager.on_llm_new_token(text, chunk=chunk)
            yield chunk


async def answer(state):
    messages = state['messages']
    if messages[-1].text == 'ask':
        reply = interrupt('what is your name?')
        messages = [HumanMessage(reply if isinstance(reply, str) else json.dumps(reply))]
    elif state.get('city'):
        return {'messages': [('ai', f'the city is {state["city"]}')], 'city': ''}
    return {'messages': [await Model().ainvoke(messages)]}


graph = (
    StateGraph(State)
    .add_node('answer', answer)
    .add_edge(START, 'answer')
    .add_edge('answer', END)
    .compile()
)

if __name__ == '__main__':
    # The server derives the id of the assistant from the name of the graph.
    assistant_id = uuid.uuid5(uuid.UUID('6ba7b821-9dad-11d1-80b4-00c04fd430c8'), 'agent')
    os.environ.update(DEFAULT_A2A_ASSISTANT_ID=str(assistant_id), LANGSMITH_TRACING='false')
    from langgraph_api.cli import run_server

    os.chdir(tempfile.gettempdir())  # The server creates .langgraph_api in its directory.
    port = driver.free_port()
    url = f'http://127.0.0.1:{port}'
    # The card declares 1.0 alone, but streams of 1.0 have events of 0.3. The same endpoint also
    # speaks 0.3, correctly.
    driver.announce(url, ['JSONRPC'], '0.3', CANNOT, endpoint=f'{url}/a2a/{assistant_id}')
    run_server(
        port=port,
        graphs={'agent': f'{__file__}:graph'},
        disable_persistence=True,
        n_jobs_per_worker=4,
    )
