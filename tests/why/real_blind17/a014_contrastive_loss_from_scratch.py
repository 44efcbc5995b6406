# https://xue-jishu.com/cong-tou-kai-shi-shi-xian-dui-bi-sun-shi
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ContrastiveLoss(nn.Module):
    def __init__(self, temperature=0.5):
        super(ContrastiveLoss, self).__init__()
        self.temperature = temperature

    def forward(self, projections_1, projections_2):
        z_i = projections_1
        z_j = projections_2
        z_i_norm = F.normalize(z_i, dim=1)
        z_j_norm = F.normalize(z_j, dim=1)
        cosine_num = torch.matmul(z_i, z_j.T)
        cosine_denom = torch.matmul(z_i_norm, z_j_norm.T)
        cosine_similarity = cosine_num / cosine_denom

        numerator = torch.exp(torch.diag(cosine_similarity) / self.temperature)

        denominator = cosine_similarity
        diagonal_indices = torch.arange(denominator.size(0))
        denominator[diagonal_indices, diagonal_indices] = 0
        denominator = torch.exp(torch.sum(cosine_similarity, dim=1))
        loss = -torch.log(numerator / denominator).sum()
        return loss


class Encoder(nn.Module):
    def __init__(self, d_in=32, d_hidden=64, d_proj=64):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(d_in, d_hidden), nn.ReLU(), nn.Linear(d_hidden, d_hidden), nn.ReLU())
        self.projection = nn.Linear(d_hidden, d_proj)

    def forward(self, x):
        return self.projection(self.backbone(x))


def augment(x):
    return x + 0.1 * torch.randn_like(x)


model = Encoder()
criterion = ContrastiveLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

# %%
grad_norms = []
for step in range(30):
    x = torch.randn(16, 32)
    loss = criterion(model(augment(x)), model(augment(x)))
    optimizer.zero_grad()
    loss.backward()
    grad_norms.append(torch.nn.utils.get_total_norm([p.grad for p in model.parameters()]).item())
    optimizer.step()
    if step % 5 == 0:
        print(step, loss.item(), grad_norms[-1])
