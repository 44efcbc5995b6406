# https://github.com/sungyubkim/MINE-Mutual-Information-Neural-Estimation-/issues/3
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
np.random.seed(0)


class Mine(nn.Module):
    def __init__(self, input_size=2, hidden_size=64):
        super().__init__()
        self.fc1 = nn.Linear(input_size, hidden_size)
        self.fc2 = nn.Linear(hidden_size, hidden_size)
        self.fc3 = nn.Linear(hidden_size, 1)
        for layer in (self.fc1, self.fc2, self.fc3):
            nn.init.normal_(layer.weight, std=0.1)
            nn.init.constant_(layer.bias, 0)

    def forward(self, input):
        output = F.elu(self.fc1(input))
        output = F.elu(self.fc2(output))
        return self.fc3(output)


def mutual_information(joint, marginal, mine_net):
    t = mine_net(joint)
    et = torch.exp(mine_net(marginal))
    mi_lb = torch.mean(t) - torch.log(torch.mean(et))
    return mi_lb, t, et


def learn_mine(batch, mine_net, mine_net_optim, ma_et, ma_rate=0.01):
    joint, marginal = batch
    mi_lb, t, et = mutual_information(joint, marginal, mine_net)
    ma_et = (1 - ma_rate) * ma_et + ma_rate * torch.mean(et)
    # the moving average makes the gradient of the logarithm less biased
    loss = -(torch.mean(t) - (1 / ma_et.mean()).detach() * torch.mean(et))
    mine_net_optim.zero_grad()
    loss.backward()
    mine_net_optim.step()
    return mi_lb.item(), ma_et.detach()


def sample_batch(data, batch_size=256):
    index = np.random.choice(len(data), batch_size, replace=False)
    joint = data[index]
    other = np.random.choice(len(data), batch_size, replace=False)
    marginal = np.concatenate([joint[:, :1], data[other][:, 1:]], axis=1)
    return torch.tensor(joint, dtype=torch.float32), torch.tensor(marginal, dtype=torch.float32)


# %%
rho = 0.9
data = np.random.multivariate_normal(mean=[0, 0], cov=[[1, rho], [rho, 1]], size=4000)
true_mi = -0.5 * math.log(1 - rho ** 2)
mine_net = Mine()
mine_net_optim = torch.optim.Adam(mine_net.parameters(), lr=3e-3)

# %%
result, ma_et = [], torch.tensor(1.)
for i in range(500):
    mi_lb, ma_et = learn_mine(sample_batch(data), mine_net, mine_net_optim, ma_et)
    result.append(mi_lb)
estimate = float(np.mean(result[-100:]))
print(result[0], estimate, true_mi)
assert abs(estimate - true_mi) < 0.2
assert mine_net.fc1.weight.grad is not None and not ma_et.requires_grad
