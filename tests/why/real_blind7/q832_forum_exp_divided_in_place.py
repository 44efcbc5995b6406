# https://discuss.pytorch.org/t/in-place-operation-error-in-backward-call/171058
import torch
import torch.nn as nn

torch.manual_seed(0)


class AttLayer(nn.Module):
    def __init__(self, dim, attention_dim):
        super().__init__()
        self.W = nn.Parameter(torch.randn(dim, attention_dim) * 0.1)
        self.b = nn.Parameter(torch.zeros(attention_dim))
        self.u = nn.Parameter(torch.randn(attention_dim, 1) * 0.1)

    def forward(self, x):
        # [B, word_token, dim]
        uit = torch.tanh(x @ self.W + self.b)
        ait = uit @ self.u  # [B, word_token, 1]
        ait = torch.squeeze(ait, dim=-1)  # [B, word_token]
        ait = torch.exp(ait)
        ait /= torch.sum(ait, dim=1, keepdim=True) + 1e-7
        return (x * ait.unsqueeze(-1)).sum(1)


att, fc = AttLayer(8, 6), nn.Linear(8, 2)
optimizer = torch.optim.Adam([*att.parameters(), *fc.parameters()])

# %%
x, y = torch.randn(4, 5, 8), torch.randint(0, 2, (4,))
loss = nn.functional.cross_entropy(fc(att(x)), y)
optimizer.zero_grad()
loss.backward()
optimizer.step()
