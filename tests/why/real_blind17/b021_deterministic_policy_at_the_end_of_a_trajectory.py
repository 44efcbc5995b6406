# https://github.com/kashif/firedup/issues/11
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ReplayBuffer:
    def __init__(self, obs_dim, act_dim, size):
        self.obs1_buf = torch.zeros(size, obs_dim)
        self.obs2_buf = torch.zeros(size, obs_dim)
        self.acts_buf = torch.zeros(size, act_dim)
        self.rews_buf = torch.zeros(size)
        self.done_buf = torch.zeros(size)
        self.ptr, self.size, self.max_size = 0, 0, size

    def store(self, obs, act, rew, next_obs, done):
        self.obs1_buf[self.ptr] = obs
        self.obs2_buf[self.ptr] = next_obs
        self.acts_buf[self.ptr] = act
        self.rews_buf[self.ptr] = rew
        self.done_buf[self.ptr] = done
        self.ptr = (self.ptr + 1) % self.max_size
        self.size = min(self.size + 1, self.max_size)

    def sample_batch(self, batch_size=32):
        idxs = torch.randint(0, self.size, (batch_size,))
        return dict(obs1=self.obs1_buf[idxs], obs2=self.obs2_buf[idxs], acts=self.acts_buf[idxs],
                    rews=self.rews_buf[idxs], done=self.done_buf[idxs])


class MLP(nn.Module):
    def __init__(self, layers, activation=torch.relu, output_activation=None, output_scale=1, output_squeeze=False):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(i, o) for i, o in zip(layers[:-1], layers[1:]))
        self.activation = activation
        self.output_activation = output_activation
        self.output_scale = output_scale
        self.output_squeeze = output_squeeze

    def forward(self, inputs):
        x = inputs
        for layer in self.layers[:-1]:
            x = self.activation(layer(x))
        x = self.layers[-1](x)
        if self.output_activation is not None:
            x = self.output_activation(x)
        x = x * self.output_scale
        return x.squeeze() if self.output_squeeze else x


class ActorCritic(nn.Module):
    def __init__(self, in_features, action_dim, action_scale, hidden_sizes=(300,)):
        super().__init__()
        self.policy = MLP([in_features, *hidden_sizes, action_dim], output_activation=torch.tanh,
                          output_scale=action_scale)
        self.q = MLP([in_features + action_dim, *hidden_sizes, 1], output_squeeze=True)

    def forward(self, x, a):
        pi = self.policy(x)
        q = self.q(torch.cat((x, a), dim=1))
        q_pi = self.q(torch.cat((x, pi), dim=1))
        return pi, q, q_pi


obs_dim, act_dim, act_limit = 5, 2, 1.0
gamma, polyak, batch_size = 0.99, 0.995, 32
main = ActorCritic(obs_dim, act_dim, act_limit)
target = ActorCritic(obs_dim, act_dim, act_limit)
target.eval()
replay_buffer = ReplayBuffer(obs_dim, act_dim, size=1000)
pi_optimizer = torch.optim.Adam(main.policy.parameters(), lr=1e-3)
q_optimizer = torch.optim.Adam(main.q.parameters(), lr=1e-3)
target.load_state_dict(main.state_dict())

o, ep_len = torch.randn(obs_dim), 20
for t in range(ep_len):
    a = torch.empty(act_dim).uniform_(-act_limit, act_limit)
    o2 = 0.9 * o + 0.1 * torch.randn(obs_dim)
    replay_buffer.store(o, a, -(o2 ** 2).sum(), o2, float(t == ep_len - 1))
    o = o2

# %%
main.train()
for _ in range(ep_len):
    batch = replay_buffer.sample_batch(batch_size)
    obs1, obs2, acts, rews, done = (batch[k] for k in ("obs1", "obs2", "acts", "rews", "done"))
    _, q, q_pi = main(obs1, acts)
    _, _, q_pi_targ = target(obs2, acts)

    backup = (rews + gamma * (1 - done) * q_pi_targ).detach()

    pi_loss = -q_pi.mean()
    q_loss = F.mse_loss(q, backup)

    # Q-learning update
    q_optimizer.zero_grad()
    q_loss.backward()
    q_optimizer.step()

    # Policy update
    pi_optimizer.zero_grad()
    pi_loss.backward()
    pi_optimizer.step()

    for p_main, p_target in zip(main.parameters(), target.parameters()):
        p_target.data.copy_(polyak * p_target.data + (1 - polyak) * p_main.data)
print(q_loss.item(), pi_loss.item())
