# https://github.com/kinux98/SSL_ELN/issues/1
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Trainer:
    def __init__(self):
        self.warm_up_epoch = 1
        self.enc, self.dec = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 4, 1)
        self.enc2, self.dec2 = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 4, 1)
        self.enc2.load_state_dict(self.enc.state_dict())
        self.dec2.load_state_dict(self.dec.state_dict())
        for p in [*self.enc2.parameters(), *self.dec2.parameters()]:
            p.requires_grad = False
        self.optimizer = torch.optim.SGD([*self.enc.parameters(), *self.dec.parameters()], lr=0.05, momentum=0.9)

    def student(self, x):
        return self.dec(F.relu(self.enc(x)))

    def teacher(self, x):
        return self.dec2(F.relu(self.enc2(x)))

    @torch.no_grad()
    def update_teacher(self, alpha=0.9):
        for mine, theirs in ((self.enc2, self.enc), (self.dec2, self.dec)):
            for p2, p in zip(mine.parameters(), theirs.parameters()):
                p2.mul_(alpha).add_(p, alpha=1 - alpha)

    def train_both(self, epoch, labeled, labels, unlabeled):
        if epoch >= (self.warm_up_epoch+1):
            self.enc.load_state_dict(self.enc2.state_dict())
            self.dec.load_state_dict(self.dec2.state_dict())
        for i in range(4):
            loss = F.cross_entropy(self.student(labeled), labels)
            if epoch >= self.warm_up_epoch:
                with torch.no_grad():
                    pseudo = self.teacher(unlabeled).argmax(1)
                loss = loss + 0.2 * F.cross_entropy(self.student(unlabeled + 0.05 * torch.randn_like(unlabeled)), pseudo)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.update_teacher()
        return loss.item()


# %%
trainer = Trainer()
labels = torch.randint(0, 4, (4, 8, 8))
labeled = torch.randn(4, 3, 8, 8) * 0.3 + labels[:, None]
unlabeled = torch.randn(4, 3, 8, 8) * 0.3 + torch.randint(0, 4, (4, 1, 8, 8))
losses = []
for epoch in range(6):
    losses.append(trainer.train_both(epoch, labeled, labels, unlabeled))
    print(epoch, losses[-1])
