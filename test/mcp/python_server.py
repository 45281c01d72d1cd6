"""A server of the Python SDK, over standard input and output, Streamable HTTP or server-sent events: `python_server.py TRANSPORT [PORT]`."""

import sys

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Image

server = MCPServer("python")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def picture() -> Image:
    """Makes a picture."""
    return Image(data=b"\x89PNG", format="png")


@server.tool()
async def wait() -> str:
    """Waits for ever."""
    await anyio.sleep_forever()
    return "never"


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("on purpose")


transport = sys.argv[1]
if transport == "stdio":
    server.run("stdio")
else:
    server.run(transport, host="127.0.0.1", port=int(sys.argv[2]))
