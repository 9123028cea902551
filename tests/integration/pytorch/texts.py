"""A warm-up of one prefill, then texts of the lengths that are given: "2 5 5" is as many decode steps after each;
"fails" after two."""
import sys
import time

from models import Decoder, LlamaConfig, ids


class Timed(Decoder):
    """A step takes a time that others do not change much."""

    def forward(self, *args, **kwargs):
        time.sleep(0.005)
        return super().forward(*args, **kwargs)


model = Timed(layers=1)
model.config = LlamaConfig()
model(input_ids=ids(2, 5), past_key_values=None)
for steps in sys.argv[1:]:
    model(input_ids=ids(2, 5), past_key_values=None)
    for _ in range(2 if steps == "fails" else int(steps)):
        model(input_ids=ids(2, 1), past_key_values=((1,),))
    if steps == "fails":
        raise ValueError("the input ended")
