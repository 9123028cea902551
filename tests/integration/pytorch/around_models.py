"""Models inside of others of torch's: compiled, distributed, and copies on threads of DataParallel. These are played."""
import threading

from torch import nn

from models import Decoder, ids


class TextEncoder(Decoder):
    def can_generate(self):
        return False


class OptimizedModule(nn.Module):
    def __init__(self, module):
        super().__init__()
        self._orig_mod = module

    def forward(self, *args):
        return self._orig_mod(*args)


class DistributedDataParallel(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *args):
        return self.module(*args)


class Own(DistributedDataParallel):
    """Of the program's own: it may have a `module` for any reason."""


def replicated(module):
    replica = module._replicate_for_data_parallel()
    replica.__dict__.update(module._parameters)
    replica._modules.update((name, replicated(part)) for name, part in module._modules.items())
    return replica


DistributedDataParallel.__module__ = "torch.nn.parallel.distributed"
decoder = Decoder(layers=1)
OptimizedModule(decoder)(ids(1, 6), 0)
DistributedDataParallel(decoder)(ids(1, 2), 6)  # a chunk: the same model
DistributedDataParallel(decoder)(ids(1, 1), 8)
threads = [threading.Thread(target=replicated(decoder), args=(ids(1, 9), 0)) for _ in range(2)]
for thread in threads:
    thread.start()
    thread.join()

encoder = TextEncoder(layers=1)
compiled = OptimizedModule(encoder)
for around in (compiled, DistributedDataParallel(encoder), DistributedDataParallel(compiled)):
    around(ids(1, 3))
Own(encoder)(ids(1, 3))
