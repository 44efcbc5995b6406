# https://github.com/shariqiqbal2810/maddpg-pytorch/issues/11
import torch
import torch.nn as nn

policies = [nn.Linear(3, 2), nn.Linear(3, 2)]
critics = [nn.Linear(10, 1), nn.Linear(10, 1)]
optimizers = [torch.optim.Adam(p.parameters(), lr=1e-2) for p in policies]
obs = [torch.randn(6, 3), torch.randn(6, 3)]


def policy_loss(agent_i):
    all_pol_acs = [pi(ob) for pi, ob in zip(policies, obs)]
    vf_in = torch.cat((*obs, *all_pol_acs), dim=1)
    return -critics[agent_i](vf_in).mean()


# %%
optimizers[0].zero_grad()
pol_loss = policy_loss(0)
pol_loss.backward()
optimizers[0].step()

# %%
optimizers[1].zero_grad()
pol_loss = policy_loss(1)
alone, = torch.autograd.grad(pol_loss, policies[1].weight, retain_graph=True)
pol_loss.backward()
print((policies[1].weight.grad - alone).abs().max())
