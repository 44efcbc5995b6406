# https://whosebug.com/question/5416179/Computing-matrix-derivatives-with-torch-autograd-grad-PyTorch
import numpy as np
import torch

np.random.seed(0)

# %%
theta = torch.tensor(np.random.uniform(low=-np.pi, high=np.pi), requires_grad=True)
rot_mat = torch.tensor([[torch.cos(theta), torch.sin(theta), 0],
                        [-torch.sin(theta), torch.cos(theta), 0]],
                        dtype=torch.float, requires_grad=True)
torch.autograd.grad(outputs=rot_mat,
                    inputs=theta, grad_outputs=torch.ones_like(rot_mat),
                    create_graph=True, retain_graph=True)
