"""Prefill and three decode steps of one small decoder, by keywords as generate() calls. It says of itself to be a Llama."""
import torch
from models import Decoder, ids


class Config:
    def to_dict(self):
        return {"model_type": "llama", "architectures": None, "hidden_size": 64, "intermediate_size": 128,
                "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 256,
                "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu", "max_position_embeddings": 64,
                "tie_word_embeddings": False, "dtype": torch.float32}


model = Decoder(layers=1)
model.config = Config()
model(input_ids=ids(2, 5), past_key_values=None)
for _ in range(3):
    model(input_ids=ids(2, 1), past_key_values=((1,),))
