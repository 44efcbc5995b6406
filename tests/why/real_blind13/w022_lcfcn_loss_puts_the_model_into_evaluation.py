# https://github.com/ServiceNow/LCFCN/issues/20
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class FCN(nn.Module):
    def __init__(self, n_classes=2):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.drop = nn.Dropout2d(0.3)
        self.score = nn.Conv2d(8, n_classes, 3, padding=1)

    def forward(self, x):
        return self.score(self.drop(F.relu(self.norm(self.conv(x)))))

    @torch.no_grad()
    def predict(self, batch):
        self.eval()
        return self(batch["images"]).argmax(1)


def get_blob_dict(model, batch):
    blobs = model.predict(batch)
    return {"blobs": blobs, "size": int(blobs.sum())}


def compute_loss(model, batch):
    model.train()
    N = batch["images"].size(0)
    assert N == 1
    blob_dict = get_blob_dict(model, batch)
    images, points, counts = batch["images"], batch["points"], batch["counts"]
    O = model(images)
    S_log = F.log_softmax(O, 1)

    # IMAGE LOSS
    S = F.softmax(O, 1)
    loss = -torch.log(S[0, 1].max() + 1e-6)
    # POINT LOSS
    loss = loss + F.nll_loss(S_log, points, ignore_index=0, reduction="sum") / counts
    # FALSE POSITIVES
    if blob_dict["size"] > 0:
        false = (blob_dict["blobs"] == 1) & (points == 0)
        loss = loss - S_log[:, 0][false].sum() / blob_dict["size"]
    return loss


def make_batch():
    images, points = 0.2 * torch.randn(1, 1, 16, 16), torch.zeros(1, 16, 16, dtype=torch.long)
    for _ in range(3):
        i, j = torch.randint(2, 14, (2,)).tolist()
        images[0, 0, i - 1:i + 2, j - 1:j + 2] += 1
        points[0, i, j] = 1
    return {"images": images, "points": points, "counts": points.sum()}


# %%
model = FCN()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for i in range(30):
    batch = make_batch()
    optimizer.zero_grad()
    loss = compute_loss(model, batch)
    loss.backward()
    optimizer.step()
print(loss.item(), model.norm.running_mean)
