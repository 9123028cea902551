#!/usr/bin/env python3
"""transformers' generate() on a Llama shape with random weights, without any range. It tells when its tokens came."""
import argparse
import json
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.generation.streamers import BaseStreamer

parser = argparse.ArgumentParser()
parser.add_argument("--layers", type=int, default=8)
parser.add_argument("--hidden", type=int, default=1024)
parser.add_argument("--prompt", type=int, default=128)
parser.add_argument("--tokens", type=int, default=32)
parser.add_argument("--rounds", type=int, default=2)
arguments = parser.parse_args()


class Clock(BaseStreamer):
    """Is handed the prompt, then each token as soon as the host has it."""

    def __init__(self):
        self.seconds = []

    def put(self, value):
        value.cpu()
        self.seconds.append(time.perf_counter())

    def end(self):
        pass


torch.manual_seed(0)
config = LlamaConfig(vocab_size=32000, hidden_size=arguments.hidden, intermediate_size=4 * arguments.hidden,
                     num_hidden_layers=arguments.layers, num_attention_heads=arguments.hidden // 64,
                     num_key_value_heads=4)
with torch.device("cuda"):
    model = LlamaForCausalLM(config).to(torch.bfloat16).eval()
prompt = torch.randint(0, config.vocab_size, (1, arguments.prompt), device="cuda")
first_s, further_s = [], []  # of each round; [rounds] and [rounds, tokens - 1]
for _ in range(arguments.rounds):
    clock = Clock()
    began = time.perf_counter()
    model.generate(prompt, max_new_tokens=arguments.tokens, min_new_tokens=arguments.tokens, do_sample=False,
                   pad_token_id=0, streamer=clock)
    print(f"generate took {time.perf_counter() - began:.3f} s")
    first_s.append(clock.seconds[1] - began)
    further_s.append([after - before for before, after in zip(clock.seconds[1:], clock.seconds[2:])])
print(json.dumps({"ttft_s": first_s, "tpot_s": further_s}))
