# https://discuss.pytorch.org/t/optimize-masking-parameter/204381
import torch

X = torch.randn(1000, 3, requires_grad=True)
threshold = torch.tensor(2.0, requires_grad=True)

optimizer = torch.optim.SGD([X, threshold], lr=0.1)


# %%
def masked_mean_norm(X, threshold):
    # the mean norm of the points whose norm is below the threshold
    loss = X[X.norm(dim=1) < threshold].norm(dim=1).mean()
    return loss


# %%
history = []
for step in range(20):
    optimizer.zero_grad()
    loss = masked_mean_norm(X, threshold)
    loss.backward()
    optimizer.step()
    history.append((loss.item(), threshold.item()))

# %%
print(history[0], history[-1])
print(threshold.grad)
