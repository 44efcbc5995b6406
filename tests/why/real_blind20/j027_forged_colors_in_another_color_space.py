# https://github.com/AbstractTeen/AntiForgery/issues/1
import torch
import torch.nn as nn

torch.manual_seed(0)


def rgb2xyz(rgb):  # rgb from [0,1]
    mask = (rgb > .04045).type(torch.FloatTensor)
    rgb = (((rgb + .055) / 1.055) ** 2.4) * mask + rgb / 12.92 * (1 - mask)
    m = torch.tensor([[.412453, .357580, .180423], [.212671, .715160, .072169], [.019334, .119193, .950227]])
    return torch.einsum("ij,bjhw->bihw", m, rgb)


def xyz2rgb(xyz):
    m = torch.tensor([[3.24048134, -1.53715152, -.49853633], [-.96925495, 1.87599, .04155593],
                      [.05564664, -.20404134, 1.05731107]])
    rgb = torch.einsum("ij,bjhw->bihw", m, xyz)
    rgb = torch.max(rgb, torch.zeros_like(rgb))  # sometimes reaches a small negative number

    mask = (rgb > .0031308).type(torch.FloatTensor)
    rgb = (1.055 * (rgb ** (1. / 2.4)) - 0.055) * mask + 12.92 * rgb * (1 - mask)
    return rgb


def xyz2lab(xyz):
    sc = torch.Tensor((0.95047, 1., 1.08883))[None, :, None, None]
    xyz_scale = xyz / sc
    mask = (xyz_scale > .008856).type(torch.FloatTensor)
    xyz_int = xyz_scale ** (1 / 3.) * mask + (7.787 * xyz_scale + 16. / 116.) * (1 - mask)
    x, y, z = xyz_int.split(1, dim=1)
    return torch.cat((116. * y - 16., 500. * (x - y), 200. * (y - z)), dim=1)


def lab2xyz(lab):
    y_int = (lab[:, 0] + 16.) / 116.
    x_int = (lab[:, 1] / 500.) + y_int
    z_int = torch.max(torch.Tensor((0,)), y_int - (lab[:, 2] / 200.))
    out = torch.stack((x_int, y_int, z_int), dim=1)
    mask = (out > .2068966).type(torch.FloatTensor)
    out = (out ** 3.) * mask + (out - 16. / 116.) / 7.787 * (1 - mask)
    return out * torch.Tensor((0.95047, 1., 1.08883))[None, :, None, None]


def rgb2lab(rgb):
    lab = xyz2lab(rgb2xyz(rgb))
    return torch.cat(((lab[:, [0]] - 50.) / 100., lab[:, 1:] / 110.), dim=1)


def lab2rgb(lab_rs):
    lab = torch.cat((lab_rs[:, [0]] * 100. + 50., lab_rs[:, 1:] * 110.), dim=1)
    return xyz2rgb(lab2xyz(lab))


def denorm(x):
    """Convert the range from [-1, 1] to [0, 1]."""
    out = (x + 1) / 2
    return out.clamp_(0, 1)


class Generator(nn.Module):
    def __init__(self, conv_dim=8, c_dim=5):
        super().__init__()
        self.main = nn.Sequential(nn.Conv2d(3 + c_dim, conv_dim, 3, padding=1), nn.InstanceNorm2d(conv_dim), nn.ReLU(),
                                  nn.Conv2d(conv_dim, 3, 3, padding=1), nn.Tanh())

    def forward(self, x, c):
        c = c.view(c.size(0), c.size(1), 1, 1).repeat(1, 1, x.size(2), x.size(3))
        return self.main(torch.cat([x, c], dim=1))


# %%
def lab_attack(X_nat, c_trg, model, epsilon=0.05, iter=10):
    criterion = nn.MSELoss()
    pert_a = torch.zeros(X_nat.shape[0], 2, X_nat.shape[2], X_nat.shape[3]).requires_grad_()
    optimizer = torch.optim.Adam([pert_a], lr=1e-4, betas=(0.9, 0.999))
    X = denorm(X_nat.clone())

    for i in range(iter):
        X_lab = rgb2lab(X)
        pert = torch.clamp(pert_a, min=-epsilon, max=epsilon)
        X_lab[:, 1:, :, :] = X_lab[:, 1:, :, :] + pert
        X_new = (lab2rgb(X_lab) - 0.5) / 0.5

        with torch.no_grad():
            gen_noattack = model(X_nat, c_trg[i % len(c_trg)])
        gen_stargan = model(X_new, c_trg[i % len(c_trg)])

        loss = -criterion(gen_stargan, gen_noattack)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return X_new, X_new - X, pert_a


# %%
G = Generator()
x_real = (torch.randn(1, 3, 16, 16) * 0.8).clamp(-1, 1)
c_trg_list = [torch.eye(5)[[i]] for i in range(5)]
x_adv, perturb, pert_a = lab_attack(x_real, c_trg_list, G)
print("nan in the perturbation:", torch.isnan(pert_a).sum().item(), "of", pert_a.numel())
