"""A server on standard input and output in plain Python, for tests."""

import json
import sys

TOOLS = [
    {
        "name": "word_count",
        "description": "Counts the words of a text.",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    }
]


def answer(message):
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        info = {"name": "python-test", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        words = len(params["arguments"]["text"].split())
        return {"content": [{"type": "text", "text": str(words)}], "structuredContent": {"words": words}}
    return None


for line in sys.stdin:
    received = json.loads(line)
    if "id" in received:
        print(json.dumps({"jsonrpc": "2.0", "id": received["id"], "result": answer(received)}), flush=True)
