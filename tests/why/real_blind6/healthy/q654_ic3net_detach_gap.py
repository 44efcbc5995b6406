# https://github.com/IC3Net/IC3Net/issues/7
from types import SimpleNamespace

import torch
import torch.nn as nn

torch.manual_seed(0)
args = SimpleNamespace(detach_gap=4, rnn_type='LSTM', hid_size=16, max_steps=12, gamma=1.0, value_coeff=0.01)


class CommNetMLP(nn.Module):
    def __init__(self, num_inputs=6, num_actions=3):
        super().__init__()
        self.encoder = nn.Linear(num_inputs, args.hid_size)
        self.f_module = nn.LSTMCell(args.hid_size, args.hid_size)
        self.head = nn.Linear(args.hid_size, num_actions)
        self.value_head = nn.Linear(args.hid_size, 1)

    def init_hidden(self, batch_size):
        return torch.zeros(batch_size, args.hid_size), torch.zeros(batch_size, args.hid_size)

    def forward(self, x):
        state, prev_hid = x
        hid = self.f_module(torch.tanh(self.encoder(state)), prev_hid)
        return torch.log_softmax(self.head(hid[0]), dim=-1), self.value_head(hid[0]).squeeze(-1), hid


# %%
policy_net = CommNetMLP()
optimizer = torch.optim.RMSprop(policy_net.parameters(), lr=0.001, alpha=0.97, eps=1e-6)
before = policy_net.f_module.weight_hh.detach().clone()

# %%
for epoch in range(3):
    log_probs, values, rewards = [], [], []
    prev_hid = policy_net.init_hidden(batch_size=5)
    for t in range(args.max_steps):
        state = torch.randn(5, 6)
        action_out, value, prev_hid = policy_net([state, prev_hid])
        if (t + 1) % args.detach_gap == 0:
            if args.rnn_type == 'LSTM':
                prev_hid = (prev_hid[0].detach(), prev_hid[1].detach())
            else:
                prev_hid = prev_hid.detach()
        action = torch.multinomial(action_out.detach().exp(), 1)
        log_probs.append(action_out.gather(1, action).squeeze(1))
        values.append(value)
        rewards.append((action.squeeze(1) == 1).float())

    returns, ret = [], torch.zeros(5)
    for r in reversed(rewards):
        ret = r + args.gamma * ret
        returns.insert(0, ret)
    returns, values = torch.stack(returns), torch.stack(values)
    advantages = returns - values.detach()
    action_loss = -(advantages * torch.stack(log_probs)).sum()
    value_loss = (values - returns).pow(2).sum()
    loss = action_loss + args.value_coeff * value_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, action_loss.item(), value_loss.item())
