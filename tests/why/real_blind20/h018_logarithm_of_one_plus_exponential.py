# https://tutorialmore.com/questions-1456718.htm
import torch

torch.manual_seed(0)


def log1pexp(x):
    exp = x.exp()
    return x.where(torch.isinf(exp), exp.log1p())  # Replace infs with x


# %%
x = torch.tensor([0., 1., 100.], requires_grad=True)
print(x.exp().log1p())
y = log1pexp(x)
print(y)  # No infs

# %%
y.sum().backward()  # Automatic differentiation
print(x.grad)

# %%
features = torch.randn(64, 3) * torch.tensor([1.0, 5.0, 60.0])
labels = (features[:, 0] + features[:, 2] > 0).float()
weight = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.01)

# %%
for step in range(20):
    optimizer.zero_grad()
    logits = features @ weight
    loss = (log1pexp(logits) - labels * logits).mean()
    loss.backward()
    optimizer.step()
print(loss, weight)
