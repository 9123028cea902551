#!/usr/bin/env python3
"""transformers' generate() on a Llama shape with random weights, without any range."""
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
config = LlamaConfig(vocab_size=32000, hidden_size=1024, intermediate_size=4096, num_hidden_layers=8,
                     num_attention_heads=16, num_key_value_heads=4)
with torch.device("cuda"):
    model = LlamaForCausalLM(config).to(torch.bfloat16).eval()
prompt = torch.randint(0, config.vocab_size, (1, 128), device="cuda")
for _ in range(2):
    began = time.perf_counter()
    model.generate(prompt, max_new_tokens=32, min_new_tokens=32, do_sample=False, pad_token_id=0)
    torch.cuda.synchronize()
    print(f"generate took {time.perf_counter() - began:.3f} s")
