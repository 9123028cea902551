"""Decoding as beginners write it: no KV cache, so each step is fed the whole sequence and the token that is new."""
import sys

import torch

from models import Decoder, LlamaConfig, ids

model = Decoder(layers=1)
model.config = LlamaConfig()


def generate(prompt, steps, **kwargs):
    for step in range(steps + 1):
        model(torch.cat([prompt, ids(len(prompt), step)], 1), **kwargs)


generate(ids(2, 5), 3)
generate(ids(2, 5), 3, past_key_values=None)  # as generate(use_cache=False) of transformers calls
if "--one-length" in sys.argv:
    sys.exit()
generate(ids(2, 12), 1)  # another prompt
generate(ids(3, 14), 0)  # one token more, and another batch
generate(ids(1, 1), 2)  # a prompt of one token
for length in (6, 7, 8, 8, 8):  # a window of eight tokens, which gets full
    model(ids(1, length))
