"""Prefill and two decode steps on a GPU that is played: stages last as long there as its events say. The second
prefill is captured into a graph, so nothing runs in it."""
import torch

state = {"now_ms": 0.0, "capturing": False}


class Event:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        state["now_ms"] += 250
        self.at_ms = state["now_ms"]

    def query(self):
        return state["now_ms"] > self.at_ms  # the last one is not done until somebody waits

    def synchronize(self):
        state["now_ms"] += 1000

    def elapsed_time(self, other):
        return other.at_ms - self.at_ms


torch.cuda.is_initialized = lambda: True
torch.cuda.is_current_stream_capturing = lambda: state["capturing"]
torch.cuda.Event = Event

from models import Decoder, ids

model = Decoder(layers=1)
model(ids(2, 5))
state["capturing"] = True
model(ids(2, 5))
state["capturing"] = False
model(ids(2, 1), 5)
model(ids(2, 1), 6)
