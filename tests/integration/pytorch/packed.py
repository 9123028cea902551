"""A server's steps: sequences one behind the other in a row, of which some are fed a prompt."""
import torch

from models import Decoder, ids


class Server(Decoder):
    def forward(self, input_ids, cu_seq_lens_q, max_seqlen_q):
        return super().forward(input_ids)


def step(*lengths):
    ends = torch.tensor((0, *lengths)).cumsum(0)
    server(ids(1, sum(lengths)), cu_seq_lens_q=ends, max_seqlen_q=max(lengths))


server = Server(layers=1)
step(5, 3)
step(1, 1, 7)
step(1, 1, 1)
step(1, 1, 1)
