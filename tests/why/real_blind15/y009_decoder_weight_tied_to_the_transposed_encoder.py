# https://www.developerload.com/how-to-share-weights-between-modules-in-pytorch
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class TiedAutoEncoder(nn.Module):
    def __init__(self, inp, out):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inp, out), nn.Tanh())
        self.decoder = nn.Sequential(nn.Linear(out, inp), nn.Sigmoid())

    def tie_weights(self):
        # the decoder shall use the transposed weight of the encoder
        self.decoder[0].weight = self.encoder[0].weight.t()

    def forward(self, input):
        hidden = self.encoder(input)
        return self.decoder(hidden)


def batches(n, size=32):
    """Images of 6 by 6 with one bright row or column."""
    for _ in range(n):
        images = 0.1 * torch.rand(size, 6, 6)
        for image in images:
            line = torch.randint(0, 6, ()).item()
            if torch.rand(()) < 0.5:
                image[line] += 0.8
            else:
                image[:, line] += 0.8
        yield images.view(size, -1)


# %%
model = TiedAutoEncoder(36, 12)
model.tie_weights()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for i, images in enumerate(batches(60)):
    optimizer.zero_grad()
    loss = criterion(model(images), images)
    loss.backward()
    optimizer.step()
    if i % 20 == 0:
        print(i, loss.item())
