# https://discuss.pytorch.org/t/backward-pass-nan-for-repeated-eigenvalues/128049
import torch

# %%
matrix = torch.tensor([
    [1.2039, 0, 0.3690, 0],
    [0, -1.2039, 0, 0.3690],
    [0.3690, 0, -1.2039, 0],
    [0, 0.3690, 0, 1.2039],
], requires_grad=True)

e, v = torch.linalg.eigh(matrix)
min_index = torch.argmin(e)
min_eigenvector = v[:, min_index]
min_state = min_eigenvector
min_sum = torch.sum(min_state)  # Sum to obtain a scalar for .backward()
min_sum.backward()
print(e, matrix.grad)
