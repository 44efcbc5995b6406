# https://github.com/mattpoggi/mono-uncertainty/issues/1
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class DepthDecoder(nn.Module):
    def __init__(self, uncert=True):
        super().__init__()
        self.uncert = uncert
        self.encoder = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ELU(), nn.Conv2d(16, 16, 3, padding=1), nn.ELU())
        self.dispconv = nn.Conv2d(16, 1, 3, padding=1)
        self.uncertconv = nn.Conv2d(16, 1, 3, padding=1)

    def forward(self, image):
        x = self.encoder(image)
        outputs = {"disp": torch.sigmoid(self.dispconv(x))}
        if self.uncert:
            outputs["uncert"] = self.uncertconv(x)  # the logarithm of the scale
        return outputs


def self_teaching_loss(outputs, disp_teacher):
    error = torch.abs(outputs["disp"] - disp_teacher)
    return (error * torch.exp(-outputs["uncert"]) + outputs["uncert"]).mean()


def smoothness(disp, image):
    grad_disp = (disp[..., 1:] - disp[..., :-1]).abs()
    grad_image = (image[..., 1:] - image[..., :-1]).abs()
    return (grad_disp * torch.exp(-grad_image)).mean()


def render(n=8):
    depth = F.interpolate(torch.rand(n, 1, 4, 4), size=(16, 16), mode="bilinear")
    noise = torch.zeros(n, 1, 16, 16)
    noise[..., 8:] = 0.1 * torch.randn(n, 1, 16, 8)  # the right half is harder
    return depth + 0.02 * torch.randn_like(depth), (depth + noise).clamp(0, 1)


# %%
model = DepthDecoder()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=100, gamma=0.3)
losses, errors = [], []

# %%
model.train()
for batch_idx in range(150):
    image, disp_teacher = render()
    outputs = model(image)
    loss = self_teaching_loss(outputs, disp_teacher) + 1e-3 * smoothness(outputs["disp"], image)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    losses.append(loss.item())
    errors.append((outputs["disp"] - disp_teacher).abs().mean().item())

# %%
model.eval()
with torch.no_grad():
    image, _ = render(32)
    scale = model(image)["uncert"].exp()
print(losses[0], losses[-1], errors[0], errors[-1], scale[..., :6].mean().item(), scale[..., 10:].mean().item())
assert losses[-1] < 0 < losses[0]
assert errors[-1] < 0.5 * errors[0]
