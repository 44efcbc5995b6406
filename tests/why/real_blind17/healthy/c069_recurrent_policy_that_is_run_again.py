# https://github.com/ikostrikov/pytorch-a2c-ppo-acktr-gail/issues/289
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
NUM_PROCESSES, NUM_STEPS, HIDDEN = 32, 10, 24


class Policy(nn.Module):
    def __init__(self, num_inputs, num_actions, hidden_size=HIDDEN):
        super(Policy, self).__init__()
        self.gru = nn.GRU(num_inputs, hidden_size)
        for name, param in self.gru.named_parameters():
            if 'bias' in name:
                nn.init.constant_(param, 0)
            elif 'weight' in name:
                nn.init.orthogonal_(param)
        self.critic_linear = nn.Linear(hidden_size, 1)
        self.dist = nn.Linear(hidden_size, num_actions)

    def _forward_gru(self, x, hxs, masks):
        if x.size(0) == hxs.size(0):
            x, hxs = self.gru(x.unsqueeze(0), (hxs * masks).unsqueeze(0))
            return x.squeeze(0), hxs.squeeze(0)
        # x is a (T, N, -1) tensor that has been flatten to (T * N, -1)
        N = hxs.size(0)
        T = int(x.size(0) / N)
        x, masks = x.view(T, N, x.size(1)), masks.view(T, N)
        # Let's figure out which steps in the sequence have a zero for any agent
        has_zeros = ((masks[1:] == 0.0).any(dim=-1).nonzero().squeeze(-1) + 1).tolist()
        has_zeros = [0] + has_zeros + [T]
        hxs = hxs.unsqueeze(0)
        outputs = []
        for i in range(len(has_zeros) - 1):
            start_idx, end_idx = has_zeros[i], has_zeros[i + 1]
            rnn_scores, hxs = self.gru(x[start_idx:end_idx], hxs * masks[start_idx].view(1, -1, 1))
            outputs.append(rnn_scores)
        return torch.cat(outputs, dim=0).view(T * N, -1), hxs.squeeze(0)

    def act(self, inputs, rnn_hxs, masks):
        features, rnn_hxs = self._forward_gru(inputs, rnn_hxs, masks)
        dist = torch.distributions.Categorical(logits=self.dist(features))
        action = dist.sample()
        return self.critic_linear(features), action, rnn_hxs

    def get_value(self, inputs, rnn_hxs, masks):
        return self.critic_linear(self._forward_gru(inputs, rnn_hxs, masks)[0])

    def evaluate_actions(self, inputs, rnn_hxs, masks, action):
        features, rnn_hxs = self._forward_gru(inputs, rnn_hxs, masks)
        dist = torch.distributions.Categorical(logits=self.dist(features))
        return self.critic_linear(features), dist.log_prob(action), dist.entropy().mean()


class RecallEnvs:
    """A sign is shown at first and asked for three steps later, when nothing is shown."""

    def __init__(self, n):
        self.sign, self.t = torch.randint(0, 3, (n,)), torch.randint(0, 4, (n,))

    def observe(self):
        obs = torch.zeros(len(self.t), 4)
        shown = self.t == 0
        obs[shown, self.sign[shown]] = 1.0
        obs[self.t == 3, 3] = 1.0
        return obs

    def step(self, action):
        done = self.t == 3
        reward = (done & (action == self.sign)).float()
        self.t = torch.where(done, 0, self.t + 1)
        self.sign = torch.where(done, torch.randint(0, 3, self.sign.shape), self.sign)
        return self.observe(), reward.unsqueeze(1), 1.0 - done.float().unsqueeze(1)


# %%
envs, actor_critic = RecallEnvs(NUM_PROCESSES), Policy(4, 3)
optimizer = optim.RMSprop(actor_critic.parameters(), 3e-3, eps=1e-5, alpha=0.99)
obs, rnn_hxs, mask = envs.observe(), torch.zeros(NUM_PROCESSES, HIDDEN), torch.ones(NUM_PROCESSES, 1)
success = []

# %%
for j in range(220):
    rollouts = {'obs': [], 'actions': [], 'rewards': [], 'masks': [mask]}
    first_hxs, earned = rnn_hxs, 0.0
    for step in range(NUM_STEPS):
        with torch.no_grad():
            value, action, rnn_hxs = actor_critic.act(obs, rnn_hxs, mask)
        rollouts['obs'].append(obs)
        rollouts['actions'].append(action)
        obs, reward, mask = envs.step(action)
        rollouts['rewards'].append(reward)
        rollouts['masks'].append(mask)
        earned += reward.sum().item()
    success.append(earned / sum((1 - m).sum().item() for m in rollouts['masks'][1:]))
    with torch.no_grad():
        R = actor_critic.get_value(obs, rnn_hxs, mask)
    returns = []
    for step in reversed(range(NUM_STEPS)):
        R = R * 0.9 * rollouts['masks'][step + 1] + rollouts['rewards'][step]
        returns.insert(0, R)
    values, action_log_probs, dist_entropy = actor_critic.evaluate_actions(
        torch.cat(rollouts['obs']), first_hxs, torch.cat(rollouts['masks'][:-1]), torch.cat(rollouts['actions']))
    advantages = torch.cat(returns) - values
    value_loss = advantages.pow(2).mean()
    action_loss = -(advantages.detach().squeeze(1) * action_log_probs).mean()
    optimizer.zero_grad()
    (value_loss * 0.5 + action_loss - dist_entropy * 0.01).backward()
    nn.utils.clip_grad_norm_(actor_critic.parameters(), 0.5)
    optimizer.step()

# %%
through_time = actor_critic.gru.weight_hh_l0.grad.abs().max().item()
print(success[0], success[-1], first_hxs.requires_grad, through_time)
assert not first_hxs.requires_grad and through_time > 0
assert sum(success[-10:]) / 10 > 0.9
