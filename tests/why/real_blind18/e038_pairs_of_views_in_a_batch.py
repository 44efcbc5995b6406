# https://github.com/open-mmlab/mmselfsup/issues/159
import torch
import torch.nn as nn

torch.manual_seed(0)


class Backbone(nn.Module):
    def __init__(self, out_channels=32):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, out_channels, 3, stride=2, padding=1)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.conv2(x))


class NonLinearNeck(nn.Module):
    def __init__(self, in_channels=32 * 16, hid_channels=64, out_channels=16):
        super().__init__()
        self.fc0 = nn.Linear(in_channels, hid_channels)
        self.fc1 = nn.Linear(hid_channels, out_channels)

    def forward(self, x):
        return self.fc1(torch.relu(self.fc0(x.flatten(1))))


class ContrastiveHead(nn.Module):
    """Cross entropy in which the positive stands first among the negatives."""

    def __init__(self, temperature=0.1):
        super().__init__()
        self.temperature = temperature
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, pos, neg):
        logits = torch.cat([pos, neg], dim=1) / self.temperature
        return dict(loss=self.criterion(logits, torch.zeros(len(pos), dtype=torch.long)))


class SimCLR(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = Backbone()
        self.neck = NonLinearNeck()
        self.head = ContrastiveHead()

    @staticmethod
    def _create_buffer(N):
        """Where the positive of each row stands once the row has lost its diagonal entry, and the rest."""
        pos_ind = 2 * torch.arange(N).repeat_interleave(2).unsqueeze(1)
        mask = ~torch.eye(2 * N, dtype=torch.bool)
        neg_mask = torch.ones(2 * N, 2 * N - 1, dtype=torch.bool).scatter(1, pos_ind, False)
        return mask, pos_ind, neg_mask

    def extract_feat(self, img):
        z = self.neck(self.backbone(img))
        return nn.functional.normalize(z, dim=1)

    def forward_train(self, img):
        img = torch.cat(img, 0)
        z = self.extract_feat(img)
        rows = z.size(0)
        mask, pos_ind, neg_mask = self._create_buffer(rows // 2)
        s = (z @ z.t())[mask].view(rows, rows - 1)
        positive = s.gather(1, pos_ind)
        negative = s[neg_mask].view(rows, rows - 2)
        return self.head(positive, negative)


# %%
model = SimCLR()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
images = torch.randn(16, 3, 16, 16)


def views(images):
    return [images + 0.2 * torch.randn_like(images) for _ in range(2)]


for it in range(100):
    losses = model.forward_train(views(images))
    optimizer.zero_grad()
    losses['loss'].backward()
    optimizer.step()
    if it % 25 == 24:
        print(it, losses['loss'].item())

with torch.no_grad():
    view1, view2 = views(images)
    similarity = model.extract_feat(view1) @ model.extract_feat(view2).t()
    nearest = (similarity.argmax(1) == torch.arange(16)).float().mean()
print("images whose nearest view is their own:", nearest.item())
