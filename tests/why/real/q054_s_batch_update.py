# https://github.com/BaiTheBest/SparseLLM/issues/13
import torch

s = torch.rand(4, 8)
z = torch.rand(4, 8)
s_learning_rate = 0.01
chunk = slice(0, 4)

# %%
s_batch = s[:, chunk].clone().requires_grad_(True)
loss_s = (torch.nn.functional.silu(s_batch) - z[:, chunk]).pow(2).sum()

# %%
loss_s.backward()
s_batch -= s_learning_rate * s_batch.grad
s_batch.grad.zero_()
s[:, chunk] = s_batch.detach()
