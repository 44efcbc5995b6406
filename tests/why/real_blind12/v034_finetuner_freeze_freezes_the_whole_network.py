# https://github.com/jina-ai/finetuner/issues/435
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ResNet(nn.Module):
    def __init__(self, ch=8, dim=16):
        super().__init__()
        self.conv1 = nn.Conv2d(3, ch, 3, padding=1)
        self.conv2 = nn.Conv2d(ch, ch, 3, padding=1)
        self.fc = nn.Linear(ch, dim)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = torch.relu(x + self.conv2(x))
        return self.fc(x.mean((2, 3)))


class EmbeddingModel(nn.Module):
    def __init__(self, backbone, projection=None):
        super().__init__()
        self.backbone = backbone
        self.projection = projection

    def forward(self, x):
        x = self.backbone(x)
        return x if self.projection is None else self.projection(x)


def build_model(freeze=False, output_dim=None):
    backbone = ResNet()
    projection = nn.Linear(16, output_dim) if output_dim else None
    model = EmbeddingModel(backbone, projection)
    if freeze:
        for param in model.parameters():
            param.requires_grad = False
    return model


def fit(model, batches, learning_rate=1e-3):
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    for anchor, positive, negative in batches:
        loss = F.triplet_margin_loss(model(anchor), model(positive), model(negative))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item())
    return loss


# %%
batches = [torch.randn(3, 8, 3, 8, 8).unbind(0) for _ in range(3)]
model = build_model(freeze=True, output_dim=8)

# %%
loss = fit(model, batches)
