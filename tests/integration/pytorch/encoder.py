"""An image encoder, called twice."""
import torch

from models import Encoder

model = Encoder()
for _ in range(2):
    model(torch.zeros(1, 3, 8, 8))
