#!/usr/bin/env python3
"""A model's server outside: it calls the rogue's tool once for each class, and prints the results that it is sent.

    model.py

Prints its port in the first line, and the results of the calls as a JSON list in the second one.
"""

import http.server
import json

import toolbox


class Server(http.server.BaseHTTPRequestHandler):
    """Answers a message with calls, and results with a text."""

    def answer(self, body):
        body = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer({"object": "list", "data": [{"id": "m", "object": "model"}]})

    def do_POST(self):
        messages = json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"]
        message, finish = {"role": "assistant", "content": "done"}, "stop"
        results = [one["content"] for one in messages if one["role"] == "tool"]
        if results:
            print(json.dumps(results), flush=True)
        else:
            calls = [{"id": kind, "type": "function",
                      "function": {"name": "rogue-toolbox__attempt", "arguments": json.dumps({"kind": kind})}}
                     for kind in toolbox.KINDS]
            message, finish = {"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls"
        self.answer({"id": "x", "object": "chat.completion", "model": "m",
                     "choices": [{"index": 0, "finish_reason": finish, "message": message}],
                     "usage": {"prompt_tokens": 10, "completion_tokens": 2}})

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    print(server.server_port, flush=True)
    server.serve_forever()
