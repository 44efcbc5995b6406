# https://github.com/nebuly-ai/optimate/pull/250
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class ActorModel(nn.Module):
    def __init__(self, vocab_size=4, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab_size)

    def forward(self, sequences):
        return self.head(self.rnn(self.embed(sequences))[0])


class CriticModel(nn.Module):
    def __init__(self, vocab_size=4, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, 1)

    def forward(self, sequences):
        return self.head(self.rnn(self.embed(sequences))[0]).squeeze(-1)


class RLTrainer:
    def __init__(self, actor_lr=1e-2, critic_lr=1e-2, eps_clip=0.2, beta_s=0.5):
        self.actor, self.critic = ActorModel(), CriticModel()
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=actor_lr)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=critic_lr)
        self.eps_clip, self.beta_s, self.eps = eps_clip, beta_s, 1e-8

    def log_probs(self, sequences, actions):
        actions_prob = torch.softmax(self.actor(sequences), dim=-1)
        actions_log_prob = torch.log(actions_prob + self.eps)
        return actions_prob, actions_log_prob, actions_log_prob.gather(-1, actions.unsqueeze(-1)).squeeze(-1)

    @torch.no_grad()
    def generate(self, num_examples=64, length=6):
        sequences = torch.randint(0, 4, (num_examples, length))
        actions = torch.distributions.Categorical(logits=self.actor(sequences)).sample()
        old_log_probs = self.log_probs(sequences, actions)[2]
        rewards = (actions == sequences).float() + torch.randn(actions.shape)
        return sequences, actions, self.critic(sequences), rewards, old_log_probs

    def learn(self, memories, epochs=2, batch_size=16):
        dataloader = DataLoader(TensorDataset(*memories), batch_size=batch_size, shuffle=True)
        for epoch in range(epochs):
            for sequences, actions, old_values, rewards, old_log_probs in dataloader:
                actions_prob, all_log_probs, actions_log_prob = self.log_probs(sequences, actions)
                values = self.critic(sequences)

                # compute entropy
                entropies = (actions_prob * all_log_probs).sum(dim=-1)

                # compute ratios
                ratios = (actions_log_prob - old_log_probs).exp()

                # compute PPO loss
                advantages = rewards - old_values
                advantages = (advantages - advantages.mean()) / (advantages.std() + self.eps)
                surr1 = advantages * ratios
                surr2 = torch.clamp(ratios, 1 - self.eps_clip, 1 + self.eps_clip) * advantages
                policy_loss = -torch.min(surr1, surr2) - self.beta_s * entropies
                policy_loss = policy_loss.mean()

                # update actor with loss
                self.actor_optimizer.zero_grad()
                policy_loss.backward()
                self.actor_optimizer.step()

                # compute value loss
                value_loss_clipped = old_values + (values - old_values).clamp(-self.eps_clip, self.eps_clip)
                value_loss = torch.max((value_loss_clipped - rewards) ** 2, (values - rewards) ** 2).mean()

                # update critic
                self.critic_optimizer.zero_grad()
                value_loss.backward()
                self.critic_optimizer.step()
        return policy_loss.item(), value_loss.item()


# %%
trainer = RLTrainer()
for episode in range(10):
    memories = trainer.generate()
    policy_loss, value_loss = trainer.learn(memories)
    print(episode, policy_loss, value_loss)

# %%
sequences = torch.randint(0, 4, (64, 6))
with torch.no_grad():
    dist = torch.distributions.Categorical(logits=trainer.actor(sequences))
print(dist.probs[0], dist.entropy().mean().item())
