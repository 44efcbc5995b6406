# https://github.com/learnables/learn2learn/blob/master/examples/vision/anil_fc100.py
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class MAML(nn.Module):
    def __init__(self, module, lr):
        super().__init__()
        self.module, self.lr = module, lr

    def clone(self):
        learner = MAML.__new__(MAML)
        nn.Module.__init__(learner)
        learner.lr = self.lr
        learner.fast = [p.clone() for p in self.parameters()]
        return learner

    def adapt(self, loss):
        grads = torch.autograd.grad(loss, self.fast, create_graph=True)
        self.fast = [p - self.lr * g for p, g in zip(self.fast, grads)]

    def forward(self, x):
        return F.linear(x, *self.fast)


def sample_task(ways=3, shots=5):
    labels = torch.arange(ways).repeat_interleave(2 * shots)
    means = torch.randn(ways, 1, 6, 6)
    data = means[labels] + 0.5 * torch.randn(len(labels), 1, 6, 6)
    return data, labels


def accuracy(predictions, targets):
    predictions = predictions.argmax(dim=1).view(targets.shape)
    return (predictions == targets).sum().float() / targets.size(0)


def fast_adapt(batch, learner, features, loss, adaptation_steps, shots, ways):
    data, labels = batch
    data = features(data)

    # Separate data into adaptation/evaluation sets
    adaptation_indices = torch.zeros(data.size(0), dtype=torch.bool)
    adaptation_indices[torch.arange(shots * ways) * 2] = True
    adaptation_data, adaptation_labels = data[adaptation_indices], labels[adaptation_indices]
    evaluation_data, evaluation_labels = data[~adaptation_indices], labels[~adaptation_indices]

    for step in range(adaptation_steps):
        train_error = loss(learner(adaptation_data), adaptation_labels)
        learner.adapt(train_error)

    predictions = learner(evaluation_data)
    valid_error = loss(predictions, evaluation_labels)
    valid_accuracy = accuracy(predictions, evaluation_labels)
    return valid_error, valid_accuracy


# %%
ways, shots, adapt_steps, meta_bsz = 3, 5, 3, 8
features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
head = MAML(nn.Linear(72, ways), lr=0.1)
all_parameters = list(features.parameters()) + list(head.parameters())
optimizer = torch.optim.Adam(all_parameters, lr=0.01)
loss = nn.CrossEntropyLoss(reduction='mean')

# %%
history = []
for iteration in range(60):
    optimizer.zero_grad()
    meta_train_error = meta_valid_error = meta_valid_accuracy = 0.0
    for task in range(meta_bsz):
        # Compute meta-training loss
        learner = head.clone()
        evaluation_error, _ = fast_adapt(sample_task(), learner, features, loss, adapt_steps, shots, ways)
        evaluation_error.backward()
        meta_train_error += evaluation_error.item()

        # Compute meta-validation loss
        learner = head.clone()
        evaluation_error, evaluation_accuracy = fast_adapt(
            sample_task(), learner, features, loss, adapt_steps, shots, ways)
        meta_valid_error += evaluation_error.item()
        meta_valid_accuracy += evaluation_accuracy.item()

    # Average the accumulated gradients and optimize
    for p in all_parameters:
        p.grad.data.mul_(1.0 / meta_bsz)
    optimizer.step()
    history.append(meta_train_error / meta_bsz)
    if iteration % 20 == 0:
        print(iteration, history[-1], meta_valid_error / meta_bsz, meta_valid_accuracy / meta_bsz)

print(history[-1], meta_valid_accuracy / meta_bsz)
assert history[-1] < 0.5 * history[0] and meta_valid_accuracy / meta_bsz > 0.8
