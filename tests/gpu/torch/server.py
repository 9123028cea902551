#!/usr/bin/env python3
"""A server of a small decoder, as people write one in an afternoon: each request is a prefill and some steps under
ranges of their own. `server.py serve <port>` never ends by itself; `server.py ask <port>` is its client."""
import http.server
import json
import statistics
import sys
import time
import urllib.request

REQUESTS = 12
STEPS = 16


def serve(port):
    import torch
    from torch import nn

    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        layers = nn.Sequential(*(nn.Sequential(nn.LayerNorm(2048), nn.Linear(2048, 8192), nn.GELU(), nn.Linear(8192, 2048))
                                 for _ in range(8))).eval()
        prompt = torch.randn(512, 2048)

    def step(name, x):
        torch.cuda.nvtx.range_push(name)
        x = layers(x)
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()
        return x[-1:]

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            began = time.perf_counter()
            with torch.inference_mode():
                token = step("prefill", prompt)
                for _ in range(STEPS):
                    token = step("decode", token)
            body = json.dumps({"seconds": time.perf_counter() - began}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with torch.inference_mode():
        layers(layers(prompt)[-1:])  # warms up
    torch.cuda.synchronize()
    http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()


def ask(port):
    seconds = []
    for _ in range(REQUESTS):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as answer:
            seconds.append(json.load(answer)["seconds"])
    print("a request took", statistics.median(seconds), "s")


{"serve": serve, "ask": ask}[sys.argv[1]](int(sys.argv[2]))
