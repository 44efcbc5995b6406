# https://github.com/mosaicml/composer/pull/1240
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def ensure_tuple(x):
    if isinstance(x, (list, tuple)):
        return tuple(x)
    return (x,)


class ComposerModel(nn.Module):
    def loss(self, outputs, batch):
        raise NotImplementedError


class DetectorModel(ComposerModel):
    def __init__(self, n_classes=4):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(),
                                      nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.class_head = nn.Linear(32, n_classes)
        self.box_head = nn.Linear(32, 4)

    def forward(self, batch):
        features = self.backbone(batch[0])
        return self.class_head(features), self.box_head(features)

    def loss(self, outputs, batch):
        logits, boxes = outputs
        _, labels, targets = batch
        return F.cross_entropy(logits, labels), F.smooth_l1_loss(boxes, targets)


class Trainer:
    def __init__(self, model, optimizer, train_dataloader, grad_accum=1, max_epochs=1):
        self.model, self.optimizer = model, optimizer
        self.train_dataloader = train_dataloader
        self.grad_accum, self.max_epochs = grad_accum, max_epochs

    def split_batch(self, batch):
        return list(zip(*(part.chunk(self.grad_accum) for part in batch)))

    def fit(self):
        for epoch in range(self.max_epochs):
            for batch in self.train_dataloader:
                total_loss = self._train_batch(batch)
            print(epoch, total_loss.item())

    def _train_batch(self, batch):
        self.model.train()
        self.optimizer.zero_grad()
        total_loss = self._train_microbatches(self.split_batch(batch), len(batch[0]))
        self.optimizer.step()
        return total_loss

    def _train_microbatches(self, microbatches, current_batch_size):
        total_loss = torch.tensor(0.0)
        for microbatch in microbatches:
            self._train_microbatch(microbatch, current_batch_size, total_loss)
        return total_loss

    def _train_microbatch(self, microbatch, current_batch_size, total_loss):
        microbatch_num_samples = len(microbatch[0])
        outputs = self.model(microbatch)
        losses = ensure_tuple(self.model.loss(outputs, microbatch))
        for loss in losses:
            loss.mul_(microbatch_num_samples / current_batch_size)
            total_loss += loss.detach().clone()
        for loss in losses:
            loss.backward()


# %%
model = DetectorModel()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
train_dataloader = [(torch.rand(8, 3, 16, 16), torch.randint(0, 4, (8,)), torch.rand(8, 4)) for _ in range(3)]
trainer = Trainer(model, optimizer, train_dataloader, grad_accum=2, max_epochs=2)

# %%
trainer.fit()
