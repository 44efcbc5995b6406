# https://github.com/ritheshkumar95/pytorch-vqvae/issues/7
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function

torch.manual_seed(0)


class VectorQuantizationStraightThrough(Function):
    @staticmethod
    def forward(ctx, inputs, codebook):
        indices = torch.cdist(inputs, codebook).argmin(-1)
        ctx.save_for_backward(indices, codebook)
        ctx.mark_non_differentiable(indices)
        return torch.index_select(codebook, 0, indices), indices

    @staticmethod
    def backward(ctx, grad_output, grad_indices):
        grad_inputs, grad_codebook = None, None
        if ctx.needs_input_grad[0]:
            grad_inputs = grad_output.clone()
        if ctx.needs_input_grad[1]:
            indices, codebook = ctx.saved_tensors
            grad_codebook = torch.zeros_like(codebook)
            grad_codebook.index_add_(0, indices, grad_output)
        return grad_inputs, grad_codebook


vq_st = VectorQuantizationStraightThrough.apply


class VQEmbedding(nn.Module):
    def __init__(self, K, D):
        super().__init__()
        self.embedding = nn.Embedding(K, D)
        self.embedding.weight.data.uniform_(-1.0 / K, 1.0 / K)

    def straight_through(self, z_e_x_):
        codes, indices = vq_st(z_e_x_, self.embedding.weight)
        z_q_x_bar = torch.index_select(self.embedding.weight, 0, indices)
        return codes, z_q_x_bar


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 8))
        self.codebook = VQEmbedding(6, 8)
        self.decoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 12))

    def forward(self, x):
        z_e_x = self.encoder(x)
        z_q_x_st, z_q_x = self.codebook.straight_through(z_e_x)
        return self.decoder(z_q_x_st), z_e_x, z_q_x


# %%
model = VQVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)

# %%
images = torch.rand(16, 12)
optimizer.zero_grad()
x_tilde, z_e_x, z_q_x = model(images)
loss_recons = F.mse_loss(x_tilde, images)
loss_vq = F.mse_loss(z_q_x, z_e_x.detach())
loss_commit = F.mse_loss(z_e_x, z_q_x.detach())
loss = loss_recons + loss_vq + 1.0 * loss_commit
loss.backward()
optimizer.step()
print(loss_recons.item(), loss_vq.item())
