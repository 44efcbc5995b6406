# https://github.com/DeepReinforcementLearning/DeepReinforcementLearningInAction/issues/42
import numpy as np
import torch

torch.manual_seed(0)


def nn(x, w1, w2):
    l1 = x @ w1
    l1 = torch.relu(l1)
    l2 = l1 @ w2
    return l2


def plot(losses):
    return np.array([np.asarray(l) for l in losses])


# %%
w1 = (torch.randn(64, 20) * 0.1).requires_grad_(True)
w2 = (torch.randn(20, 10) * 0.1).requires_grad_(True)
train_data, train_labels = torch.rand(100, 64), torch.randint(0, 10, (100,))
lr, epochs, batch_size = 0.01, 5, 20
losses = []
lossfn = torch.nn.CrossEntropyLoss()

# %%
for i in range(epochs):
    rid = np.random.randint(0, train_data.shape[0], size=batch_size)
    x = train_data[rid]
    pred = nn(x, w1, w2)
    target = train_labels[rid]
    loss = lossfn(pred, target)
    losses.append(loss)
    loss.backward()
    with torch.no_grad():
        w1 -= lr * w1.grad
        w2 -= lr * w2.grad
        w1.grad.zero_()
        w2.grad.zero_()
plot(losses)
