# https://discuss.pytorch.org/t/requires-grad-propagation/93792
import torch

torch.manual_seed(0)

cte1 = torch.rand(5, 3).requires_grad_(False)
cte2 = torch.rand(5, 5).requires_grad_(False)
tensor = torch.ones(3, 5).requires_grad_()
optim = torch.optim.SGD([tensor], lr=1)
print(f'Initial tensor'
      f'{tensor}')
start = tensor.detach().clone()

# %%
outputs = []
for i in range(5):
    optim.zero_grad()
    print(f'Iteration {i}')
    output = cte1 @ tensor + cte2
    print(f'Requires grad? {output.requires_grad}')
    output.sum().backward()
    print(f'Tensor gradients \n'
          f' {tensor.grad}')
    optim.step()
    print(f'Tensors \n'
          f' {tensor}')
    outputs.append(output.sum().item())

# %%
# the gradient is that of a linear function: the same at each iteration, and the same in each column
expected = cte1.sum(0)[:, None].expand(3, 5)
assert torch.allclose(tensor.grad, expected)
assert torch.allclose(tensor.detach(), start - 5 * expected, atol=1e-5)
assert all(after < before for before, after in zip(outputs, outputs[1:]))
assert cte1.grad is None and cte2.grad is None
