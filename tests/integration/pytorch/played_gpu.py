"""GPUs that are played, for a torch without CUDA: each event comes 250 ms after the one before it."""
import torch
from torch import nn

state = {"now_ms": 0.0, "capturing": False}
recorded = []  # the number of the GPU of each event


class Event:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self, stream):
        state["now_ms"] += 250
        self.at_ms, self.gpu = state["now_ms"], stream
        recorded.append(stream)

    def query(self):
        return state["now_ms"] > self.at_ms  # the last one is not done until somebody waits

    def synchronize(self):
        state["now_ms"] += 1000

    def elapsed_time(self, other):
        assert other.gpu == self.gpu, "CUDA knows no time between two GPUs"
        return other.at_ms - self.at_ms


torch.cuda.is_initialized = lambda: True
torch.cuda.is_current_stream_capturing = lambda: state["capturing"]
torch.cuda.current_stream = lambda gpu: gpu
torch.cuda.current_device = lambda: 0
torch.cuda.Event = Event


def kind_on(gpu):
    return type("OnGpu", (nn.Parameter,), {"is_cuda": True, "device": torch.device("cuda", gpu)})


def put(module, gpu):
    kind = kind_on(gpu)
    for parameter in module.parameters():
        parameter.__class__ = kind
    return module
