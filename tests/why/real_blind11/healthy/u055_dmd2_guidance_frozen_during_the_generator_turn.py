# https://github.com/tianweiy/DMD2/issues/75
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SDGuidance(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.fake_unet = nn.Sequential(nn.Linear(dim, 32), nn.SiLU(), nn.Linear(32, dim))
        self.cls_pred_branch = nn.Linear(dim, 1)

    def generator_forward(self, image):
        realism = self.cls_pred_branch(self.fake_unet(image))
        return {"gen_cls_loss": F.softplus(-realism).mean()}

    def guidance_forward(self, real, fake):
        fake = fake.detach()
        noise = torch.randn_like(fake)
        loss_fake_mean = F.mse_loss(self.fake_unet(fake + noise), noise)
        pred_real = self.cls_pred_branch(self.fake_unet(real))
        pred_fake = self.cls_pred_branch(self.fake_unet(fake))
        cls_loss = F.softplus(pred_fake).mean() + F.softplus(-pred_real).mean()
        return {"loss_fake_mean": loss_fake_mean, "guidance_cls_loss": cls_loss}


# %%
generator = nn.Sequential(nn.Linear(4, 32), nn.SiLU(), nn.Linear(32, 8))
guidance_model = SDGuidance()
optimizer_generator = torch.optim.AdamW(generator.parameters(), lr=1e-3)
optimizer_guidance = torch.optim.AdamW(guidance_model.parameters(), lr=1e-3)
real = torch.randn(32, 8) + 2

# %%
for step in range(10):
    # generator turn
    image = generator(torch.randn(32, 4))
    guidance_model.requires_grad_(False)
    loss_dict = guidance_model.generator_forward(image)
    guidance_model.requires_grad_(True)
    loss_dict["gen_cls_loss"].backward()
    generator_got = generator[0].weight.grad
    guidance_got = [p.grad for p in guidance_model.parameters()]
    assert all(g is None for g in guidance_got)
    optimizer_generator.step()
    optimizer_generator.zero_grad()
    # guidance turn
    loss_dict = guidance_model.guidance_forward(real, image)
    (loss_dict["loss_fake_mean"] + 0.1 * loss_dict["guidance_cls_loss"]).backward()
    optimizer_guidance.step()
    optimizer_guidance.zero_grad()
print(generator_got.abs().sum())
assert generator_got.abs().sum() > 0
