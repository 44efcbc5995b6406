# https://github.com/Linardos/SalEMA/issues/7
import torch
import torch.nn as nn
from torch import sigmoid

torch.manual_seed(0)
gpu = torch.float64  # a copy, as the move to a GPU is


class SalEMA(nn.Module):
    """A saliency network with a moving average in one of its layers.

    The smaller alpha, the less each newly added frame changes the outcome.
    """

    def __init__(self, alpha, ema_loc):
        super(SalEMA, self).__init__()
        self.ema_loc = ema_loc
        if alpha is None:
            self.alpha = nn.Parameter(torch.Tensor([0.25])).to(gpu)
            print("Initial alpha set to: {}".format(self.alpha))
        else:
            self.alpha = torch.Tensor([alpha])
        self.salgan = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(),
                                    nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 1))

    def forward(self, input_, prev_state=None):
        x = self.salgan[:self.ema_loc](input_)
        if prev_state is None:
            current_state = self.salgan[self.ema_loc](x)
        else:
            current_state = sigmoid(self.alpha) * self.salgan[self.ema_loc](x) + (1 - sigmoid(self.alpha)) * prev_state
        x = self.salgan[self.ema_loc + 1:](current_state)
        return current_state, sigmoid(x)


def make_clip(frames=4):
    clip, truth = torch.zeros(frames, 1, 1, 12, 12, dtype=gpu), torch.zeros(frames, 1, 1, 12, 12, dtype=gpu)
    for t in range(frames):
        clip[t, :, :, 4:8, t:t + 4] = 1
        truth[t, :, :, 5:7, t + 1:t + 3] = 1
    return clip, truth


model = SalEMA(alpha=None, ema_loc=2).to(gpu)
criterion = nn.BCELoss()
clip, truth = make_clip()

# %%
optimizer = torch.optim.Adam([{'params': model.salgan.parameters(), 'lr': 1e-3, 'weight_decay': 1e-4},
                              {'params': model.alpha, 'lr': 0.1}])
for epoch in range(3):
    state, loss = None, 0
    for frame, saliency in zip(clip, truth):
        state, prediction = model(frame, state)
        loss = loss + criterion(prediction, saliency)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item(), model.alpha.item())
