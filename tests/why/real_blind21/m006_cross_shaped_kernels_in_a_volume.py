# https://discuss.pytorch.org/t/masking-out-locations-in-convolutional-kernels/122247
import torch
import torch.nn as nn

torch.manual_seed(0)


class MaskedConv3d(nn.Module):
    def __init__(self, n_in, n_out, filter_mask, pad=1):
        super().__init__()
        self.kernel_size = tuple(filter_mask.shape)
        self.register_buffer('filter_mask', filter_mask)
        self.conv = nn.Conv3d(
            in_channels=n_in,
            out_channels=n_out,
            kernel_size=self.kernel_size,
            stride=1,
            bias=False,
            padding=pad
        )

    def forward(self, x):
        self._mask_conv_filter()
        return self.conv(x)

    def _mask_conv_filter(self):
        with torch.no_grad():
            self.conv.weight = nn.Parameter(self.conv.weight * self.filter_mask)


# define mask:
mask = torch.tensor([[[0., 1., 0.],
                      [1., 1., 1.],
                      [0., 1., 0.]],

                     [[0., 1., 0.],
                      [1., 1., 1.],
                      [0., 1., 0.]],

                     [[0., 1., 0.],
                      [1., 1., 1.],
                      [0., 1., 0.]]])

# %%
x = torch.randn(1, 1, 6, 6, 6)
maskedconv3d = MaskedConv3d(1, 8, mask)
out = maskedconv3d(x)
print(out.shape)
print(maskedconv3d.conv.weight[0])

# %%
target_kernel = torch.randn(8, 1, 3, 3, 3) * mask
volumes = torch.randn(16, 1, 6, 6, 6)
targets = nn.functional.conv3d(volumes, target_kernel, padding=1)

optimizer = torch.optim.Adam(maskedconv3d.parameters(), lr=0.01)
criterion = nn.MSELoss()

# %%
losses = []
for epoch in range(60):
    optimizer.zero_grad()
    out = maskedconv3d(volumes)
    loss = criterion(out, targets)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if epoch % 10 == 0:
        print(epoch, loss.item())
