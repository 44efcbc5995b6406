# https://github.com/learnables/learn2learn/issues/420
import torch
import torch as th
from torch import nn, optim, distributions as dist
from torch.autograd import grad

torch.manual_seed(0)
DIM = 5
TIMESTEPS = 30
TASKS_PER_STEP = 10


def clone_module(module):
    """A copy of a module without children, whose parameters are still connected with the original's."""
    clone = module.__new__(type(module))
    clone.__dict__ = module.__dict__.copy()
    clone._parameters = {}
    for param_key, param in module._parameters.items():
        clone._parameters[param_key] = param.clone()
    return clone


def maml_update(model, lr, grads):
    for param_key, g in zip(list(model._parameters), grads):
        p = model._parameters[param_key]
        if p is not None and g is not None:
            model._parameters[param_key] = p - lr * g
    return model


class MAML(nn.Module):

    def __init__(self, model, lr, first_order=False):
        super(MAML, self).__init__()
        self.module = model
        self.lr = lr
        self.first_order = first_order

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def adapt(self, loss):
        second_order = not self.first_order
        gradients = grad(loss,
                         list(self.module._parameters.values()),
                         retain_graph=second_order,
                         create_graph=second_order)
        self.module = maml_update(self.module, self.lr, gradients)

    def clone(self):
        return MAML(clone_module(self.module), lr=self.lr, first_order=self.first_order)


class Model(nn.Module):

    def __init__(self):
        super(Model, self).__init__()
        self.mu = nn.Parameter(th.randn(DIM))
        self.sigma = nn.Parameter(th.randn(DIM))

    def forward(self, x=None):
        return dist.Normal(self.mu, self.sigma, validate_args=False)


# %%
task_dist = dist.Normal(th.zeros(2 * DIM), th.ones(2 * DIM))
model = Model()
maml = MAML(model, lr=1e-2)
opt = optim.Adam(maml.parameters())

# %%
losses, adapt_losses = [], []
for i in range(TIMESTEPS):
    step_loss = 0.0
    for t in range(TASKS_PER_STEP):
        # Sample a task
        task_params = task_dist.sample()
        mu_i, sigma_i = task_params[:DIM], task_params[DIM:]

        # Adaptation: Instanciate a copy of model
        learner = maml.clone()
        proposal = learner()

        # Adaptation: Compute and adapt to task loss
        loss = (mu_i - proposal.mean).pow(2).sum() + (sigma_i - proposal.variance).pow(2).sum()
        learner.adapt(loss)
        losses.append(loss.item())

        # Adaptation: Evaluate the effectiveness of adaptation
        adapt_loss = (mu_i - proposal.mean).pow(2).sum() + (sigma_i - proposal.variance).pow(2).sum()
        adapt_losses.append(adapt_loss.item())

        # Accumulate the error over all tasks
        step_loss += adapt_loss

    # Meta-learning step: compute gradient through the adaptation step, automatically.
    step_loss = step_loss / TASKS_PER_STEP
    opt.zero_grad()
    step_loss.backward()
    opt.step()
    if i % 10 == 0:
        print(i, step_loss.item())

# %%
for before, after in zip(losses[-5:], adapt_losses[-5:]):
    print(before, after)
print(maml.module.mu, proposal.mean, learner.module.mu)
