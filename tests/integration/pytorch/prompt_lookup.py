"""Texts of a decoder that checks guesses of its next tokens: of the five that it is fed it keeps three."""
import torch

from models import Decoder, ids

model = Decoder(layers=1)
for _ in range(3):
    model(input_ids=ids(1, 12), past_key_values=None)
    for tokens, before in ((1, 12), (5, 13), (1, 16), (1, 17)):
        cache = ((torch.zeros(1, 1, before, 2),) * 2,)
        model(input_ids=ids(1, tokens), past_key_values=cache)
