# https://github.com/jcwleo/random-network-distillation-pytorch/blob/master/agents.py
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions.categorical import Categorical

torch.manual_seed(0)


class RNDModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.predictor = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(), nn.Linear(16, 8))
        self.target = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(), nn.Linear(16, 8))
        for param in self.target.parameters():
            param.requires_grad = False

    def forward(self, next_obs):
        return self.predictor(next_obs), self.target(next_obs)


class CnnActorCriticNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.feature = nn.Sequential(nn.Linear(4, 16), nn.ReLU())
        self.actor, self.extra_layer = nn.Linear(16, 3), nn.Linear(16, 16)
        self.critic_ext, self.critic_int = nn.Linear(16, 1), nn.Linear(16, 1)

    def forward(self, state):
        x = self.feature(state)
        policy = self.actor(x)
        value_ext = self.critic_ext(self.extra_layer(x) + x)
        value_int = self.critic_int(self.extra_layer(x) + x)
        return policy, value_ext, value_int


class RNDAgent:
    def __init__(self):
        self.model, self.rnd = CnnActorCriticNetwork(), RNDModel()
        self.optimizer = optim.Adam(
            list(self.model.parameters()) + list(self.rnd.predictor.parameters()), lr=1e-3
        )
        self.update_proportion, self.ppo_eps, self.ent_coef = 0.25, 0.1, 0.001

    def get_action(self, state):
        policy, value_ext, value_int = self.model(torch.as_tensor(state))
        action_prob = F.softmax(policy, dim=-1).data.cpu().numpy()
        return (
            action_prob.argmax(1),
            value_ext.data.cpu().numpy().squeeze(),
            value_int.data.numpy().squeeze(),
            policy.detach(),
        )

    def compute_intrinsic_reward(self, next_obs):
        target_next_feature = self.rnd.target(next_obs)
        predict_next_feature = self.rnd.predictor(next_obs)
        intrinsic_reward = (target_next_feature - predict_next_feature).pow(2).sum(1) / 2
        return intrinsic_reward.data.cpu().numpy()

    def train_model(
        self,
        s_batch,
        target_ext_batch,
        target_int_batch,
        y_batch,
        adv_batch,
        next_obs_batch,
        old_policy,
    ):
        forward_mse = nn.MSELoss(reduction="none")
        with torch.no_grad():
            log_prob_old = Categorical(F.softmax(old_policy, dim=-1)).log_prob(y_batch)
        for i in range(2):
            predict_next_state_feature, target_next_state_feature = self.rnd(next_obs_batch)
            forward_loss = forward_mse(
                predict_next_state_feature, target_next_state_feature.detach()
            ).mean(-1)
            mask = torch.rand(len(forward_loss))
            mask = (mask < self.update_proportion).type(torch.FloatTensor)
            forward_loss = (forward_loss * mask).sum() / torch.max(mask.sum(), torch.Tensor([1]))
            policy, value_ext, value_int = self.model(s_batch)
            m = Categorical(F.softmax(policy, dim=-1))
            log_prob = m.log_prob(y_batch)
            ratio = torch.exp(log_prob - log_prob_old)
            surr1 = ratio * adv_batch
            surr2 = torch.clamp(ratio, 1.0 - self.ppo_eps, 1.0 + self.ppo_eps) * adv_batch
            actor_loss = -torch.min(surr1, surr2).mean()
            critic_loss = F.mse_loss(value_ext.sum(1), target_ext_batch) + F.mse_loss(
                value_int.sum(1), target_int_batch
            )
            entropy = m.entropy().mean()
            self.optimizer.zero_grad()
            loss = actor_loss + 0.5 * critic_loss - self.ent_coef * entropy + forward_loss
            loss.backward()
            self.optimizer.step()


agent = RNDAgent()
before = agent.model.feature[0].weight.detach().clone()

# %%
for _ in range(2):
    states, next_states = torch.randn(12, 4), torch.randn(12, 4)
    actions, value_ext, value_int, policy = agent.get_action(states)
    intrinsic_reward = agent.compute_intrinsic_reward(next_states)
    adv = torch.randn(12) + torch.as_tensor(intrinsic_reward)
    agent.train_model(
        states,
        torch.randn(12),
        torch.as_tensor(intrinsic_reward),
        torch.as_tensor(actions),
        adv,
        next_states,
        policy,
    )
    print(intrinsic_reward.mean())
