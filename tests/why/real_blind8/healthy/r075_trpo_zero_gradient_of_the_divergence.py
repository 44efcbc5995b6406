# https://github.com/ikostrikov/pytorch-trpo/blob/master/trpo.py
import torch
import torch.nn as nn

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self, num_inputs=4, num_outputs=2):
        super(Policy, self).__init__()
        self.affine1, self.action_mean = nn.Linear(num_inputs, 16), nn.Linear(16, num_outputs)
        self.action_mean.weight.data.mul_(0.1)
        self.action_mean.bias.data.mul_(0.0)
        self.action_log_std = nn.Parameter(torch.zeros(1, num_outputs))

    def forward(self, x):
        action_mean = self.action_mean(torch.tanh(self.affine1(x)))
        action_log_std = self.action_log_std.expand_as(action_mean)
        return action_mean, action_log_std, torch.exp(action_log_std)


policy_net = Policy()
states, actions, advantages = torch.randn(64, 4), torch.randn(64, 2), torch.randn(64, 1)


def normal_log_density(x, mean, log_std, std):
    return (-(x - mean).pow(2) / (2 * std.pow(2)) - 0.919 - log_std).sum(1, keepdim=True)


with torch.no_grad():
    fixed_log_prob = normal_log_density(actions, *policy_net(states))


def get_loss():
    log_prob = normal_log_density(actions, *policy_net(states))
    return (-advantages * torch.exp(log_prob - fixed_log_prob)).mean()


def get_kl():
    mean1, log_std1, std1 = policy_net(states)
    mean0, log_std0, std0 = mean1.detach(), log_std1.detach(), std1.detach()
    kl = log_std1 - log_std0 + (std0.pow(2) + (mean0 - mean1).pow(2)) / (2.0 * std1.pow(2)) - 0.5
    return kl.sum(1, keepdim=True)


def conjugate_gradients(Avp, b, nsteps):
    x, r, p = torch.zeros(b.size()), b.clone(), b.clone()
    rdotr = torch.dot(r, r)
    for i in range(nsteps):
        _Avp = Avp(p)
        alpha = rdotr / torch.dot(p, _Avp)
        x += alpha * p
        r -= alpha * _Avp
        new_rdotr = torch.dot(r, r)
        p = r + new_rdotr / rdotr * p
        rdotr = new_rdotr
    return x


# %%
loss = get_loss()
grads = torch.autograd.grad(loss, policy_net.parameters())
loss_grad = torch.cat([grad.view(-1) for grad in grads]).data
kl_grads = []


def Fvp(v):
    kl = get_kl().mean()
    grads = torch.autograd.grad(kl, policy_net.parameters(), create_graph=True)
    flat_grad_kl = torch.cat([grad.view(-1) for grad in grads])
    kl_grads.append(flat_grad_kl.detach())
    kl_v = (flat_grad_kl * v).sum()
    grads = torch.autograd.grad(kl_v, policy_net.parameters())
    return torch.cat([grad.contiguous().view(-1) for grad in grads]).data + v * 0.1


# %%
stepdir = conjugate_gradients(Fvp, -loss_grad, 10)
shs = 0.5 * (stepdir * Fvp(stepdir)).sum(0, keepdim=True)
fullstep = stepdir / torch.sqrt(shs / 1e-2)[0]
before = nn.utils.parameters_to_vector(policy_net.parameters()).detach().clone()
with torch.no_grad():
    nn.utils.vector_to_parameters(before + fullstep, policy_net.parameters())
print(loss.item(), get_loss().item(), kl_grads[0].abs().max())
