# https://github.com/AgentTorch/AgentTorch/issues/32
import torch
import torch.nn as nn

torch.manual_seed(0)


class SEIRMProgression(nn.Module):
    SUSCEPTIBLE_VAR, INFECTED_VAR = 0, 2

    def __init__(self, num_agents=100):
        super().__init__()
        self.num_agents = num_agents
        self.initial_infection_rate = nn.Parameter(torch.tensor(0.3))
        self.M = nn.Parameter(torch.tensor(0.1))

    def init_stages(self):
        infected = torch.rand(self.num_agents) < self.initial_infection_rate
        stages = torch.full((self.num_agents,), float(self.SUSCEPTIBLE_VAR))
        stages[infected] = float(self.INFECTED_VAR)
        times = torch.randint(1, 6, (self.num_agents,))
        return stages, times

    def forward(self, num_steps):
        current_stages, times = self.init_stages()
        daily_dead = []
        for t in range(num_steps):
            recovered_and_dead_mask = (current_stages == self.INFECTED_VAR) * (times <= t)
            new_death_recovered_today = current_stages * recovered_and_dead_mask / self.INFECTED_VAR
            daily_dead.append(self.M * new_death_recovered_today.sum())
        return torch.stack(daily_dead)


# %%
model = SEIRMProgression()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
target = torch.tensor([0.0, 1.0, 2.5, 4.0, 5.5, 6.0])

# %%
for epoch in range(10):
    optimizer.zero_grad()
    predicted = model(num_steps=6)
    loss = nn.functional.mse_loss(predicted, target)
    loss.backward()
    optimizer.step()
    print(epoch, loss.item(), model.M.item(), model.initial_infection_rate.item())
