# https://github.com/PacktPublishing/Deep-Reinforcement-Learning-Hands-On/issues/74
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)
ENTROPY_BETA, CLIP_GRAD, BATCH_SIZE = 0.01, 0.1, 32


class AtariA2C(nn.Module):
    def __init__(self, input_shape, n_actions):
        super().__init__()
        self.base = nn.Sequential(nn.Linear(input_shape, 64), nn.ReLU())
        self.policy = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, n_actions))
        self.value = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        base_out = self.base(x)
        return self.policy(base_out), self.value(base_out)


def unpack_batch():
    return torch.randn(BATCH_SIZE, 6), torch.randint(0, 4, (BATCH_SIZE,)), torch.randn(BATCH_SIZE)


# %%
net = AtariA2C(6, 4)
optimizer = optim.Adam(net.parameters(), lr=0.001, eps=1e-3)

# %%
for step_idx in range(3):
    states_v, actions_t, vals_ref_v = unpack_batch()
    optimizer.zero_grad()
    logits_v, value_v = net(states_v)
    loss_value_v = F.mse_loss(value_v.squeeze(-1), vals_ref_v)

    log_prob_v = F.log_softmax(logits_v, dim=1)
    adv_v = vals_ref_v - value_v.detach()
    log_prob_actions_v = adv_v * log_prob_v[range(BATCH_SIZE), actions_t]
    loss_policy_v = -log_prob_actions_v.mean()

    prob_v = F.softmax(logits_v, dim=1)
    entropy_loss_v = ENTROPY_BETA * (prob_v * log_prob_v).sum(dim=1).mean()

    loss_policy_v.backward(retain_graph=True)
    loss_v = entropy_loss_v + loss_value_v
    loss_v.backward()
    nn.utils.clip_grad_norm_(net.parameters(), CLIP_GRAD)
    optimizer.step()
    print(step_idx, loss_policy_v.item(), loss_v.item())
