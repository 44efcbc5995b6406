# https://github.com/eriklindernoren/PyTorch-YOLOv3/issues/325
import types
import torch
import torch.nn as nn

torch.manual_seed(0)


class Darknet(nn.Module):
    """One box for each image."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.LeakyReLU(0.1),
                                      nn.Conv2d(8, 16, 3, 2, 1), nn.LeakyReLU(0.1), nn.Flatten())
        self.yolo = nn.Linear(16 * 4 * 4, 5)
        self.seen = 0

    def forward(self, x, targets=None):
        output = self.yolo(self.features(x))
        boxes, conf = torch.sigmoid(output[:, :4]), output[:, 4]
        if targets is None:
            return output
        loss_box = nn.functional.mse_loss(boxes, targets)
        loss_conf = nn.functional.binary_cross_entropy_with_logits(conf, torch.ones_like(conf))
        return loss_box + loss_conf, output


def get_dataloader(n, batch_size=4):
    loader = []
    for b in range(n):
        imgs, targets = torch.zeros(batch_size, 1, 16, 16), torch.zeros(batch_size, 4)
        for k in range(batch_size):
            x, y = torch.randint(0, 10, (2,)).tolist()
            imgs[k, 0, y:y + 6, x:x + 6] = 1
            targets[k] = torch.tensor([x / 16, y / 16, 6 / 16, 6 / 16])
        loader.append((f"batch {b}", imgs, targets))
    return loader


# %%
opt = types.SimpleNamespace(epochs=3, gradient_accumulations=1)
model = Darknet()
dataloader = get_dataloader(8)
optimizer = torch.optim.Adam(model.parameters())

for epoch in range(opt.epochs):
    model.train()
    for batch_i, (_, imgs, targets) in enumerate(dataloader):
        batches_done = len(dataloader) * epoch + batch_i

        loss, outputs = model(imgs, targets)
        loss.backward()

        if batches_done % opt.gradient_accumulations:
            # Accumulates gradient before each step
            optimizer.step()
            optimizer.zero_grad()

        model.seen += imgs.size(0)
    print(f"---- [Epoch {epoch}/{opt.epochs}] ---- loss {loss.item()}")
