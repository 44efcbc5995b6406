# A denoising step of diffusers' U-Net: three levels, a skip from each block of the way down
import torch
from diffusers import DDPMScheduler, UNet2DModel
from torch.nn import functional as F

torch.manual_seed(0)
model = UNet2DModel(
    sample_size=16,
    in_channels=3,
    out_channels=3,
    layers_per_block=1,
    block_out_channels=(16, 32, 32),
    down_block_types=("DownBlock2D", "AttnDownBlock2D", "DownBlock2D"),
    up_block_types=("UpBlock2D", "AttnUpBlock2D", "UpBlock2D"),
    norm_num_groups=8,
    attention_head_dim=8,
)
scheduler = DDPMScheduler()
opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
images = torch.randn(2, 3, 16, 16)
# %% the recorded cell
opt.zero_grad()
noise = torch.randn_like(images)
t = torch.randint(1000, (2,))
noisy = scheduler.add_noise(images, noise, t)
predicted = model(noisy, t).sample
loss = F.mse_loss(predicted, noise)
loss.backward()
opt.step()
