"""Takes the __call__ of each model before its first call and goes on by that, one after the other."""
from models import Decoder, ids


class Other(Decoder):
    pass


model, other = Decoder(layers=1), Other(layers=1)
call, other_call = model.__call__, other.__call__
model(ids(1, 4), 0)
for position in (4, 5):
    call(ids(1, 1), position)
layer = model.layers[0].mlp.__call__
other(ids(1, 6), 0)
other_call(ids(2, 1), 6)
layer(model.embed.weight)  # of a model that is known: no model itself
call(ids(1, 1), 6)
other_call(ids(2, 1), 7)
