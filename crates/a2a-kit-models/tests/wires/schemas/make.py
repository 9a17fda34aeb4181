"""Writes the JSON Schemas of requests, and checks the frames, with the types of the official clients.

    python3 -m venv target/schemas
    target/schemas/bin/pip install openai==3.57.0 anthropic==2.14.0 google-genai==3.6.1
    target/schemas/bin/python crates/a2a-kit-models/tests/wires/schemas/make.py
"""

import json
from pathlib import Path
from typing import Optional

import anthropic.types
import openai.types.chat
import openai.types.responses
from anthropic.types import message_create_params
from google.genai import types as genai
from openai.types.chat import completion_create_params
from openai.types.responses import response_create_params
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

FOLDER = Path(__file__).parent


class GenerateContent(BaseModel):
    """The body of Gemini's request, for which the official client has no type."""

    model_config = ConfigDict(extra="forbid")
    contents: list[genai.Content]
    system_instruction: Optional[genai.Content] = Field(None, alias="systemInstruction")
    tools: Optional[list[genai.Tool]] = None
    generation_config: Optional[genai.GenerationConfig] = Field(None, alias="generationConfig")


WIRES = {
    "openai": (
        response_create_params.ResponseCreateParamsStreaming,
        openai.types.responses.ResponseStreamEvent,
    ),
    "openai-chat": (
        completion_create_params.CompletionCreateParamsStreaming,
        openai.types.chat.ChatCompletionChunk,
    ),
    "anthropic": (
        message_create_params.MessageCreateParamsStreaming,
        anthropic.types.RawMessageStreamEvent,
    ),
    "gemini": (GenerateContent, genai.GenerateContentResponse),
}


def reduced(schema):
    """The schema without texts, and without members that the types don't have."""
    if isinstance(schema, list):
        return [reduced(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    omitted = ("description", "title", "default", "examples", "discriminator")
    reduced_schema = {}
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            reduced_schema[key] = {name: reduced(one) for name, one in value.items()}
        elif key not in omitted:
            reduced_schema[key] = reduced(value)
    if "properties" in reduced_schema:
        reduced_schema.setdefault("additionalProperties", False)
    return reduced_schema


def events(text):
    """The data of the events of a stream, but for comments, the mark of the end, and pings."""
    data = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
    return [one for one in data if one != "[DONE]" and '"ping"' not in one]


for name, (request, event) in WIRES.items():
    schema = reduced(TypeAdapter(request).json_schema(by_alias=True))
    text = json.dumps(schema, separators=(",", ":"), sort_keys=True)
    (FOLDER / f"{name}.json").write_text(text + "\n")
    known = TypeAdapter(event)
    for data in events((FOLDER.parent / "frames" / f"{name}.sse").read_text()):
        if "of_a_later_version" not in data:
            known.validate_json(data)
    print(f"{name}: schema of {len(text)} bytes, frames are valid")
