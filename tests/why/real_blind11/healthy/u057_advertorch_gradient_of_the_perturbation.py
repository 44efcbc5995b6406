# https://github.com/BorealisAI/advertorch/issues/85
import torch
import torch.nn as nn

torch.manual_seed(0)
eps, eps_iter, nb_iter, minimize = 0.3, 0.05, 10, False


def batch_multiply(number, tensor):
    return number * tensor


def batch_clamp(limit, tensor):
    return torch.clamp(tensor, -limit, limit)


# %%
predict = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 5))
loss_fn = nn.CrossEntropyLoss()
xvar, yvar = torch.rand(16, 1, 8, 8), torch.randint(0, 5, (16,))
weights_before = [p.detach().clone() for p in predict.parameters()]

# %%
losses = []
delta = torch.zeros_like(xvar)
delta.requires_grad_()
for ii in range(nb_iter):
    outputs = predict(xvar + delta)
    loss = loss_fn(outputs, yvar)
    if minimize:
        loss = -loss

    loss.backward()
    grad_sign = delta.grad.data.sign()
    delta.data = delta.data + batch_multiply(eps_iter, grad_sign)
    delta.data = batch_clamp(eps, delta.data)
    delta.data = torch.clamp(xvar.data + delta.data, 0., 1.) - xvar.data
    delta.grad.data.zero_()
    losses.append(loss.item())

x_adv = torch.clamp(xvar + delta, 0., 1.)
print(losses[0], losses[-1])
assert losses[-1] > losses[0]
assert all(torch.equal(a, b) for a, b in zip(weights_before, predict.parameters()))
assert (x_adv - xvar).abs().max() <= eps + 1e-6
