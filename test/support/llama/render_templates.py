"""Renders chat templates as Hugging Face transformers does: contexts and templates as JSON on stdin, texts as JSON on stdout."""

import datetime
import json
import sys

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2025, 7, 26, 12, 34, 56)


class GenerationTag(Extension):
    """`{% generation %}` marks the assistant's text for training; what is inside is rendered as it is."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_inside"), [], [], body).set_lineno(line)

    def _inside(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda layout: NOW.strftime(layout)
    return env


def render(env, source, contexts):
    try:
        template = env.from_string(source)
    except Exception:
        return [None for _ in contexts]
    texts = []
    for context in contexts:
        try:
            texts.append(template.render(**context))
        except Exception:
            texts.append(None)
    return texts


def main():
    given = json.load(sys.stdin)
    env = environment()
    texts = {name: render(env, source, given["contexts"]) for name, source in given["templates"].items()}
    json.dump(texts, sys.stdout, ensure_ascii=True)


main()
