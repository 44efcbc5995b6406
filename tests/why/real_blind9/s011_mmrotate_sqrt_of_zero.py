# https://github.com/open-mmlab/mmrotate/issues/205
import torch

torch.manual_seed(0)
target_xy, target_sigma = torch.rand(4, 2) * 10, torch.rand(4, 2) + 1
pred_xy = (target_xy + torch.randn(4, 2)).requires_grad_()
pred_sigma = (target_sigma + 0.1 * torch.rand(4, 2)).requires_grad_()
with torch.no_grad():
    pred_xy[2] = target_xy[2]
    pred_sigma[2] = target_sigma[2]


# %%
def postprocess(distance, fun='log1p', tau=1.0):
    if fun == 'log1p':
        distance = torch.log1p(distance)
    return 1 - 1 / (tau + distance)


def gwd_loss(pred, target, fun='log1p', tau=1.0, alpha=1.0):
    xy_p, Sigma_p = pred
    xy_t, Sigma_t = target

    xy_distance = (xy_p - xy_t).square().sum(dim=-1)
    whr_distance = (Sigma_p - Sigma_t).square().sum(dim=-1)

    distance = xy_distance + alpha * alpha * whr_distance
    distance = distance.sqrt()

    return postprocess(distance, fun=fun, tau=tau)


# %%
loss = gwd_loss((pred_xy, pred_sigma), (target_xy, target_sigma)).mean()
loss.backward()
print(loss.item(), pred_xy.grad)
