# https://github.com/rasbt/LLMs-from-scratch/issues/277
import torch

torch.manual_seed(0)

# %%
idx = torch.tensor([2, 3, 1])
num_idx = max(idx) + 1
out_dim = 5
embedding = torch.nn.Embedding(num_idx, out_dim)
print(embedding.weight)
print(embedding(idx))

# %%
onehot = torch.nn.functional.one_hot(idx)
linear = torch.nn.Linear(num_idx, out_dim, bias=False)
linear.weight = torch.nn.Parameter(embedding.weight.T.detach())
print(linear.weight)
print(linear(onehot.float()))
same_outputs = torch.allclose(linear(onehot.float()), embedding(idx))

# %%
target = torch.randn(3, out_dim)
optimizer_e = torch.optim.SGD(embedding.parameters(), lr=0.5)
loss_e = torch.nn.functional.mse_loss(embedding(idx), target)
loss_e.backward()
grad_e = embedding.weight.grad.clone()

loss_l = torch.nn.functional.mse_loss(linear(onehot.float()), target)
loss_l.backward()
grad_l = linear.weight.grad.clone()
same_gradients = torch.allclose(grad_e, grad_l.T)
print(linear.weight.requires_grad, same_gradients)

# %%
fresh = torch.nn.Linear(num_idx, out_dim, bias=False)
fresh.weight = torch.nn.Parameter(embedding.weight.T.detach().clone())
optimizer_l = torch.optim.SGD(fresh.parameters(), lr=0.5)
losses_e, losses_l = [], []
for step in range(50):
    for model, inputs, optimizer, losses in ((embedding, idx, optimizer_e, losses_e),
                                             (fresh, onehot.float(), optimizer_l, losses_l)):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(losses_e[-1], losses_l[-1])
same_losses = all(abs(a - b) < 1e-5 for a, b in zip(losses_e, losses_l))
