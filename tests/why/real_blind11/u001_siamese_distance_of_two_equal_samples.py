# https://github.com/adambielski/siamese-triplet/issues/18
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class EmbeddingNet(nn.Module):
    def __init__(self):
        super(EmbeddingNet, self).__init__()
        self.convnet = nn.Sequential(nn.Conv2d(1, 8, 5), nn.PReLU(), nn.MaxPool2d(2, stride=2))
        self.fc = nn.Sequential(nn.Linear(8 * 6 * 6, 32), nn.PReLU(), nn.Linear(32, 2))

    def forward(self, x):
        output = self.convnet(x)
        output = output.view(output.size()[0], -1)
        return self.fc(output)


class ContrastiveLoss(nn.Module):
    """
    Takes embeddings of two samples and a target label == 1 if samples are from the same class and label == 0 otherwise
    """

    def __init__(self, margin):
        super(ContrastiveLoss, self).__init__()
        self.margin = margin

    def forward(self, output1, output2, target, size_average=True):
        distances = (output2 - output1).pow(2).sum(1)  # squared distances
        losses = 0.5 * (target.float() * distances +
                        (1 + -1 * target).float() * F.relu(self.margin - distances.sqrt()).pow(2))
        return losses.mean() if size_average else losses.sum()


# %%
model = EmbeddingNet()
loss_fn = ContrastiveLoss(margin=1.)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

img1 = torch.randn(16, 1, 16, 16)
img2 = torch.randn(16, 1, 16, 16)
target = torch.randint(0, 2, (16,))
img2[3], target[3] = img1[3], 1

# %%
for batch_idx in range(2):
    optimizer.zero_grad()
    output1, output2 = model(img1), model(img2)
    loss = loss_fn(output1, output2, target)
    loss.backward()
    optimizer.step()
    print(batch_idx, loss.item())
