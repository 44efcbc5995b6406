# https://github.com/Animadversio/GAN-Geometry/issues/4
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self, code_dim=10):
        super().__init__()
        self.fc = nn.Linear(code_dim, 8 * 4 * 4)
        self.deconv = nn.Sequential(nn.ReLU(), nn.ConvTranspose2d(8, 3, 4, 2, 1), nn.Tanh())

    def visualize(self, code, scale=1.0):
        img = self.deconv(self.fc(code).view(-1, 8, 4, 4))
        return torch.clamp((img + 1.0) / 2.0, 0, 1) * scale


class Objective:
    """Activation of one unit of a layer"""

    def __init__(self, cnn, unit):
        self.cnn, self.unit = cnn, unit

    def __call__(self, img):
        acts = self.cnn(img)
        return acts[:, self.unit]


class GANForwardHVPOperator:
    """Forward differencing: the product of the Hessian with a vector is a difference of two gradients"""

    def __init__(self, model, code, objective, preprocess=lambda img: img, EPS=1e-2):
        self.model = model
        for param in self.model.parameters():
            param.requires_grad_(False)
        self.objective, self.preprocess, self.EPS = objective, preprocess, EPS
        self.code = code.clone().requires_grad_(False)
        self.size = self.code.numel()

    def apply(self, vec):
        vecnorm = vec.norm()
        if vecnorm < 1e-8:
            return torch.zeros_like(vec)
        eps = self.EPS / vecnorm
        vec = vec.reshape(1, -1)
        perturb_vecs = self.code + eps * torch.cat((vec, -vec))
        perturb_vecs.requires_grad_(True)
        img = self.model.visualize(perturb_vecs)
        resz_img = self.preprocess(img)
        activs = self.objective(resz_img)  # , scaler=True
        ftgrad_both = torch.autograd.grad(activs, perturb_vecs, retain_graph=False, create_graph=False, only_inputs=True)[0]
        hessian_vec_prod = (ftgrad_both[0, :] - ftgrad_both[1, :]) / (2 * eps)
        return hessian_vec_prod


def lanczos(operator, num_eigenthings=2, steps=5):
    v = torch.randn(operator.size)
    for _ in range(steps):
        w = operator.apply(v / v.norm())
        v = w
    return v.norm()


# %%
G = Generator()
net = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 6, 3, padding=1), nn.ReLU()).eval()
for param in net.parameters():
    param.requires_grad_(False)
preprocess = lambda img: F.interpolate(img, (16, 16), mode='bilinear', align_corners=True)
feat = torch.randn(1, 10)

# %%
metricHVP = GANForwardHVPOperator(G, feat, Objective(net, 3), preprocess=preprocess)
print(lanczos(metricHVP))
