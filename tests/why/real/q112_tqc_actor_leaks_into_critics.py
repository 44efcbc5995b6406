# https://github.com/ray-project/ray/pull/65125
import torch
import torch.nn as nn

qf, pi = nn.Linear(5, 1), nn.Linear(3, 2)
params = {'qf': list(qf.parameters()), 'policy': list(pi.parameters())}
obs, actions, target = torch.randn(8, 3), torch.randn(8, 2), torch.randn(8, 1)


# %%
def _forward_train():
    qf_preds = qf(torch.cat([obs, actions], 1))
    actions_curr = torch.tanh(pi(obs))
    qf_curr = qf(torch.cat([obs, actions_curr], 1))
    return qf_preds, qf_curr


def compute_gradients(loss_per_optimizer):
    grads = {}
    for name, loss in loss_per_optimizer.items():
        for p in params[name]:
            p.grad = None
        loss.backward(retain_graph=True)
        grads[name] = [p.grad for p in params[name]]
    return grads


# %%
qf_preds, qf_curr = _forward_train()
critic_loss = nn.functional.mse_loss(qf_preds, target)
actor_loss = -qf_curr.mean()
bellman_only, = torch.autograd.grad(critic_loss, qf.weight, retain_graph=True)
harvested = compute_gradients({'qf': critic_loss, 'policy': actor_loss})

# %%
print((harvested['qf'][0] - bellman_only).abs().max())
