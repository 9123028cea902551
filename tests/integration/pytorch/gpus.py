"""Models on GPUs that are played: on the second of them, on the host, on both; and many threads at once."""
import gc
import threading

import torch
from torch import nn

from played_gpu import kind_on, put, recorded

from models import Decoder, Encoder, Layer, ids

x = torch.zeros(1, 8)


class Moving(Layer):
    pass


decoder = put(Decoder(layers=1), 1)
decoder(ids(2, 5))
assert set(recorded) == {1}, recorded

# What computes on the host is timed there, among the others of its stage.
Encoder()(torch.zeros(1, 3, 8, 8))
assert len(recorded) == 2
moving = Moving()
moving(x)
put(moving, 0)
moving(x)
assert recorded[2:] == [0, 0], recorded


class Spread(Decoder):
    pass


spread = put(Spread(layers=1), 0)
put(spread.head, 1)
spread(ids(2, 1), 5)
assert len(recorded) == 4, "no event lies among all of its kernels"


class WithoutParameters(nn.Module):
    def forward(self, x):
        return x.tanh()


WithoutParameters()(x)  # it may compute anywhere: where the program is
assert recorded[4:] == [0, 0], recorded

# Steps of one text on one GPU after the other: events of two GPUs have no time between them.
decoder(ids(2, 5))
decoder(ids(2, 1), 5)
put(decoder, 0)
for start in range(6, 10):
    decoder(ids(2, 1), start)


def work(model):
    for start in range(50):
        model(ids(1, 1), start + 1)


gc.disable()
threads = [threading.Thread(target=work, args=(put(Decoder(layers=1), 0),)) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
