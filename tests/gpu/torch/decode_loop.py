#!/usr/bin/env python3
"""A decoder in plain PyTorch, which starts in a few seconds: prefill, then steps that nobody waits for. The
products are large enough that the GPU, and not the host, sets the pace of a step."""
import argparse
import json
import time

import torch
from torch import nn
from torch.nn import functional

parser = argparse.ArgumentParser()
parser.add_argument("--layers", type=int, default=4)
parser.add_argument("--hidden", type=int, default=8192)
parser.add_argument("--prompt", type=int, default=2048)
parser.add_argument("--steps", type=int, default=64)
parser.add_argument("--rounds", type=int, default=8)
parser.add_argument("--eager-attention", action="store_true", help="softmax(q k) v by single operators")
parser.add_argument("--extra-copy", action="store_true", help="one needless copy in each layer: of its keys")
parser.add_argument("--extra-sync", action="store_true", help="each step asks for its token's number")
parser.add_argument("--compile", action="store_true", help="torch.compile; tells how many graphs it made")
parser.add_argument("--full-graph", action="store_true", help="and none may be left")
parser.add_argument("--graph", action="store_true", help="steps are replayed from a CUDA graph, all at one position")
arguments = parser.parse_args()

HEAD = 128  # elements


class Attention(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.qkv_proj = nn.Linear(hidden, 3 * hidden, bias=False)
        self.o_proj = nn.Linear(hidden, hidden, bias=False)

    def forward(self, x, cache, start):  # x [tokens, hidden]; cache [2, heads, positions, HEAD]
        tokens, hidden = x.shape
        q, k, v = self.qkv_proj(x).view(tokens, 3, hidden // HEAD, HEAD).permute(1, 2, 0, 3)
        cache[0, :, start:start + tokens] = k
        cache[1, :, start:start + tokens] = v
        keys, values = cache[:, :, :start + tokens]
        if arguments.extra_copy:
            keys = keys.clone()
        if arguments.eager_attention:
            scores = q @ keys.transpose(1, 2) / HEAD ** 0.5
            if tokens > 1:
                scores = scores + torch.full_like(scores, float("-inf")).triu(1)
            mixed = scores.softmax(-1) @ values
        else:
            mixed = functional.scaled_dot_product_attention(q[None], keys[None], values[None], is_causal=tokens > 1)[0]
        return self.o_proj(mixed.transpose(0, 1).reshape(tokens, hidden))


class Layer(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.norm1 = nn.LayerNorm(hidden)
        self.attn = Attention(hidden)
        self.norm2 = nn.LayerNorm(hidden)
        self.mlp = nn.Sequential(nn.Linear(hidden, 3 * hidden, bias=False), nn.GELU(),
                                 nn.Linear(3 * hidden, hidden, bias=False))

    def forward(self, x, cache, start):
        x = x + self.attn(self.norm1(x), cache, start)
        return x + self.mlp(self.norm2(x))


class Decoder(nn.Module):
    def __init__(self, hidden, layers, vocabulary=32000):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, hidden)
        self.layers = nn.ModuleList(Layer(hidden) for _ in range(layers))
        self.head = nn.Linear(hidden, vocabulary, bias=False)

    def forward(self, ids, caches, start):  # ids [tokens] -> the next id [1]
        x = self.embed(ids)
        for layer, cache in zip(self.layers, caches):
            x = layer(x, cache, start)
        return self.head(x[-1:]).argmax(-1)


torch.manual_seed(0)
torch.set_default_dtype(torch.bfloat16)
with torch.device("cuda"):
    model = Decoder(arguments.hidden, arguments.layers).eval()
    prompt = torch.randint(0, 32000, (arguments.prompt,))
    caches = torch.zeros(arguments.layers, 2, arguments.hidden // HEAD, arguments.prompt + arguments.steps, HEAD)
if arguments.compile:
    model = torch.compile(model, fullgraph=arguments.full_graph)
graph = torch.cuda.CUDAGraph() if arguments.graph else None


def capture(token):
    """Of one step; returns the token that each replay reads and leaves."""
    token = token.clone()
    model(token, caches, arguments.prompt)  # warms up
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        token.copy_(model(token, caches, arguments.prompt))
    return token


def replay(token):
    for _ in range(arguments.steps):
        graph.replay()
    return token


def decode(token):
    for step in range(arguments.steps):
        token = model(token, caches, arguments.prompt + step)
        if arguments.extra_sync:
            token.item()  # what a check for the end of the text does
    return token


def timed(name, work):
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_push(name)
    began = time.perf_counter()
    result = work()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - began
    torch.cuda.nvtx.range_pop()
    return result, seconds


times = {"prefill": [], "decode": []}
with torch.inference_mode():
    captured = capture(prompt[:1]) if graph else None
    for repetition in range(arguments.rounds + 1):  # the first warms up
        token, prefill_s = timed("prefill" if repetition else "warmup", lambda: model(prompt, caches, 0))
        _, decode_s = timed("decode" if repetition else "warmup", lambda: replay(captured) if graph else decode(token))
        if repetition:
            times["prefill"].append(prefill_s)
            times["decode"].append(decode_s)
if arguments.compile:
    print("compiled graphs:", torch._dynamo.utils.counters["stats"]["unique_graphs"])
print(json.dumps({name: {"count": len(each), "median_s": sorted(each)[len(each) // 2]} for name, each in times.items()}))
