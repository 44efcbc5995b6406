# https://github.com/thesouther/MARL/issues/8
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
conf = SimpleNamespace(n_agents=3, n_actions=4, obs_shape=6, state_shape=8, hidden=12, gamma=0.99, learning_rate=1e-3,
                       grad_norm_clip=10, update_target_params=2)


class DRQN(nn.Module):
    def __init__(self, input_shape, conf):
        super().__init__()
        self.fc1 = nn.Linear(input_shape, conf.hidden)
        self.fc2 = nn.Linear(conf.hidden, conf.n_actions)

    def forward(self, obs):
        return self.fc2(F.relu(self.fc1(obs)))


class QMIXNET(nn.Module):
    def __init__(self, conf):
        super().__init__()
        self.conf = conf
        self.hyper_w1 = nn.Linear(conf.state_shape, conf.n_agents * conf.hidden)
        self.hyper_b1 = nn.Linear(conf.state_shape, conf.hidden)
        self.hyper_w2 = nn.Linear(conf.state_shape, conf.hidden)
        self.hyper_b2 = nn.Linear(conf.state_shape, 1)

    def forward(self, q_values, states):
        q_values = q_values.view(-1, 1, self.conf.n_agents)
        w1 = torch.abs(self.hyper_w1(states)).view(-1, self.conf.n_agents, self.conf.hidden)
        hidden = F.elu(torch.bmm(q_values, w1) + self.hyper_b1(states).unsqueeze(1))
        w2 = torch.abs(self.hyper_w2(states)).unsqueeze(2)
        return (torch.bmm(hidden, w2) + self.hyper_b2(states).unsqueeze(1)).view(-1, 1)


class QMIX:
    def __init__(self, conf):
        self.conf = conf
        # NET
        self.eval_drqn_net = DRQN(conf.obs_shape, conf)
        self.target_drqn_net = DRQN(conf.obs_shape, conf)
        self.eval_qmix_net = QMIXNET(conf)
        self.target_qmix_net = QMIXNET(conf)
        # copy eval net params to target net
        self.target_drqn_net.load_state_dict(self.eval_drqn_net.state_dict())
        self.target_qmix_net.load_state_dict(self.eval_qmix_net.state_dict())
        self.eval_parameters = list(self.eval_qmix_net.parameters()) + list(self.eval_drqn_net.parameters())
        self.optimizer = torch.optim.RMSprop(self.eval_parameters, lr=conf.learning_rate)

    def learn(self, batch, train_step):
        s, s_, u, r, terminated = batch['s'], batch['s_'], batch['u'], batch['r'], batch['terminated']
        q_evals = torch.gather(self.eval_drqn_net(batch['o']), dim=2, index=u).squeeze(2)
        q_targets = self.target_drqn_net(batch['o_']).max(dim=2)[0]

        q_total_eval = self.eval_qmix_net(q_evals, s)
        q_total_target = self.target_qmix_net(q_targets, s_)

        targets = r + self.conf.gamma * q_total_target * (1 - terminated)
        td_error = (q_total_eval - targets.detach())
        loss = (td_error ** 2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.eval_parameters, self.conf.grad_norm_clip)
        self.optimizer.step()

        if train_step > 0 and train_step % self.conf.update_target_params == 0:
            self.target_drqn_net.load_state_dict(self.eval_drqn_net.state_dict())
            self.target_qmix_net.load_state_dict(self.target_qmix_net.state_dict())
        return loss.item()


# %%
def sample(n=16):
    return {'o': torch.randn(n, 3, 6), 'o_': torch.randn(n, 3, 6), 's': torch.randn(n, 8), 's_': torch.randn(n, 8),
            'u': torch.randint(4, (n, 3, 1)), 'r': torch.randn(n, 1), 'terminated': (torch.rand(n, 1) > 0.9).float()}


qmix = QMIX(conf)
target_before = [p.detach().clone() for p in qmix.target_qmix_net.parameters()]
for train_step in range(5):
    print(train_step, qmix.learn(sample(), train_step))
