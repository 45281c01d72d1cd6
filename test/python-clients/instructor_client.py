"""The calls of instructor, over openai and anthropic."""

import anthropic
import instructor
import openai

from common import base, check, is_place, limit, Place, server, wish

client = openai.OpenAI(base_url=base, api_key="unused", max_retries=0)
claude = anthropic.Anthropic(base_url=server, api_key="unused", max_retries=0)


@check
def instructor_openai():
    modes = (instructor.Mode.TOOLS, instructor.Mode.TOOLS_STRICT, instructor.Mode.JSON_SCHEMA)
    found = []
    for mode in modes:
        patched = instructor.from_openai(client, mode=mode)
        options = {"model": "tiny", "messages": wish, "response_model": Place, "max_retries": 0}
        *_, partial = patched.chat.completions.create_partial(**options)
        found.append([is_place(patched.chat.completions.create(**options)), partial.city in ("Oslo", "Rome")])
    return found


@check
def instructor_anthropic():
    patched = instructor.from_anthropic(claude, mode=instructor.Mode.ANTHROPIC_TOOLS)
    return is_place(patched.messages.create(model="tiny", messages=wish, response_model=Place, max_retries=0, **limit))
