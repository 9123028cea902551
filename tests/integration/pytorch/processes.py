"""Forked processes of multiprocessing, which end without Python's exit handlers. The first runs a model on a GPU that is
played, the second ("killed") is killed while it does, or ("host") runs one on the host."""
import multiprocessing
import os
import sys
import time

import torch

from played_gpu import put

from models import Decoder, ids


def run(what):
    model = Decoder(layers=1)
    if what == "host":
        torch.cuda.is_initialized = lambda: False
    else:
        put(model, 0)
    model(ids(2, 5))
    for start in range(5, 9):
        model(ids(2, 1), start)
    if what == "killed":
        import profgate_pytorch_report  # as if the next report were due
        profgate_pytorch_report.time.monotonic = lambda: now_s + 1000
        model(ids(2, 1), 9)
        os.kill(os.getpid(), 9)


now_s = time.monotonic()
context = multiprocessing.get_context("fork")
children = [context.Process(target=run, args=(what,)) for what in ("gpu", sys.argv[1])]
for child in children:
    child.start()
    child.join()
assert [child.exitcode for child in children] == [0, -9 if sys.argv[1] == "killed" else 0]
