# https://discuss.pytorch.org/t/set-requires-grad-false-for-earlier-layers-in-a-model/187063
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self, channels=3, width=16):
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(channels, width, 3, padding=1), nn.ReLU())
        self.down2 = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU())

    def forward(self, x):
        skip = self.down1(x)
        return self.down2(skip), skip


class Decoder(nn.Module):
    def __init__(self, width=16, classes=3):
        super().__init__()
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.norm = nn.BatchNorm2d(width)
        self.out = nn.Sequential(nn.Conv2d(2 * width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, classes, 1))

    def forward(self, bottom, skip):
        return self.out(torch.cat([torch.relu(self.norm(self.up(bottom))), skip], 1))


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = Encoder(), Decoder()

    def forward(self, x):
        return self.decoder(*self.encoder(x))


def draw_images(n, camera):
    masks = torch.zeros(n, 8, 8, dtype=torch.long)
    for i in range(n):
        y, x, k = torch.randint(0, 5, (3,)).tolist()
        masks[i, y:y + 4, x:x + 4] = 1 + k % 2
    colors = torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.2, 0.0], [0.0, 0.2, 1.0]])
    images = colors[masks].permute(0, 3, 1, 2) + 0.2 * torch.randn(n, 3, 8, 8)
    return torch.einsum('oc,nchw->nohw', camera, images), masks


def pixel_accuracy(model, images, masks):
    model.eval()
    with torch.no_grad():
        return (model(images).argmax(1) == masks).float().mean().item()


# %%
old_camera, new_camera = torch.eye(3), torch.tensor([[0.1, 0.2, 0.9], [0.3, 0.5, 0.2], [0.8, 0.1, 0.1]])
model = Segmenter()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for _ in range(100):
    images, masks = draw_images(32, old_camera)
    optimizer.zero_grad()
    criterion(model(images), masks).backward()
    optimizer.step()
model.zero_grad()

# %%
for param in model.decoder.parameters():
    param.requires_grad = False
optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=3e-3)
loader = DataLoader(TensorDataset(*draw_images(320, new_camera)), batch_size=32, shuffle=True)
test_images, test_masks = draw_images(100, new_camera)
before = pixel_accuracy(model, test_images, test_masks)
decoder_before = [p.clone() for p in model.decoder.parameters()]

# %%
for epoch in range(6):
    model.train()
    model.decoder.eval()
    running_loss = 0.0
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    print('epoch', epoch + 1, 'loss', running_loss / len(loader))

# %%
after = pixel_accuracy(model, test_images, test_masks)
print(before, after)
assert all(p.grad is not None and p.grad.any() for p in model.encoder.parameters())
assert all(p.grad is None for p in model.decoder.parameters())
assert all(torch.equal(a, b) for a, b in zip(decoder_before, model.decoder.parameters()))
assert after > 0.95 and after > before
