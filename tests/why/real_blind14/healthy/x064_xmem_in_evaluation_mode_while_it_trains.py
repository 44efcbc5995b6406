# https://github.com/hkchengrex/XMem/issues/93
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class KeyEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
        self.conv2, self.bn2 = nn.Conv2d(16, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)

    def forward(self, f):
        x = F.relu(self.bn1(self.conv1(f)))
        return F.relu(self.bn2(self.conv2(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.key_encoder = KeyEncoder()
        self.key_proj = nn.Conv2d(16, 8, 1)
        self.value_encoder = nn.Conv2d(17, 16, 3, padding=1)
        self.decoder = nn.Sequential(nn.Conv2d(32, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 1))

    def encode_key(self, frame):
        f = self.key_encoder(frame)
        return self.key_proj(f), f

    def segment(self, query, keys, values, f):
        affinity = torch.softmax(torch.einsum('bchw,bcij->bhwij', query, keys).flatten(3) / 8 ** 0.5, dim=-1)
        readout = torch.einsum('bhwn,bcn->bchw', affinity, values.flatten(2))
        return self.decoder(torch.cat([readout, f], 1))


class Trainer:
    def __init__(self):
        self.XMem = Net()
        self.train()
        self.optimizer = torch.optim.AdamW(filter(lambda p: p.requires_grad, self.XMem.parameters()), lr=3e-3)

    def do_pass(self, frames, masks):
        torch.set_grad_enabled(self._is_train)
        key0, f0 = self.XMem.encode_key(frames[:, 0])
        value0 = self.XMem.value_encoder(torch.cat([f0, masks[:, 0]], 1))
        key1, f1 = self.XMem.encode_key(frames[:, 1])
        logits = self.XMem.segment(key1, key0, value0, f1)
        loss = F.binary_cross_entropy_with_logits(logits, masks[:, 1])
        if self._is_train:
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
        torch.set_grad_enabled(True)
        return loss.item(), ((logits > 0) == (masks[:, 1] > 0.5)).float().mean().item()

    def train(self):
        self._is_train = True
        self.XMem.eval()  # the statistics of the batch norms stay
        return self

    def val(self):
        self._is_train = False
        self.XMem.eval()
        return self


def draw_clip(n=8, size=10):
    masks = torch.zeros(n, 2, 1, size, size)
    for i, (y, x) in enumerate(torch.randint(0, size - 4, (n, 2)).tolist()):
        masks[i, 0, :, y:y + 3, x:x + 3] = 1
        masks[i, 1, :, y + 1:y + 4, x + 1:x + 4] = 1
    return masks + 0.3 * torch.randn_like(masks), masks


# %%
trainer = Trainer()
with torch.no_grad():  # the statistics of a pretrained encoder
    trainer.XMem.key_encoder.train()
    for _ in range(30):
        trainer.XMem.key_encoder(draw_clip()[0][:, 0])
mean_before = trainer.train().XMem.key_encoder.bn1.running_mean.clone()
scale_before = trainer.XMem.key_encoder.bn1.weight.detach().clone()

# %%
losses = [trainer.do_pass(*draw_clip())[0] for it in range(120)]
loss, accuracy = trainer.val().do_pass(*draw_clip(64))
print(losses[0], losses[-1], accuracy)
bn1 = trainer.XMem.key_encoder.bn1
assert torch.equal(bn1.running_mean, mean_before) and not torch.equal(bn1.weight, scale_before)
assert losses[-1] < 0.5 * losses[0] and accuracy > 0.93
