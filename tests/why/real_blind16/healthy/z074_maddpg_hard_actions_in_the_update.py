# https://github.com/shariqiqbal2810/maddpg-pytorch/issues/34
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
N_OBS, N_ACT, AGENTS = 4, 4, 2


def onehot_from_logits(logits):
    return (logits == logits.max(1, keepdim=True)[0]).float()


def gumbel_softmax(logits, temperature=1.0, hard=False):
    y = F.softmax((logits - torch.log(-torch.log(torch.rand_like(logits) + 1e-20) + 1e-20)) / temperature, dim=1)
    if hard:
        y_hard = onehot_from_logits(y)
        y = (y_hard - y).detach() + y
    return y


def mlp(num_in, num_out, hidden=64):
    return nn.Sequential(nn.Linear(num_in, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, num_out))


class DDPGAgent:
    def __init__(self, lr=3e-3):
        self.policy, self.critic = mlp(N_OBS, N_ACT), mlp(AGENTS * (N_OBS + N_ACT), 1)
        self.target_policy, self.target_critic = copy.deepcopy(self.policy), copy.deepcopy(self.critic)
        self.policy_optimizer = torch.optim.Adam(self.policy.parameters(), lr=lr)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=lr)


class MADDPG:
    def __init__(self, gamma=0.5, tau=0.02):
        self.agents = [DDPGAgent() for _ in range(AGENTS)]
        self.gamma, self.tau, self.shown = gamma, tau, []

    def update(self, sample, agent_i):
        obs, acs, rews, next_obs = sample
        curr_agent = self.agents[agent_i]
        curr_agent.critic_optimizer.zero_grad()
        all_trgt_acs = [onehot_from_logits(a.target_policy(o)) for a, o in zip(self.agents, next_obs)]
        target_value = rews + self.gamma * curr_agent.target_critic(torch.cat((*next_obs, *all_trgt_acs), dim=1))
        actual_value = curr_agent.critic(torch.cat((*obs, *acs), dim=1))
        vf_loss = F.mse_loss(actual_value, target_value.detach())
        vf_loss.backward()
        nn.utils.clip_grad_norm_(curr_agent.critic.parameters(), 0.5)
        curr_agent.critic_optimizer.step()

        curr_agent.policy_optimizer.zero_grad()
        # the critic is shown a one-hot action; backwards it is a soft one
        curr_pol_out = curr_agent.policy(obs[agent_i])
        curr_pol_vf_in = gumbel_softmax(curr_pol_out, hard=True)
        all_pol_acs = [
            curr_pol_vf_in if i == agent_i else onehot_from_logits(a.policy(o)) for i, (a, o) in enumerate(zip(self.agents, obs))
        ]
        pol_loss = -curr_agent.critic(torch.cat((*obs, *all_pol_acs), dim=1)).mean()
        pol_loss += (curr_pol_out**2).mean() * 1e-3
        pol_loss.backward()
        nn.utils.clip_grad_norm_(curr_agent.policy.parameters(), 0.5)
        curr_agent.policy_optimizer.step()
        self.shown.append(curr_pol_vf_in.detach().round(decimals=4).unique().tolist())
        return vf_loss.item()

    def update_all_targets(self):
        for a in self.agents:
            for target, source in ((a.target_critic, a.critic), (a.target_policy, a.policy)):
                for t, s in zip(target.parameters(), source.parameters()):
                    t.data.copy_(t.data * (1.0 - self.tau) + s.data * self.tau)


def play(n):
    """Each sees a sign; the one shall answer it, the other shall name the sign after it."""
    signs = torch.randint(0, N_OBS, (AGENTS, n))
    moves = torch.randint(0, N_ACT, (AGENTS, n))
    right = torch.stack([moves[0] == signs[0], moves[1] == (signs[1] + 1) % N_ACT]).float()
    then = torch.randint(0, N_OBS, (AGENTS, n))
    obs, acs, next_obs = ([F.one_hot(v, 4).float() for v in part] for part in (signs, moves, then))
    return obs, acs, right.mean(0).unsqueeze(1), next_obs


# %%
maddpg = MADDPG()
first_policies = [copy.deepcopy(a.policy.state_dict()) for a in maddpg.agents]
losses = []
for step in range(180):
    for agent_i in range(AGENTS):
        losses.append(maddpg.update(play(256), agent_i))
    maddpg.update_all_targets()

# %%
choices = [a.policy(torch.eye(N_OBS)).argmax(1).tolist() for a in maddpg.agents]
print(losses[0], losses[-1], choices)
assert all(set(values) <= {0.0, 1.0} for values in maddpg.shown)
assert all(not torch.equal(old[k], v) for old, a in zip(first_policies, maddpg.agents) for k, v in a.policy.state_dict().items())
assert choices == [[0, 1, 2, 3], [1, 2, 3, 0]]
