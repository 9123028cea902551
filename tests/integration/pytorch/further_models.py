"""Models beside the first one, after whose first call only classes of models stay wrapped: made before it and after it,
copied, out of a file, scripted, looked into by torch.fx."""
import copy
import pickle
import warnings

import torch
from torch import nn

from models import Decoder, Layer, ids


class Squash(nn.Module):
    def forward(self, x):
        return x.tanh()


class Reranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(Layer(), Squash())
        self.act = nn.Tanh()

    def forward(self, x):
        return self.act(self.layers(x)) + nn.Hardtanh()(x)  # the last is made in each call


class Tower(Reranker):
    """Made by no __init__ after the first model's call: its copies are."""


class Stored(Reranker):
    pass


def is_wrapped(kind):
    return "__call__" in kind.__dict__


x = torch.zeros(1, 8)
early, tower, stored = Reranker(), Tower(), pickle.dumps(Stored())
own = nn.Module.__dict__["__init__"]
model = Decoder(layers=1)
assert not is_wrapped(Reranker)
model(ids(1, 4))
assert is_wrapped(Reranker) and is_wrapped(Squash) and not is_wrapped(Layer)
early(x)
assert is_wrapped(Reranker) and not is_wrapped(Squash) and not is_wrapped(nn.Tanh), "its parts are known now"
early(x)
assert not is_wrapped(nn.Hardtanh), "what a model makes while it runs is a part of it"
copy.deepcopy(tower)(x)
pickle.loads(stored)(x)
model(ids(1, 1), 4)


class Late(Decoder):
    pass


Late(layers=1)(ids(1, 6))
warnings.simplefilter("ignore", FutureWarning)  # a newer torch would rather have it compiled
scripted = torch.jit.script(Squash())
scripted(x)


class Rounded(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ELU()

    def forward(self, x):
        return self.act(x).round()


nodes = [(node.op, str(node.target)) for node in torch.fx.symbolic_trace(Rounded()).graph.nodes]
assert ("call_module", "act") in nodes, nodes


class Failing(Decoder):
    def forward(self, input_ids, **options):
        super().forward(input_ids)
        raise MemoryError("as a GPU's")


failing = Failing()
for _ in range(3):
    try:
        failing(ids(4, 9))
    except MemoryError:
        pass
