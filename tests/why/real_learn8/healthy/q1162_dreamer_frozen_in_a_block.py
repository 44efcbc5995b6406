# https://github.com/yusukeurakami/dreamer-pytorch/blob/master/main.py
from itertools import chain

import torch
from torch import nn, optim
from torch.nn import functional as F

torch.manual_seed(0)


class FreezeParameters:
    """Switch the parameters of modules off inside of a block."""

    def __init__(self, modules):
        self.modules = modules
        self.param_states = [p.requires_grad for m in modules for p in m.parameters()]

    def __enter__(self):
        for m in self.modules:
            for p in m.parameters():
                p.requires_grad = False

    def __exit__(self, *_):
        for p, state in zip((p for m in self.modules for p in m.parameters()), self.param_states):
            p.requires_grad = state


def lambda_return(imged_reward, value_pred, bootstrap, discount=0.99, lambda_=0.95):
    next_values = torch.cat([value_pred[1:], bootstrap[None]], 0)
    inputs = imged_reward + discount * next_values * (1 - lambda_)
    last, outputs = bootstrap, []
    for index in reversed(range(len(inputs))):
        last = inputs[index] + discount * lambda_ * last
        outputs.append(last)
    return torch.stack(list(reversed(outputs)), 0)


transition_model = nn.GRUCell(2, 6)
observation_model, reward_model = (
    nn.Linear(6, 4),
    nn.Sequential(nn.Linear(6, 8), nn.ELU(), nn.Linear(8, 1)),
)
encoder = nn.Linear(4, 2)
actor_model = nn.Sequential(nn.Linear(6, 8), nn.ELU(), nn.Linear(8, 2), nn.Tanh())
value_model = nn.Sequential(nn.Linear(6, 8), nn.ELU(), nn.Linear(8, 1))
param_list = list(
    chain(*(m.parameters() for m in (transition_model, observation_model, reward_model, encoder)))
)
model_optimizer = optim.Adam(param_list, lr=1e-3)
actor_optimizer = optim.Adam(actor_model.parameters(), lr=1e-3)
value_optimizer = optim.Adam(value_model.parameters(), lr=1e-3)
model_modules = [transition_model, encoder, observation_model, reward_model]
before = actor_model[0].weight.detach().clone()

# %%
for s in range(3):
    observations, rewards = torch.randn(5, 3, 4), torch.randn(5, 3)
    belief, beliefs = torch.zeros(3, 6), []
    for t in range(5):
        belief = transition_model(encoder(observations[t]), belief)
        beliefs.append(belief)
    beliefs = torch.stack(beliefs)
    observation_loss = F.mse_loss(observation_model(beliefs), observations)
    reward_loss = F.mse_loss(reward_model(beliefs).squeeze(-1), rewards)
    model_loss = observation_loss + reward_loss
    model_optimizer.zero_grad()
    model_loss.backward()
    nn.utils.clip_grad_norm_(param_list, 100, norm_type=2)
    model_optimizer.step()

    with torch.no_grad():
        actor_states = beliefs.detach()
    with FreezeParameters(model_modules):
        imged_belief, imged_beliefs = actor_states.reshape(-1, 6), []
        for _ in range(4):
            imged_belief = transition_model(actor_model(imged_belief.detach()), imged_belief)
            imged_beliefs.append(imged_belief)
        imged_beliefs = torch.stack(imged_beliefs)
    with FreezeParameters(model_modules + [value_model]):
        imged_reward = reward_model(imged_beliefs).squeeze(-1)
        value_pred = value_model(imged_beliefs).squeeze(-1)
    returns = lambda_return(imged_reward, value_pred, bootstrap=value_pred[-1])
    actor_loss = -torch.mean(returns)
    actor_optimizer.zero_grad()
    actor_loss.backward()
    nn.utils.clip_grad_norm_(actor_model.parameters(), 100, norm_type=2)
    actor_optimizer.step()

    with torch.no_grad():
        value_beliefs, target_return = imged_beliefs.detach(), returns.detach()
    value_loss = F.mse_loss(value_model(value_beliefs).squeeze(-1), target_return)
    value_optimizer.zero_grad()
    value_loss.backward()
    nn.utils.clip_grad_norm_(value_model.parameters(), 100, norm_type=2)
    value_optimizer.step()
    print(model_loss.item(), actor_loss.item(), value_loss.item())
