# https://github.com/rll/deepul/issues/12
import torch
import torch.nn as nn

torch.manual_seed(0)


class MixtureCDFFlow(nn.Module):
    def __init__(self, n=4):
        super().__init__()
        self.loc = nn.Parameter(torch.randn(n))
        self.log_scale = nn.Parameter(torch.zeros(n))
        self.weight_logits = nn.Parameter(torch.zeros(n))

    def nll(self, x):
        dist = torch.distributions.Normal(self.loc, self.log_scale.exp())
        log_prob = dist.log_prob(x.unsqueeze(1)) + self.weight_logits.log_softmax(0)
        return -torch.logsumexp(log_prob, 1).mean()


# %%
model = MixtureCDFFlow()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
train_loader = [torch.randn(16) for _ in range(4)]
w_before = model.loc.detach().clone()

# %%
model.train()
for x in train_loader:
    x = x.float()
    loss = model.nll(x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
