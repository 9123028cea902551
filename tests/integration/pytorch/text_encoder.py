"""An encoder of somebody's own, which takes token ids as a decoder does: three texts."""
from models import Decoder, ids

model = Decoder(layers=1)
for length in (7, 12, 7):
    model(ids(2, length))
