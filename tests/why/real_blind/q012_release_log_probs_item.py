# https://github.com/isayev/ReLeaSE/issues/39
import torch
import torch.nn as nn
import torch.nn.functional as F


class Generator(nn.Module):
    def __init__(self, n_characters=6, hidden_size=8):
        super().__init__()
        self.encoder = nn.Embedding(n_characters, hidden_size)
        self.decoder = nn.Linear(hidden_size, n_characters)

    def forward(self, inp):
        return self.decoder(self.encoder(inp))


generator = Generator()
optimizer = torch.optim.SGD(generator.parameters(), lr=0.1)

# %%
def policy_gradient(trajectory, reward, gamma=0.97):
    rl_loss = torch.zeros(1, requires_grad=True)
    discounted_reward = reward
    for p in range(len(trajectory) - 1):
        output = generator(trajectory[p:p + 1])
        log_probs = F.log_softmax(output, dim=1)
        top_i = trajectory[p + 1]
        rl_loss = rl_loss - (log_probs[0, top_i].item() * discounted_reward)
        discounted_reward = discounted_reward * gamma
    return rl_loss


# %%
rl_loss = policy_gradient(torch.tensor([0, 3, 2, 5]), 1.0)
optimizer.zero_grad()
rl_loss.backward()
optimizer.step()

# %%
for name, p in generator.named_parameters():
    print(name, p.grad)
