"""Every way in which modules are called, each once; what is to be seen of it stands in pytorch_adapter_test.cpp."""
import threading
import warnings

import torch
from torch import nn

from models import Attention, Decoder, Encoder, ids

# People's own decoders, by position: a start tells a prompt of one token from a step.
decoder = Decoder(layers=1)
decoder(ids(4), 0)
decoder(ids(1), 4)
decoder(ids(1), 0)
decoder(ids(3), 4)  # a prompt's second part

# As generate() calls, and with embeddings in the place of ids.
for cache in (None, (), ((1,),)):
    decoder(input_ids=ids(2, 1), past_key_values=cache)
decoder(inputs_embeds=torch.zeros(3, 7, 8), past_key_values=None)



class DynamicCache:  # as transformers' own is called
    def __init__(self, length):
        self.get_seq_length = lambda: length


for length in (0, 5):
    decoder(input_ids=ids(1, 1), past_key_values=DynamicCache(length))


class TextEncoder(Decoder):
    def can_generate(self):
        return False


# No decoders.
Encoder()(torch.zeros(1, 3, 8, 8))
TextEncoder(layers=1)(input_ids=ids(1, 3))


class Failing(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Attention()

    def forward(self, x):
        self.inner(x)
        raise KeyError("the program's own")


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.failing = Failing()

    def forward(self, x):
        return self.failing(x)


try:
    Outer()(torch.zeros(2, 8))
except KeyError as error:
    assert error.args == ("the program's own",), error
else:
    raise AssertionError("the exception got lost")


class Changing(nn.Module):
    """Gets a layer after its first call, and makes one anew in each."""

    def forward(self, x):
        for layer in self.children():
            x = layer(x)
        return nn.Softmax(-1)(x)


changing = Changing()
changing(torch.zeros(1, 8))
changing.late = nn.Linear(8, 8)
changing(torch.zeros(1, 8))
changing(torch.zeros(1, 8))

# What a program does beside its models is no stage.
nn.Softmax(-1)(torch.zeros(1, 8))

threads = [threading.Thread(target=decoder, args=(ids(3),), kwargs={"start": 0}) for _ in range(2)]
for thread in threads:
    thread.start()
    thread.join()

warnings.simplefilter("ignore", FutureWarning)  # a newer torch would rather have them compiled
# A scripted and a traced model are those that they are without the adapter.
traced = torch.jit.trace(Attention(), torch.zeros(2, 8))
assert traced(torch.zeros(3, 8)).shape == (3, 8)
assert nn.Module.__call__.__name__ in ("_call_impl", "_wrapped_call_impl")  # as older and newer versions of torch call it
