# https://github.com/TIGER-AI-Lab/ConsistI2V/issues/26
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
FRAMES, SIZE = 4, 8


class ResnetBlock2D(nn.Module):
    def __init__(self, channels, temb_channels):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(4, channels), nn.Conv2d(channels, channels, 3, padding=1)
        self.time_emb_proj = nn.Linear(temb_channels, channels)
        self.norm2, self.conv2 = nn.GroupNorm(4, channels), nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, input_tensor, temb):
        hidden_states = self.conv1(F.silu(self.norm1(input_tensor)))
        hidden_states = hidden_states + self.time_emb_proj(F.silu(temb))[:, :, None, None]
        return input_tensor + self.conv2(F.silu(self.norm2(hidden_states)))


class Conv3DLayer(nn.Module):
    def __init__(self, channels, temb_channels):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(4, channels), nn.Conv3d(channels, channels, (3, 1, 1), padding=(1, 0, 0))
        self.time_emb_proj = nn.Linear(temb_channels, channels)
        self.norm2, self.conv2 = nn.GroupNorm(4, channels), nn.Conv3d(channels, channels, (3, 1, 1), padding=(1, 0, 0))
        self.alpha = nn.Parameter(torch.ones(1))

    def forward(self, input_tensor, temb=None, n_frames=FRAMES):
        x = input_tensor.unflatten(0, (-1, n_frames)).transpose(1, 2)
        hidden_states = self.conv1(F.silu(self.norm1(x)))
        if temb is not None:
            hidden_states = hidden_states + self.time_emb_proj(F.silu(temb))[:, :, None, None, None]
        hidden_states = self.conv2(F.silu(self.norm2(hidden_states)))
        hidden_states = (x + hidden_states).transpose(1, 2).flatten(0, 1)
        alpha = torch.sigmoid(self.alpha)
        return alpha * input_tensor + (1 - alpha) * hidden_states


class VideoLDMDownBlock(nn.Module):
    def __init__(self, channels, temb_channels, num_layers=2):
        super().__init__()
        self.resnets = nn.ModuleList([ResnetBlock2D(channels, temb_channels) for _ in range(num_layers)])
        self.conv3ds = nn.ModuleList([Conv3DLayer(channels, temb_channels) for _ in range(num_layers)])

    def forward(self, hidden_states, temb):
        for resnet, conv3d in zip(self.resnets, self.conv3ds):
            hidden_states = resnet(hidden_states, temb)
            hidden_states = conv3d(hidden_states)
        return hidden_states


class VideoLDMUNet3DConditionModel(nn.Module):
    def __init__(self, channels=16, temb_channels=16):
        super().__init__()
        self.time_embedding = nn.Sequential(nn.Linear(temb_channels, temb_channels), nn.SiLU(), nn.Linear(temb_channels, temb_channels))
        self.conv_in, self.conv_out = nn.Conv2d(2, channels, 3, padding=1), nn.Conv2d(channels, 1, 3, padding=1)
        self.down_blocks = nn.ModuleList([VideoLDMDownBlock(channels, temb_channels)])

    def forward(self, sample, timestep, first_frame):
        freqs = torch.exp(-math.log(1000) * torch.arange(8) / 8) * timestep[:, None]
        temb = self.time_embedding(torch.cat([freqs.sin(), freqs.cos()], 1)).repeat_interleave(FRAMES, 0)
        hidden_states = torch.cat([sample, first_frame.expand_as(sample)], 2).flatten(0, 1)
        hidden_states = self.conv_in(hidden_states)
        for block in self.down_blocks:
            hidden_states = block(hidden_states, temb)
        return self.conv_out(hidden_states).unflatten(0, (-1, FRAMES))


def clips(n):
    start, shift = torch.randint(0, SIZE, (n, 1)), torch.randint(0, 2, (n, 1)) * 2 - 1
    column = (start + shift * torch.arange(FRAMES)) % SIZE
    return (2.0 * F.one_hot(column, SIZE).float() - 1).unsqueeze(2).expand(n, FRAMES, SIZE, SIZE).unsqueeze(2)


# %%
unet = VideoLDMUNet3DConditionModel()
optimizer = torch.optim.AdamW(unet.parameters(), lr=4e-3)
alphas_cumprod = torch.cumprod(1 - torch.linspace(1e-3, 0.2, 50), 0)
before = {n: p.detach().clone() for n, p in unet.named_parameters()}
losses = []

# %%
for global_step in range(50):
    latents = clips(6)
    noise, timesteps = torch.randn_like(latents), torch.randint(0, 50, (6,))
    a = alphas_cumprod[timesteps].view(-1, 1, 1, 1, 1)
    noisy_latents = a.sqrt() * latents + (1 - a).sqrt() * noise
    model_pred = unet(noisy_latents, timesteps.float(), latents[:, :1])
    loss = F.mse_loss(model_pred, noise, reduction="mean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if global_step == 0:
        missing_gradients = [n for n, p in unet.named_parameters() if p.grad is None]
        print('missing_gradients:', missing_gradients)

# %%
moved = {n for n, p in unet.named_parameters() if not torch.equal(before[n], p)}
begin, end = sum(losses[:5]) / 5, sum(losses[-5:]) / 5
print(begin, end, len(moved), len(before))
assert all('conv3ds' in n and 'time_emb_proj' in n for n in missing_gradients) and len(missing_gradients) == 4
assert moved == set(before) - set(missing_gradients) and end < 0.6 * begin
