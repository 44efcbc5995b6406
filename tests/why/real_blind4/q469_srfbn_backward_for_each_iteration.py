# https://github.com/Paper99/SRFBN_CVPR19/issues/4
import torch
import torch.nn as nn

torch.manual_seed(0)


class FeedbackBlock(nn.Module):
    def __init__(self, num_features):
        super(FeedbackBlock, self).__init__()
        self.compress_in = nn.Conv2d(2 * num_features, num_features, 1)
        self.conv = nn.Conv2d(num_features, num_features, 3, padding=1)
        self.should_reset = True
        self.last_hidden = None

    def forward(self, x):
        if self.should_reset:
            self.last_hidden = torch.zeros_like(x)
            self.should_reset = False
        x = torch.cat((x, self.last_hidden), dim=1)
        x = torch.relu(self.compress_in(x))
        output = torch.relu(self.conv(x))
        self.last_hidden = output
        return output

    def reset_state(self):
        self.should_reset = True


class SRFBN(nn.Module):
    def __init__(self, num_features=6, num_steps=4, upscale_factor=2):
        super(SRFBN, self).__init__()
        self.num_steps = num_steps
        self.upscale_factor = upscale_factor
        self.conv_in = nn.Conv2d(3, num_features, 3, padding=1)
        self.block = FeedbackBlock(num_features)
        self.out = nn.ConvTranspose2d(num_features, 3, 2, stride=2)

    def forward(self, x):
        self.block.reset_state()
        inter_res = nn.functional.interpolate(x, scale_factor=self.upscale_factor, mode='bilinear', align_corners=False)
        x = torch.relu(self.conv_in(x))
        outs = []
        for _ in range(self.num_steps):
            h = self.block(x)
            outs.append(inter_res + self.out(h))
        return outs  # return output of every timesteps


# %%
model = SRFBN()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
criterion_pix = nn.L1Loss()
cl_weights = [1.0, 1.0, 1.0, 1.0]

for step in range(2):
    LR, HR = torch.rand(2, 3, 8, 8), torch.rand(2, 3, 16, 16)
    optimizer.zero_grad()
    loss_steps = [criterion_pix(sr, HR) for sr in model(LR)]
    of_the_sum, = torch.autograd.grad(sum(loss_steps), model.conv_in.weight, retain_graph=True)  # to compare
    for i in range(len(loss_steps)):
        loss_steps[i] *= cl_weights[i]
    for i, loss in enumerate(loss_steps):
        loss.backward(retain_graph=i + 1 < len(loss_steps))
    in_grad = model.conv_in.weight.grad.clone()
    optimizer.step()
    print(step, sum(loss_steps).item())
