"""Prefill and three decode steps of one small decoder, by keywords as generate() calls. It says of itself to be a Llama."""
from models import Decoder, LlamaConfig, ids

model = Decoder(layers=1)
model.config = LlamaConfig()
model(input_ids=ids(2, 5), past_key_values=None)
for _ in range(3):
    model(input_ids=ids(2, 1), past_key_values=((1,),))
