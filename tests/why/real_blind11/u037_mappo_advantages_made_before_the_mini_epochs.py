# https://github.com/hijkzzz/pymarl2/issues/46
import torch as th
import torch.nn as nn
from torch.optim import Adam

th.manual_seed(0)
bs, seq, n_agents, n_actions, obs = 8, 10, 2, 4, 6


class MAPPOLearner:
    def __init__(self, mini_epochs=4, gamma=0.99, gae_lambda=0.95, eps_clip=0.2):
        self.mac = nn.Sequential(nn.Linear(obs, 32), nn.ReLU(), nn.Linear(32, n_actions), nn.Softmax(-1))
        self.critic = nn.Sequential(nn.Linear(obs, 32), nn.ReLU(), nn.Linear(32, 1))
        self.params = list(self.mac.parameters()) + list(self.critic.parameters())
        self.optimiser = Adam(params=self.params, lr=5e-4)
        self.mini_epochs, self.gamma, self.gae_lambda, self.eps_clip = mini_epochs, gamma, gae_lambda, eps_clip

    def build_gae_targets(self, rewards, values):
        advs, last = [], th.zeros_like(rewards[:, 0])
        for t in reversed(range(rewards.shape[1])):
            delta = rewards[:, t] + self.gamma * values[:, t + 1] - values[:, t]
            last = delta + self.gamma * self.gae_lambda * last
            advs.insert(0, last)
        advs = th.stack(advs, dim=1)
        return advs, advs + values[:, :-1]

    def train(self, batch):
        rewards, actions = batch["reward"], batch["actions"]
        old_logprob = th.log(th.gather(batch["probs"], dim=3, index=actions)).detach()

        # targets and advantages
        values = self.critic(batch["obs"])
        advantages, targets = self.build_gae_targets(rewards, values)
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-6)

        # PPO Loss
        for _ in range(self.mini_epochs):
            # Critic
            values = self.critic(batch["obs"][:, :-1])
            critic_loss = 0.5 * ((values - targets.detach()) ** 2).mean()

            # Actor
            pi = self.mac(batch["obs"][:, :-1])
            log_pi_taken = th.log(th.gather(pi, dim=3, index=actions))
            ratios = th.exp(log_pi_taken - old_logprob)
            surr1 = ratios * advantages
            surr2 = th.clamp(ratios, 1 - self.eps_clip, 1 + self.eps_clip) * advantages
            actor_loss = -th.min(surr1, surr2).mean()
            loss = actor_loss + 0.5 * critic_loss

            # Optimise agents
            self.optimiser.zero_grad()
            loss.backward()
            th.nn.utils.clip_grad_norm_(self.params, 10)
            self.optimiser.step()
        return loss


# %%
learner = MAPPOLearner()
batch = {
    "obs": th.randn(bs, seq + 1, n_agents, obs),
    "reward": th.randn(bs, seq, n_agents, 1),
    "actions": th.randint(0, n_actions, (bs, seq, n_agents, 1)),
    "probs": th.softmax(th.randn(bs, seq, n_agents, n_actions), -1),
}

# %%
loss = learner.train(batch)
print(loss.item())
