"""Prefills and decode steps of a decoder of four layers; the layer of the given number computes its MLP four times."""
import sys

import torch
from torch import nn

from models import ids

torch.set_num_threads(1)
slow_layer = int(sys.argv[1]) if len(sys.argv) > 1 else None


class Mlp(nn.Module):
    def __init__(self, times):
        super().__init__()
        self.up = nn.Linear(64, 128)
        self.down = nn.Linear(128, 64)
        self.times = times

    def forward(self, x):  # [batch, tokens, 64]
        for _ in range(self.times):
            y = self.down(torch.relu(self.up(x)))
        return y


class Layer(nn.Module):
    def __init__(self, times):
        super().__init__()
        self.norm = nn.LayerNorm(64)
        self.mlp = Mlp(times)

    def forward(self, x):
        return x + self.mlp(self.norm(x))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(16, 64)
        self.layers = nn.ModuleList(Layer(4 if number == slow_layer else 1) for number in range(4))
        self.head = nn.Linear(64, 16)

    def forward(self, input_ids=None, past_key_values=None):
        x = self.embed(input_ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


model = Decoder()
with torch.no_grad():
    for _ in range(6):
        model(input_ids=ids(8, 64), past_key_values=None)
        for _ in range(8):
            model(input_ids=ids(8, 1), past_key_values=((1,),))
