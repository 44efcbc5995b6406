# https://github.com/boyu-ai/Hands-on-RL/issues/112
import torch
import torch.nn.functional as F

torch.manual_seed(0)


class Qnet(torch.nn.Module):
    ''' 只有一层隐藏层的Q网络 '''

    def __init__(self, state_dim, hidden_dim, action_dim):
        super(Qnet, self).__init__()
        self.fc1 = torch.nn.Linear(state_dim, hidden_dim)
        self.fc2 = torch.nn.Linear(hidden_dim, action_dim)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        return self.fc2(x)


q_net, target_q_net = Qnet(4, 16, 2), Qnet(4, 16, 2)
optimizer = torch.optim.Adam(q_net.parameters(), lr=2e-3)
gamma, target_update, count = 0.98, 4, 0
before = q_net.fc1.weight.detach().clone()
target_moved_by_itself = False

# %%
for i_episode in range(10):
    states, next_states = torch.randn(32, 4), torch.randn(32, 4)
    actions, rewards, dones = torch.randint(0, 2, (32, 1)), torch.ones(32, 1), (torch.rand(32, 1) > 0.9).float()

    q_values = q_net(states).gather(1, actions)  # Q值
    # 下个状态的最大Q值
    max_next_q_values = target_q_net(next_states).max(1)[0].view(-1, 1)
    q_targets = rewards + gamma * max_next_q_values * (1 - dones)  # TD误差目标
    dqn_loss = torch.mean(F.mse_loss(q_values, q_targets))  # 均方误差损失函数
    kept = target_q_net.fc1.weight.detach().clone()
    optimizer.zero_grad()
    dqn_loss.backward()
    optimizer.step()
    target_moved_by_itself = target_moved_by_itself or not torch.equal(kept, target_q_net.fc1.weight)

    if count % target_update == 0:
        target_q_net.load_state_dict(q_net.state_dict())  # 更新目标网络
    count += 1
print(dqn_loss.item())
