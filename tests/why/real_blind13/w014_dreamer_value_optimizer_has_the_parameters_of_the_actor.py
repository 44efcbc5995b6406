# https://github.com/juliusfrost/dreamer-pytorch/pull/79
import torch
import torch.nn as nn

torch.manual_seed(0)


def get_parameters(modules):
    model_parameters = []
    for module in modules:
        model_parameters += list(module.parameters())
    return model_parameters


class AgentModel(nn.Module):
    def __init__(self, obs=6, feat=8, act=2):
        super().__init__()
        self.observation_encoder = nn.Sequential(nn.Linear(obs, feat), nn.ELU())
        self.transition = nn.Linear(feat + act, feat)
        self.reward_model = nn.Linear(feat, 1)
        self.action_decoder = nn.Sequential(nn.Linear(feat, 16), nn.ELU(), nn.Linear(16, act), nn.Tanh())
        self.value_model = nn.Sequential(nn.Linear(feat, 16), nn.ELU(), nn.Linear(16, 1))


class Dreamer:
    def __init__(self, model, model_lr=6e-4, value_lr=8e-5, actor_lr=8e-5, grad_clip=100.0, horizon=5):
        self.model, self.grad_clip, self.horizon = model, grad_clip, horizon
        self.model_lr, self.value_lr, self.actor_lr = model_lr, value_lr, actor_lr
        self.model_modules = [model.observation_encoder, model.transition, model.reward_model]
        self.actor_modules = [model.action_decoder]
        self.value_modules = [model.value_model]
        self.model_optimizer = torch.optim.Adam(get_parameters(self.model_modules), lr=self.model_lr)
        self.actor_optimizer = torch.optim.Adam(get_parameters(self.actor_modules), lr=self.actor_lr)
        self.value_optimizer = torch.optim.Adam(get_parameters(self.actor_modules), lr=self.value_lr)

    def loss(self, obs, action, next_obs, reward):
        m = self.model
        feat = m.observation_encoder(obs)
        next_feat = m.transition(torch.cat([feat, action], -1))
        model_loss = nn.functional.mse_loss(next_feat, m.observation_encoder(next_obs))
        model_loss = model_loss + nn.functional.mse_loss(m.reward_model(next_feat), reward)
        # imagine ahead
        imag, returns = feat.detach(), 0.0
        for t in range(self.horizon):
            imag = m.transition(torch.cat([imag, m.action_decoder(imag)], -1))
            returns = returns + 0.99 ** t * m.reward_model(imag)
        actor_loss = -torch.mean(returns)
        value_loss = nn.functional.mse_loss(m.value_model(feat.detach()), returns.detach())
        return model_loss, actor_loss, value_loss

    def optimize_agent(self, batches):
        for batch in batches:
            model_loss, actor_loss, value_loss = self.loss(*batch)
            self.model_optimizer.zero_grad()
            self.actor_optimizer.zero_grad()
            self.value_optimizer.zero_grad()
            model_loss.backward()
            for p in get_parameters(self.model_modules):
                p.requires_grad = False
            self.loss(*batch)[1].backward()
            for p in get_parameters(self.model_modules):
                p.requires_grad = True
            value_loss.backward()
            for modules in (self.model_modules, self.actor_modules, self.value_modules):
                torch.nn.utils.clip_grad_norm_(get_parameters(modules), self.grad_clip)
            self.model_optimizer.step()
            self.actor_optimizer.step()
            self.value_optimizer.step()
        print(model_loss.item(), actor_loss.item(), value_loss.item())


# %%
model = AgentModel()
value_before = model.value_model[0].weight.detach().clone()
algo = Dreamer(model)
for itr in range(3):
    batches = [(torch.randn(16, 6), torch.rand(16, 2) * 2 - 1, torch.randn(16, 6), torch.randn(16, 1)) for _ in range(5)]
    algo.optimize_agent(batches)
