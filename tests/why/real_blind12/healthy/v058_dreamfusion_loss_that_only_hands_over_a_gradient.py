# https://github.com/ashawkey/stable-dreamfusion/issues/65
import torch
import torch.nn as nn

torch.manual_seed(0)


class SpecifyGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input_tensor, gt_grad):
        ctx.save_for_backward(gt_grad)
        return torch.zeros([1], device=input_tensor.device, dtype=input_tensor.dtype)  # a dummy value

    @staticmethod
    def backward(ctx, grad):
        gt_grad, = ctx.saved_tensors
        return grad * gt_grad, None


class StableDiffusion(nn.Module):
    """knows one picture, and tells the noise that was put over it"""
    def __init__(self, target, steps=100):
        super().__init__()
        self.vae = nn.Linear(48, 48, bias=False)
        nn.init.orthogonal_(self.vae.weight)
        for p in self.parameters():
            p.requires_grad_(False)
        self.register_buffer('alphas', torch.linspace(0.99, 0.05, steps))
        self.register_buffer('known', self.vae(target))

    def unet(self, latents_noisy, a):
        return (latents_noisy - a.sqrt() * self.known) / (1 - a).sqrt()

    def train_step(self, pred_rgb):
        latents = self.vae(pred_rgb)
        t = torch.randint(2, 98, [1])
        a = self.alphas[t]
        with torch.no_grad():
            noise = torch.randn_like(latents)
            latents_noisy = a.sqrt() * latents + (1 - a).sqrt() * noise
            noise_pred = self.unet(latents_noisy, a)
        w = 1 - a
        grad = torch.nan_to_num(w * (noise_pred - noise))
        # the derivative of the unet is left out, so the gradient is given by hand
        return SpecifyGradient.apply(latents, grad)


class NeRFNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))

    def render(self, rays):
        return torch.sigmoid(self.net(rays)).reshape(1, -1)


# %%
ys, xs = torch.meshgrid(torch.linspace(-1, 1, 4), torch.linspace(-1, 1, 4), indexing='ij')
rays = torch.stack([xs, ys], -1).reshape(-1, 2)
target = (0.5 + 0.4 * torch.sin(3 * rays.sum(1, keepdim=True) + torch.tensor([0., 1., 2.]))).reshape(1, -1)
guidance = StableDiffusion(target)
model = NeRFNetwork()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
distance_before = (model.render(rays) - target).abs().mean().item()

# %%
printed = []
for step in range(200):
    optimizer.zero_grad()
    pred_rgb = model.render(rays)
    loss = guidance.train_step(pred_rgb)
    loss.backward()
    optimizer.step()
    printed.append(loss.item())
distance_after = (model.render(rays) - target).abs().mean().item()
print(set(printed), distance_before, distance_after)
assert set(printed) == {0.0}
assert distance_after < 0.5 * distance_before
