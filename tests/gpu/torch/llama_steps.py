#!/usr/bin/env python3
"""An eager Llama shape as people write a benchmark: ranges around prefill and each decode step, times around
synchronised steps printed as JSON at the end. Random weights."""
import argparse
import json
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

parser = argparse.ArgumentParser()
parser.add_argument("--layers", type=int, default=16)
parser.add_argument("--hidden", type=int, default=2048)
parser.add_argument("--prompt", type=int, default=512)
parser.add_argument("--steps", type=int, default=32)
parser.add_argument("--rounds", type=int, default=3)
arguments = parser.parse_args()

torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=32000, hidden_size=arguments.hidden, intermediate_size=arguments.hidden * 4,
    num_hidden_layers=arguments.layers, num_attention_heads=arguments.hidden // 64,
    num_key_value_heads=max(1, arguments.hidden // 256), max_position_embeddings=4096)
with torch.device("cuda"):
    model = LlamaForCausalLM(config).to(torch.bfloat16).eval()

prompt = torch.randint(0, config.vocab_size, (1, arguments.prompt), device="cuda")


def timed(name, step):
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_push(name)
    began = time.perf_counter()
    result = step()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - began
    torch.cuda.nvtx.range_pop()
    return result, seconds


times = {"prefill": [], "decode": []}
with torch.inference_mode():
    for repetition in range(arguments.rounds + 1):  # the first warms up
        output, seconds = timed("prefill" if repetition else "warmup", lambda: model(prompt, use_cache=True))
        if repetition:
            times["prefill"].append(seconds)
        cache = output.past_key_values
        token = output.logits[:, -1:].argmax(-1)
        for _ in range(arguments.steps):
            output, seconds = timed("decode" if repetition else "warmup",
                                    lambda: model(token, past_key_values=cache, use_cache=True))
            if repetition:
                times["decode"].append(seconds)
            token = output.logits[:, -1:].argmax(-1)
print(json.dumps({name: {"count": len(each), "mean_s": sum(each) / len(each),
                         "median_s": sorted(each)[len(each) // 2]} for name, each in times.items()}))
