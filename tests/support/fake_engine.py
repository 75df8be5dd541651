"""A server on loopback in place of a search engine: it keeps requests and answers from a table."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


@contextmanager
def fake_engine(answer):
    """The address of a server that answers with answer(method, path, query, body), and its requests."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def reply(self):
            url = urlsplit(self.path)
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            query = {name: values[-1] for name, values in parse_qs(url.query).items()}
            request = self.command, url.path, query, json.loads(text) if text else None
            requests.append(request)
            content = json.dumps(answer(*request)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = reply  # noqa: N815

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", requests
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()
