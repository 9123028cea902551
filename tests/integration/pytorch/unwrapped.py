"""What a bare run leaves wrapped: the class of the model, and nothing else, from the first call of a decoder on."""
import sys
import types

import torch
from torch import nn

from models import Decoder, Encoder, Layer, ids

own = nn.Module.__dict__["__call__"]
dynamo = sys.modules["torch._dynamo.utils"] = types.SimpleNamespace(unpatched_nn_module_call=own)  # imported by now
nn.Linear(8, 8)(torch.zeros(1, 8))  # to warm up
assert "__call__" not in nn.Linear.__dict__
Encoder()(torch.zeros(1, 3, 8, 8))
model = Decoder(layers=2)
model(ids(2, 4))
assert nn.Module.__dict__["__call__"] is not own, "Module.__call__ is still wrapped"
assert nn.Module.__call__.__code__.co_filename.endswith("module.py")
assert dynamo.unpatched_nn_module_call is nn.Module.__call__, "Dynamo would go a longer way"
assert "__call__" in Decoder.__dict__ and "__call__" in Encoder.__dict__
assert not any("__call__" in kind.__dict__ for kind in (Layer, nn.Linear, nn.Sequential))
model(ids(2, 1), 4)
Encoder()(torch.zeros(1, 3, 8, 8))
model.layers[0](torch.zeros(1, 8))  # no root of the program's: a part of it, unseen from now on
