# https://github.com/sicara/easy-few-shot-learning/pull/129
import copy

import torch
from torch import nn, optim

torch.manual_seed(0)
labels = torch.randint(0, 4, (80,))
images = torch.randn(80, 16) + labels[:, None]
val_labels = torch.randint(0, 4, (40,))
val_images = torch.randn(40, 16) + val_labels[:, None]
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
LOSS_FUNCTION = nn.CrossEntropyLoss()
train_optimizer = optim.SGD(model.parameters(), lr=0.05)
train_scheduler = optim.lr_scheduler.MultiStepLR(train_optimizer, milestones=[4], gamma=100.0)


# %%
def training_epoch(model_, optimizer):
    model_.train()
    for start in range(0, 80, 20):
        optimizer.zero_grad()
        loss = LOSS_FUNCTION(model_(images[start:start + 20]), labels[start:start + 20])
        loss.backward()
        optimizer.step()
    return loss


def evaluate(model_):
    model_.eval()
    with torch.no_grad():
        return (model_(val_images).argmax(1) == val_labels).float().mean().item()


# %%
best_state = model.state_dict()
best_validation_accuracy = 0.0
for epoch in range(8):
    print(f"Epoch {epoch}")
    average_loss = training_epoch(model, train_optimizer)
    validation_accuracy = evaluate(model)

    if validation_accuracy > best_validation_accuracy:
        best_validation_accuracy = validation_accuracy
        best_state = model.state_dict()
        print("Ding ding ding! We found a new best model!")

    train_scheduler.step()

print(best_validation_accuracy)
model_best = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
model_best.load_state_dict(best_state)
print(evaluate(model_best))
