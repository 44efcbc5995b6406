# https://github.com/lenscloth/RKD/issues/16
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def pdist(e, squared=False, eps=1e-12):
    e_square = e.pow(2).sum(dim=1)
    prod = e @ e.t()
    res = (e_square.unsqueeze(1) + e_square.unsqueeze(0) - 2 * prod).clamp(min=eps)
    if not squared:
        res = res.sqrt()
    res = res.clone()
    res[range(len(e)), range(len(e))] = 0
    return res


class RKdAngle(nn.Module):
    def forward(self, student, teacher):
        with torch.no_grad():
            td = (teacher.unsqueeze(0) - teacher.unsqueeze(1))
            norm_td = F.normalize(td, p=2, dim=2)
            t_angle = torch.bmm(norm_td, norm_td.transpose(1, 2)).view(-1)

        sd = (student.unsqueeze(0) - student.unsqueeze(1))
        norm_sd = F.normalize(sd, p=2, dim=2)
        s_angle = torch.bmm(norm_sd, norm_sd.transpose(1, 2)).view(-1)
        return F.smooth_l1_loss(s_angle, t_angle)


class RkdDistance(nn.Module):
    def forward(self, student, teacher):
        with torch.no_grad():
            t_d = pdist(teacher, squared=False)
            mean_td = t_d[t_d > 0].mean()
            t_d = t_d / mean_td

        d = pdist(student, squared=False)
        mean_d = d[d > 0].mean()
        d = d / mean_d
        return F.smooth_l1_loss(d, t_d)


# %%
teacher = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 16)).eval()
student = nn.Sequential(nn.Linear(10, 12), nn.ReLU(), nn.Linear(12, 8))
dist_criterion, angle_criterion = RkdDistance(), RKdAngle()
optimizer = torch.optim.Adam(student.parameters(), lr=1e-4, weight_decay=1e-5)

# %%
for i in range(3):
    images = torch.randn(8, 10)
    e = student(images)
    with torch.no_grad():
        t_e = teacher(images)
    dist_loss = 25 * dist_criterion(e, t_e)
    angle_loss = 50 * angle_criterion(e, t_e)
    loss = dist_loss + angle_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(i, dist_loss.item(), angle_loss.item())
