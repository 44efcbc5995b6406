# https://github.com/glanceable-io/ordinal-log-loss/issues/2
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F


class Classifier(nn.Module):
    def __init__(self, vocabulary_size, num_labels):
        super().__init__()
        self.num_labels = num_labels
        self.dist_matrix = [[abs(i - j) for j in range(num_labels)] for i in range(num_labels)]
        self.embeddings = nn.Embedding(vocabulary_size, 16)
        self.dense = nn.Linear(16, 16)
        self.classifier = nn.Linear(16, num_labels)

    def forward(self, input_ids, labels=None):
        hidden = torch.tanh(self.dense(self.embeddings(input_ids).mean(dim=1)))
        return SimpleNamespace(logits=self.classifier(hidden))


# %%
class OLL2Trainer:
    def __init__(self, model, distances_require_grad=True):
        self.model = model
        self.distances_require_grad = distances_require_grad
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    def compute_loss(self, model, inputs, return_outputs=False):
        num_classes = model.module.num_labels
        dist_matrix = model.module.dist_matrix
        labels = inputs["labels"]
        outputs = model(**inputs)
        logits = outputs.logits
        probas = F.softmax(logits, dim=1)
        true_labels = [num_classes * [labels[k].item()] for k in range(len(labels))]
        label_ids = len(labels) * [[k for k in range(num_classes)]]
        distances = [
            [float(dist_matrix[true_labels[j][i]][label_ids[j][i]]) for i in range(num_classes)]
            for j in range(len(labels))
        ]
        distances_tensor = torch.tensor(distances, device='cpu', requires_grad=self.distances_require_grad)
        err = -torch.log(1 - probas) * abs(distances_tensor) ** 2
        loss = torch.sum(err, axis=1).mean()
        return (loss, outputs) if return_outputs else loss

    def training_step(self, inputs):
        self.model.train()
        self.optimizer.zero_grad()
        loss = self.compute_loss(self.model, inputs)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


# %%
model = nn.DataParallel(Classifier(vocabulary_size=50, num_labels=5))
trainer = OLL2Trainer(model)
dataset = [{"input_ids": torch.randint(50, (8, 12)), "labels": torch.randint(5, (8,))} for _ in range(4)]
for epoch in range(3):
    for inputs in dataset:
        print(trainer.training_step(inputs))

# %%
# the same step without requires_grad=True
trainer.optimizer.zero_grad()
loss = trainer.compute_loss(model, dataset[0])
loss.backward()
grads = [p.grad.clone() for p in model.parameters()]

trainer.distances_require_grad = False
trainer.optimizer.zero_grad()
trainer.compute_loss(model, dataset[0]).backward()
grads_without = [p.grad.clone() for p in model.parameters()]
