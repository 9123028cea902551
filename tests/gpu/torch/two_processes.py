#!/usr/bin/env python3
"""Two processes on one GPU, spawned by torch.multiprocessing; each has its ranges."""
import torch
import torch.multiprocessing as multiprocessing


def worker(rank):
    torch.cuda.set_device(0)
    weights = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)
    state = torch.randn(64, 2048, device="cuda", dtype=torch.bfloat16)
    for _ in range(20):
        torch.cuda.nvtx.range_push("step")
        for _ in range(16 * (rank + 1)):
            state = torch.nn.functional.silu(state @ weights) * 0.01
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()


if __name__ == "__main__":
    multiprocessing.spawn(worker, nprocs=2)
