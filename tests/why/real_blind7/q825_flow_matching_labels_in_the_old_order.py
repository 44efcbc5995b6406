# https://github.com/atong01/conditional-flow-matching/issues/172
import torch
import torch.nn as nn

torch.manual_seed(0)


class FlowMatcher:
    def reorder(self, x0, x1):
        """Pair the samples as the transport plan says (here: by the distance to the origin)."""
        i = torch.cdist(x0, x1).sum(0).argsort()
        return x0[i], x1[i]

    def sample_location_and_conditional_flow(self, x0, x1):
        t = torch.rand(len(x0), 1)
        return t, (1 - t) * x0 + t * x1, x1 - x0


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(2, 4)
        self.net = nn.Sequential(nn.Linear(2 + 1 + 4, 32), nn.SiLU(), nn.Linear(32, 2))

    def forward(self, t, x, y):
        return self.net(torch.cat([x, t, self.embed(y)], 1))


# %%
FM, model = FlowMatcher(), Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

# %%
for step in range(5):
    y = torch.randint(0, 2, (32,))
    x1 = (y * 2 - 1).unsqueeze(1) * 3.0 + 0.3 * torch.randn(32, 2)
    x0 = torch.randn_like(x1)
    x0, x1 = FM.reorder(x0, x1)
    t, xt, ut = FM.sample_location_and_conditional_flow(x0, x1)
    vt = model(t, xt, y)
    loss = torch.mean((vt - ut) ** 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
