# https://github.com/clovaai/tunit/issues/3
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class GuidingNet(nn.Module):
    def __init__(self, img_size=16, output_k={'cont': 16, 'disc': 10}):
        super(GuidingNet, self).__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(inplace=True),
                                      nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU(inplace=True))
        self.cont = nn.Linear(16, output_k['cont'])
        self.disc = nn.Linear(16, output_k['disc'])

    def moco(self, x):
        x = F.adaptive_avg_pool2d(self.features(x), 1).flatten(1)
        return F.normalize(self.cont(x), dim=1)

    def iic(self, x):
        x = F.adaptive_avg_pool2d(self.features(x), 1).flatten(1)
        return self.disc(x)


def update_average(model_tgt, model_src, beta=0.999):
    with torch.no_grad():
        param_dict_src = dict(model_src.named_parameters())
        for p_name, p_tgt in model_tgt.named_parameters():
            p_src = param_dict_src[p_name]
            p_tgt.copy_(beta * p_tgt + (1. - beta) * p_src)


def compute_joint(x_out, x_tf_out):
    # produces variable that requires grad (since args require grad)
    bn, k = x_out.size()
    assert (x_tf_out.size(0) == bn and x_tf_out.size(1) == k)

    p_i_j = x_out.unsqueeze(2) * x_tf_out.unsqueeze(1)  # bn, k, k
    p_i_j = p_i_j.sum(dim=0)  # k, k
    p_i_j = (p_i_j + p_i_j.t()) / 2.  # symmetrise
    p_i_j = p_i_j / p_i_j.sum()  # normalise
    return p_i_j


def calc_iic_loss(x_out, x_tf_out, lamb=1.0, EPS=1e-10):
    # has had softmax applied
    _, k = x_out.size()
    p_i_j = compute_joint(x_out, x_tf_out)
    assert (p_i_j.size() == (k, k))

    p_i = p_i_j.sum(dim=1).view(k, 1).expand(k, k)
    p_j = p_i_j.sum(dim=0).view(1, k).expand(k, k)  # but should be same, symmetric

    # avoid NaN losses. Effect will get cancelled out by p_i_j tiny anyway
    p_i_j[(p_i_j < EPS).data] = EPS
    p_j[(p_j < EPS).data] = EPS
    p_i[(p_i < EPS).data] = EPS

    loss = - p_i_j * (torch.log(p_i_j)
                      - lamb * torch.log(p_j)
                      - lamb * torch.log(p_i))
    return loss.sum()


def calc_contrastive_loss(query, key, queue, temp=0.07):
    N, K = query.shape[0], queue.shape[0]
    key = key.detach()
    logit_pos = torch.bmm(query.view(N, 1, -1), key.view(N, -1, 1))
    logit_neg = torch.mm(query.view(N, -1), queue.t().view(-1, K))
    logit = torch.cat([logit_pos.view(N, 1), logit_neg], dim=1)
    return F.cross_entropy(logit / temp, torch.zeros(N, dtype=torch.long))


# %%
C, C_EMA = GuidingNet(), GuidingNet()
C_EMA.load_state_dict(C.state_dict())
c_opt = torch.optim.Adam(C.parameters(), 1e-4, weight_decay=0.001)
queue = F.normalize(torch.randn(64, 16), dim=1)
data = torch.rand(96, 3, 16, 16)

# %%
for i in range(3):
    x_org = data[32 * i:32 * (i + 1)]
    x_tf = (x_org.flip(3) + 0.05 * torch.randn_like(x_org)).clamp(0, 1)

    q_cont = C.moco(x_org)
    k_cont = C_EMA.moco(x_tf)
    k_cont = k_cont.detach()

    q_disc = F.softmax(C.iic(x_org), 1)
    k_disc = F.softmax(C.iic(x_tf), 1)

    iic_loss = calc_iic_loss(q_disc, k_disc)
    moco_loss = calc_contrastive_loss(q_cont, k_cont, queue)
    c_loss = moco_loss + 5.0 * iic_loss

    c_opt.zero_grad()
    c_loss.backward()
    c_opt.step()
    update_average(C_EMA, C)
    queue = torch.cat([queue[32:], k_cont])
    print(i, moco_loss.item(), iic_loss.item())
