"""A model that the adapter cannot look into: it stops, and the program does not notice."""
from torch import nn

from models import Decoder, ids


class Odd(Decoder):
    def named_modules(self, *args, **kwargs):
        raise RuntimeError("nobody looks into me")


model = Odd(layers=1)
assert model(ids(4)).shape == (4, 16)
assert model(ids(1)).shape == (1, 16)
assert nn.Module.__call__ is nn.Module._call_impl or nn.Module.__call__ is nn.Module._wrapped_call_impl
print("the program is done")
