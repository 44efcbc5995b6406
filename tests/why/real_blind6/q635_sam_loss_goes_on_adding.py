# https://github.com/davda54/sam/issues/10
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        super(SAM, self).__init__(params, dict(rho=rho, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        for group in self.param_groups:
            grad_norm = torch.stack([p.grad.norm(p=2) for p in group["params"]]).norm(p=2)
            for p in group["params"]:
                e_w = p.grad * group["rho"] / (grad_norm + 1e-12)
                p.add_(e_w)
                self.state[p]["e_w"] = e_w
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(self.state[p]["e_w"])
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()


class MultiTask(nn.Module):
    def __init__(self, num_tasks):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, 2, 1)
        self.fc = nn.Linear(8, num_tasks)

    def forward(self, image):
        logit_map = torch.relu(self.conv(image))
        return self.fc(logit_map.mean((2, 3))), logit_map


def get_loss(output, target, t):
    loss_t = F.binary_cross_entropy_with_logits(output[:, t], target[:, t])
    acc_t = ((output[:, t] > 0).float() == target[:, t]).float().mean()
    return loss_t, acc_t


num_tasks = 3
model = MultiTask(num_tasks)
optimizer = SAM(model.parameters(), torch.optim.SGD, lr=0.1)

# %%
loss_sum, acc_sum = [0.0] * num_tasks, [0.0] * num_tasks
for step in range(3):
    image, target = torch.rand(8, 1, 12, 12), torch.randint(0, 2, (8, num_tasks)).float()
    output, logit_map = model(image)

    loss = 0
    for t in range(num_tasks):
        loss_t, acc_t = get_loss(output, target, t)
        loss += loss_t
        loss_sum[t] += loss_t.item()
        acc_sum[t] += acc_t.item()

    optimizer.zero_grad()
    loss.backward()
    optimizer.first_step(zero_grad=True)
    output, logit_map = model(image)

    for t in range(num_tasks):
        loss_t, acc_t = get_loss(output, target, t)
        loss += loss_t
        loss_sum[t] += loss_t.item()
        acc_sum[t] += acc_t.item()
    loss.backward()
    optimizer.second_step(zero_grad=True)
    print(step, loss.item())
