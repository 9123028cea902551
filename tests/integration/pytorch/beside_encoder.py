"""Two texts of a decoder whose prompt is one token, as of those beside an encoder. transformers' caches are played."""
from models import Decoder, ids


class DynamicCache:
    length = 0

    def get_seq_length(self):
        if self.length is None:
            raise ValueError("no layer of it has keys")
        return self.length


class EncoderDecoderCache:
    def __init__(self):
        self.self_attention_cache = DynamicCache()


class Speaker(Decoder):
    def forward(self, decoder_input_ids, past_key_values):
        past_key_values.self_attention_cache.length = 1
        return super().forward(decoder_input_ids)


speaker = Speaker(layers=1)
for _ in range(2):
    cache = EncoderDecoderCache()
    for _ in range(3):
        speaker(decoder_input_ids=ids(1, 1), past_key_values=cache)
cache.self_attention_cache.length = None
speaker(decoder_input_ids=ids(1, 1), past_key_values=cache)
