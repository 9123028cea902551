"""Prefill and two decode steps on a GPU that is played: stages last as long there as its events say. The second
prefill is captured into a graph, so nothing runs in it."""
from played_gpu import put, recorded, state

from models import Decoder, ids

model = put(Decoder(layers=1), 1)
model(ids(2, 5))
state["capturing"] = True
model(ids(2, 5))
state["capturing"] = False
model(ids(2, 1), 5)
model(ids(2, 1), 6)
assert recorded == 6 * [1], recorded  # where the model is, not where the program is
