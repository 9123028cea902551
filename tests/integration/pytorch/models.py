"""Small models as people write them, for the programs beside this file."""
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.out = nn.Linear(8, 8)

    def forward(self, x):  # [..., tokens, 8]
        q, k, v = self.qkv(x).chunk(3, -1)
        return self.out((q @ k.transpose(-1, -2)).softmax(-1) @ v)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = Attention()
        self.mlp = nn.Sequential(nn.Linear(8, 8), nn.GELU())

    def forward(self, x):
        return self.mlp(self.attn(x))


class Decoder(nn.Module):
    """Takes its cache as transformers' models do, and as people's own: by any name, or by a start position."""

    def __init__(self, layers=2):
        super().__init__()
        self.embed = nn.Embedding(16, 8)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.head = nn.Linear(8, 16)

    def forward(self, input_ids=None, start=0, past_key_values=None, inputs_embeds=None):
        x = self.embed(input_ids) if inputs_embeds is None else inputs_embeds
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class LlamaConfig:
    """Of a model that says of itself to be a small Llama."""

    def to_dict(self):
        return {"model_type": "llama", "architectures": None, "hidden_size": 64, "intermediate_size": 128,
                "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 256,
                "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu", "max_position_embeddings": 64,
                "tie_word_embeddings": False, "dtype": torch.float32}


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 8, 4, 4)
        self.layers = nn.Sequential(Layer(), Layer())

    def forward(self, pixels):  # [batch, 3, 8, 8]
        return self.layers(self.patches(pixels).flatten(2).transpose(1, 2))


def ids(*shape):
    return torch.zeros(shape, dtype=torch.long)
