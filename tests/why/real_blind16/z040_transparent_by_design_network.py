# https://github.com/davidmascharka/tbd-nets/issues/8
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class AttentionModule(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv1 = nn.Conv2d(dim, dim, kernel_size=3, padding=1)
        self.conv2 = nn.Conv2d(dim, 1, kernel_size=1)

    def forward(self, feats, attn):
        return torch.sigmoid(self.conv2(F.relu(self.conv1(feats * attn))))


class TbDNet(nn.Module):
    """Modules put together by a program, with a classifier over what they attend to."""

    def __init__(self, dim=6, n_modules=3, n_answers=4):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(2, dim, 3, padding=1), nn.ReLU())
        self.attention = nn.ModuleList([AttentionModule(dim) for _ in range(n_modules)])
        self.classifier = nn.Linear(dim, n_answers)
        self.attention_sum = 0

    def forward(self, feats, programs):
        feats = self.stem(feats)
        final = []
        self.attention_sum = 0
        for feat, program in zip(feats, programs):
            attn = torch.ones(1, 1, *feat.shape[1:])
            for module in program.tolist():
                attn = self.attention[module](feat.unsqueeze(0), attn)
                self.attention_sum += attn.sum()
            final.append((feat * attn).mean((2, 3)))
        return self.classifier(torch.cat(final))


def loader(n_batches):
    for _ in range(n_batches):
        programs = torch.randint(0, 3, (8, 2))
        feats = torch.randn(8, 2, 6, 6)
        yield feats, (feats.mean((1, 2, 3)) > 0).long() + 2 * (programs[:, 0] == 0), programs


def check_accuracy(n_batches):
    """Convenience function for checking the accuracy of the model over all the data."""
    torch.set_grad_enabled(False)
    num_correct, num_samples = 0, 0
    for feats, answers, programs in loader(n_batches):
        _, preds = tbd_net(feats, programs).max(1)
        num_correct += (preds == answers).sum().item()
        num_samples += preds.size(0)
    return num_correct, num_samples


def train_epoch():
    """Convenience function to train the model for one epoch."""
    num_correct, num_samples = 0, 0
    for feats, answers, programs in loader(6):
        optimizer.zero_grad()
        outs = tbd_net(feats, programs)
        _, preds = outs.max(1)
        num_correct += (preds == answers).sum().item()
        num_samples += preds.size(0)
        loss = xent_loss(outs, answers)
        loss += tbd_net.attention_sum * 2.5e-07
        loss.backward()
        optimizer.step()
    val_correct, val_samples = check_accuracy(3)
    print("train accuracy", num_correct / num_samples, "val accuracy", val_correct / val_samples)


# %%
tbd_net = TbDNet()
optimizer = torch.optim.Adam(tbd_net.parameters(), 1e-04)
xent_loss = nn.CrossEntropyLoss()
for epoch in range(3):
    print("starting epoch", epoch)
    train_epoch()
