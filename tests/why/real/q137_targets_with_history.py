# https://github.com/zhangyu2234/Deep-learning-by-hand
import torch

# Randomly generate our training samples and train labels
num_samples = 200
num_features = 2
num_hiddens = 2
# train samples
X = torch.randn((num_samples, num_features), dtype=torch.float32)
true_W = torch.randn((num_hiddens, 1), requires_grad=True, dtype=torch.float32)
true_b = torch.randn(1, requires_grad=True, dtype=torch.float32)
Y = torch.mm(X, true_W) + true_b


# fc
def fc(x, w, b):
    return torch.relu(torch.mm(x, w) + b)


def loss(y_hat, y):
    return ((y_hat - y) ** 2).mean()


def sgd(params, lr, batch_size):
    with torch.no_grad():
        for param in params:
            param -= lr * param.grad / batch_size
            param.grad.zero_()


# Randomly generate W and b and attach gradients
W = torch.normal(0, 0.01, size=(num_hiddens, 1), requires_grad=True)
b = torch.zeros(1, requires_grad=True)
batch_size = 20
lr = 0.01
num_epochs = 2

# %%
for epoch in range(num_epochs):
    for x, y in zip(X.split(batch_size), Y.split(batch_size)):
        l = loss(fc(x, W, b), y)
        l.backward()
        sgd([W, b], lr, batch_size)
