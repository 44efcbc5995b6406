# https://github.com/roman-vygon/triplet_loss_kws/issues/6
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class NonTrainableNM(nn.Module):
    """A neural module without weights: it is called without gradients."""
    def __call__(self, *input, **kwargs):
        with torch.no_grad():
            return self.forward(*input, **kwargs)


class L2Regularizer(NonTrainableNM):
    """Performs L2 regularization over samples.
        i.e. makes the sum of squares of embeddings equal to 1
    """
    def regularize(self, embeds):
        l2_embeds = F.normalize(embeds, p=2, dim=-1)
        return l2_embeds

    def forward(self, embeds):
        l2_signal = self.regularize(embeds)
        return l2_signal


class TripletLoss(nn.Module):
    def __init__(self, margin=0.5):
        super().__init__()
        self.margin = margin

    def forward(self, embeds, labels):
        anchor, positive, negative = embeds[0::3], embeds[1::3], embeds[2::3]
        ap_distances = (anchor - positive).pow(2).sum(1)
        an_distances = (anchor - negative).pow(2).sum(1)
        losses = F.relu(ap_distances - an_distances + self.margin)

        mean_losses = losses.mean()
        mean_losses.requires_grad=True
        return mean_losses


class JasperEncoder(nn.Module):
    def __init__(self, feat_in=16, dim=12):
        super().__init__()
        self.conv1 = nn.Conv1d(feat_in, 24, 5, padding=2)
        self.bn1 = nn.BatchNorm1d(24)
        self.conv2 = nn.Conv1d(24, dim, 1)

    def forward(self, audio_signal):
        x = F.relu(self.bn1(self.conv1(audio_signal)))
        return self.conv2(x).mean(-1)


# %%
encoder = JasperEncoder()
l2_regularizer = L2Regularizer()
criterion = TripletLoss()
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-2)
patterns = torch.randn(4, 16, 1)

for step in range(8):
    keyword = torch.randint(0, 4, (8,))
    other = (keyword + torch.randint(1, 4, (8,))) % 4
    labels = torch.stack([keyword, keyword, other], dim=1).flatten()
    audio = patterns[labels] + 0.5 * torch.randn(24, 16, 20)
    embeds = l2_regularizer(encoder(audio))
    loss = criterion(embeds, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
