# https://github.com/seungeunrho/minimalRL/issues/33
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical

torch.manual_seed(0)

# Hyperparameters
learning_rate, gamma, lmbda, eps_clip, K_epoch, T_horizon = 0.0005, 0.98, 0.95, 0.1, 3, 8


class PPO(nn.Module):
    def __init__(self):
        super(PPO, self).__init__()
        self.data = []
        self.fc1 = nn.Linear(4, 32)
        self.fc_pi = nn.Linear(32, 2)
        self.fc_v = nn.Linear(32, 1)
        self.optimizer = optim.Adam(self.parameters(), lr=learning_rate)

    def pi(self, x, softmax_dim=0):
        x = F.relu(self.fc1(x))
        return F.softmax(self.fc_pi(x), dim=softmax_dim)

    def v(self, x):
        return self.fc_v(F.relu(self.fc1(x)))

    def put_data(self, transition):
        self.data.append(transition)

    def make_batch(self):
        s, a, r, s_prime, prob_a, done = (torch.stack([torch.as_tensor(x) for x in xs]) for xs in zip(*self.data))
        self.data = []
        return s, a[:, None], r[:, None], s_prime, done[:, None], prob_a[:, None]

    def train_net(self):
        s, a, r, s_prime, done_mask, prob_a = self.make_batch()
        for i in range(K_epoch):
            td_target = r + gamma * self.v(s_prime) * done_mask
            delta = (td_target - self.v(s)).detach().numpy()

            advantage_lst = []
            advantage = 0.0
            for delta_t in delta[::-1]:
                advantage = gamma * lmbda * advantage + delta_t[0]
                advantage_lst.append([float(advantage)])
            advantage_lst.reverse()
            advantage = torch.tensor(advantage_lst, dtype=torch.float)

            pi_a = self.pi(s, softmax_dim=1).gather(1, a)
            ratio = torch.exp(torch.log(pi_a) - torch.log(prob_a))  # a/b == exp(log(a)-log(b))
            surr1 = ratio * advantage
            surr2 = torch.clamp(ratio, 1 - eps_clip, 1 + eps_clip) * advantage
            loss = -torch.min(surr1, surr2) + F.smooth_l1_loss(self.v(s), td_target.detach())
            self.optimizer.zero_grad()
            loss.mean().backward()
            self.optimizer.step()
        return loss.mean(), ratio


# %%
model = PPO()
for n_epi in range(2):
    s = torch.randn(4)
    for t in range(T_horizon):
        prob = model.pi(s)
        a = Categorical(prob).sample().item()
        s_prime = torch.randn(4)
        model.put_data((s, a, 1.0 / 100.0, s_prime, prob[a].item(), 1.0))
        s = s_prime
    loss, ratio = model.train_net()
    print("# of episode :{}, loss : {:.4f}".format(n_epi, loss.item()))
