"""Two models on one thread. "encoder": one runs before each prefill of the other. "draft": both decode in turns, as in
speculative decoding. "split": one's prefill and the other's decode are modules of one decoder."""
import sys
import time

import torch

from models import Decoder, Encoder, ids


class Tower(Encoder):
    def forward(self, pixels):
        time.sleep(0.02)
        return super().forward(pixels)


class Draft(Decoder):
    pass


encoder, draft, model = Tower(), Draft(layers=1), Decoder(layers=1)
for _ in range(3):
    if sys.argv[1] == "encoder":
        encoder(torch.zeros(1, 3, 8, 8))
    model(input_ids=ids(1, 6), past_key_values=None)
    if sys.argv[1] == "draft":
        draft(input_ids=ids(1, 6), past_key_values=None)
    for _ in range(3):
        if sys.argv[1] == "encoder":
            model(input_ids=ids(1, 1), past_key_values=((1,),))
        else:
            draft(input_ids=ids(1, 1), past_key_values=((1,),))
        if sys.argv[1] == "draft":
            model(input_ids=ids(1, 4), past_key_values=((1,),))
