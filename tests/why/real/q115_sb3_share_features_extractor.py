# https://github.com/DLR-RM/stable-baselines3/issues/691
import torch as th
from torch import nn

features_extractor, qf, mu = nn.Linear(4, 6), nn.Linear(8, 1), nn.Linear(6, 2)
share_features_extractor = True
obs, actions = th.randn(8, 4), th.randn(8, 2)


# %%
def critic_forward(obs, actions):
    # Learn the features extractor using the policy loss only
    # when the features_extractor is shared with the actor
    with th.set_grad_enabled(not share_features_extractor):
        features = features_extractor(obs)
    return qf(th.cat([features, actions], dim=1))


# %%
critic_loss = nn.functional.mse_loss(critic_forward(obs, actions), th.randn(8, 1))
critic_loss.backward()
grad_after_critic = features_extractor.weight.grad

# %%
actor_loss = -critic_forward(obs, th.tanh(mu(features_extractor(obs)))).mean()
actor_loss.backward()
print(grad_after_critic, features_extractor.weight.grad is None)
