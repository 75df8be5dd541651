"""A web app on loopback, served by uvicorn in a thread."""

import asyncio
import socket
import threading
from contextlib import contextmanager

import uvicorn


@contextmanager
def serve_in_thread(config):
    """The address of a server with this configuration; it ends with the block."""
    server = uvicorn.Server(config)
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
    thread.start()
    try:
        yield listener.getsockname()
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()
