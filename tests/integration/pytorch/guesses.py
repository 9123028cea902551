"""Which calls check guesses: those whose tokens stay in the cache in part. Without torch."""
import os
import sys
import types

sys.path.insert(0, os.environ["PROFGATE_ADAPTER"])
from profgate_pytorch_stages import DECODE_STEP, FORWARD, PREFILL, cache_length
from profgate_pytorch_texts import Guesses


def told(*calls, batch=1):
    """Of calls by their tokens and by those before them."""
    guesses = Guesses()
    for tokens, before in calls:
        guesses.add(7, "Model", DECODE_STEP if tokens == 1 else PREFILL, batch, tokens, lambda: before)
        guesses.add(8, "Encoder", FORWARD, None, None, lambda: 1 / 0)
    return guesses.told()


assert told((12, 0), (5, 12), (5, 14), (1, 19)) == ["Model"]  # two of five were right
assert told((12, 0), (1, 12), (5, 13), (1, 14)) == ["Model"]
assert told((12, 0), (1, 12), (5, 13), (1, 18)) == []  # a chat's next turn, or all were right
assert told((12, 0), (12, 12), (7, 24), (1, 31)) == []  # chunks
assert told((12, 0), (1, 12), (12, 0), (1, 12)) == []  # the next text
assert told((12, 8), (1, 20), (12, 8), (12, 8), (1, 20)) == []  # texts behind one beginning that stays in the cache
assert told((12, 0), (5, 12), (5, 14)) == []  # it never decodes
assert told((12, 0), (5, None), (1, None)) == []  # a static cache does not tell

DynamicCache = type("DynamicCache", (), {"get_seq_length": lambda self: 9})
tensor = types.SimpleNamespace(shape=(1, 4, 17, 64))
assert cache_length((), {"past_key_values": DynamicCache()}) == 9
assert cache_length((), {"past_key_values": ((tensor, tensor),)}) == 17
assert cache_length((None, 5), {}) == cache_length((), {"start_pos": 5}) == 5
for cache in (None, (), ((1,),), ((),), object()):
    assert cache_length((), {"past_key_values": cache}) is None, cache
print("as it is")
