"""Texts whose prompt of twelve tokens comes in three chunks, and three decode steps of each."""
import time

from models import Decoder, LlamaConfig, ids


class Timed(Decoder):
    def forward(self, *args, **kwargs):
        time.sleep(0.01)
        return super().forward(*args, **kwargs)


model = Timed(layers=1)
model.config = LlamaConfig()
for _ in range(4):
    for cache in (None, ((1,),), ((1,),)):
        model(input_ids=ids(1, 4), past_key_values=cache)
    for _ in range(3):
        model(input_ids=ids(1, 1), past_key_values=((1,),))
