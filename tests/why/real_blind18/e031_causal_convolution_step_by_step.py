# https://github.com/NX-AI/xlstm/pull/82
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def conv1d_step(x, conv_state, conv1d_weight, conv1d_bias):
    """One position x (B, 1, D) of a depthwise convolution whose last inputs are in conv_state (B, KS, D)."""
    conv_state.copy_(conv_state.roll(-1, dims=1))
    conv_state[..., -1:, :] = x
    y = (conv1d_weight * conv_state).sum(1, keepdim=True) + conv1d_bias
    return y, conv_state


class CausalConv1d(nn.Module):
    def __init__(self, feature_dim, kernel_size=4):
        super().__init__()
        self.kernel_size = kernel_size
        self.conv = nn.Conv1d(feature_dim, feature_dim, kernel_size, padding=kernel_size - 1, groups=feature_dim)

    def forward(self, x):
        return self.conv(x.transpose(1, 2))[..., :x.size(1)].transpose(1, 2)

    def step(self, x, conv_state=None):
        if conv_state is None:
            conv_state = x.new_zeros(x.size(0), self.kernel_size, x.size(2))
        return conv1d_step(x, conv_state, self.conv.weight.squeeze(1).t(), self.conv.bias)


class sLSTMBlock(nn.Module):
    def __init__(self, embedding_dim):
        super().__init__()
        self.norm = nn.LayerNorm(embedding_dim)
        self.conv1d = CausalConv1d(embedding_dim)
        self.gates = nn.Linear(embedding_dim, 2 * embedding_dim)
        self.z = nn.Linear(embedding_dim, embedding_dim)

    def step(self, x, state):
        conv_state, cell = state
        x_norm = self.norm(x)
        x_conv, conv_state = self.conv1d.step(x_norm, conv_state)
        i, f = torch.sigmoid(self.gates(F.silu(x_conv))).chunk(2, dim=-1)
        cell = f * cell + i * torch.tanh(self.z(x_norm))
        return x + cell, (conv_state, cell)


class xLSTMLMModel(nn.Module):
    def __init__(self, vocab_size, embedding_dim, num_blocks):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, embedding_dim)
        self.blocks = nn.ModuleList(sLSTMBlock(embedding_dim) for _ in range(num_blocks))
        self.lm_head = nn.Linear(embedding_dim, vocab_size, bias=False)

    def step(self, idx, states=None):
        x = self.token_embedding(idx)
        if states is None:
            states = [(None, torch.zeros_like(x)) for _ in self.blocks]
        new_states = []
        for block, state in zip(self.blocks, states):
            x, state = block.step(x, state)
            new_states.append(state)
        return self.lm_head(x), new_states


# %%
model = xLSTMLMModel(vocab_size=20, embedding_dim=32, num_blocks=2)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
tokens = torch.randint(0, 20, (4, 9))

# %%
states, logits = None, []
for t in range(tokens.shape[1] - 1):
    out, states = model.step(tokens[:, t:t + 1], states)
    logits.append(out)
loss = F.cross_entropy(torch.cat(logits, dim=1).flatten(0, 1), tokens[:, 1:].flatten())
optimizer.zero_grad()
loss.backward()
optimizer.step()
print(loss.item())
