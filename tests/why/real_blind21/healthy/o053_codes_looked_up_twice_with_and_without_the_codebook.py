# https://github.com/ritheshkumar95/pytorch-vqvae/issues/14
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function

torch.manual_seed(0)


class VectorQuantization(Function):
    @staticmethod
    def forward(ctx, inputs, codebook):
        with torch.no_grad():
            embedding_size = codebook.size(1)
            inputs_size = inputs.size()
            inputs_flatten = inputs.view(-1, embedding_size)
            codebook_sqr = torch.sum(codebook ** 2, dim=1)
            inputs_sqr = torch.sum(inputs_flatten ** 2, dim=1, keepdim=True)
            # Compute the distances to the codebook
            distances = torch.addmm(codebook_sqr + inputs_sqr, inputs_flatten, codebook.t(), alpha=-2.0, beta=1.0)
            _, indices_flatten = torch.min(distances, dim=1)
            indices = indices_flatten.view(*inputs_size[:-1])
            ctx.mark_non_differentiable(indices)
            return indices

    @staticmethod
    def backward(ctx, grad_output):
        raise RuntimeError('The function `VectorQuantization` is not differentiable.')


class VectorQuantizationStraightThrough(Function):
    @staticmethod
    def forward(ctx, inputs, codebook):
        indices = vq(inputs, codebook)
        indices_flatten = indices.view(-1)
        ctx.save_for_backward(indices_flatten, codebook)
        ctx.mark_non_differentiable(indices_flatten)
        codes_flatten = torch.index_select(codebook, dim=0, index=indices_flatten)
        return codes_flatten.view_as(inputs), indices_flatten

    @staticmethod
    def backward(ctx, grad_output, grad_indices):
        grad_inputs, grad_codebook = None, None
        if ctx.needs_input_grad[0]:
            # Straight-through estimator
            grad_inputs = grad_output.clone()
        if ctx.needs_input_grad[1]:
            indices, codebook = ctx.saved_tensors
            grad_output_flatten = grad_output.contiguous().view(-1, codebook.size(1))
            grad_codebook = torch.zeros_like(codebook)
            grad_codebook.index_add_(0, indices, grad_output_flatten)
        return grad_inputs, grad_codebook


vq = VectorQuantization.apply
vq_st = VectorQuantizationStraightThrough.apply


class VQEmbedding(nn.Module):
    def __init__(self, K, D):
        super().__init__()
        self.embedding = nn.Embedding(K, D)
        self.embedding.weight.data.uniform_(-1. / K, 1. / K)

    def straight_through(self, z_e_x):
        z_q_x, indices = vq_st(z_e_x, self.embedding.weight.detach())
        z_q_x_bar_flatten = torch.index_select(self.embedding.weight, dim=0, index=indices)
        return z_q_x, z_q_x_bar_flatten.view_as(z_e_x)


class VectorQuantizedVAE(nn.Module):
    def __init__(self, input_dim, dim, K=16):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(input_dim, 32), nn.ReLU(True), nn.Linear(32, dim))
        self.codebook = VQEmbedding(K, dim)
        self.decoder = nn.Sequential(nn.ReLU(), nn.Linear(dim, 32), nn.ReLU(True), nn.Linear(32, input_dim))

    def forward(self, x):
        z_e_x = self.encoder(x)
        z_q_x_st, z_q_x = self.codebook.straight_through(z_e_x)
        return self.decoder(z_q_x_st), z_e_x, z_q_x


# %%
model = VectorQuantizedVAE(8, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
kinds = torch.randn(5, 8)
before = model.codebook.embedding.weight.detach().clone()
losses = []
for step in range(300):
    images = kinds[torch.randint(0, 5, (64,))] + 0.05 * torch.randn(64, 8)
    optimizer.zero_grad()
    x_tilde, z_e_x, z_q_x = model(images)
    loss_recons = F.mse_loss(x_tilde, images)
    loss_vq = F.mse_loss(z_q_x, z_e_x.detach())
    loss_commit = F.mse_loss(z_e_x, z_q_x.detach())
    loss = loss_recons + loss_vq + 1.0 * loss_commit
    loss.backward()
    optimizer.step()
    losses.append(loss_recons.item())

# %%
moved = (model.codebook.embedding.weight - before).abs().max().item()
print(losses[0], losses[-1], moved)
assert moved > 0.01 and losses[-1] < 0.7 * losses[0]
