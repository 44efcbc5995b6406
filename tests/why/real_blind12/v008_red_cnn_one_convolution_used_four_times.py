# https://github.com/SSinyu/RED-CNN/issues/8
import torch
import torch.nn as nn

torch.manual_seed(0)


class RED_CNN(nn.Module):
    def __init__(self, out_ch=12):
        super(RED_CNN, self).__init__()
        self.conv_first = nn.Conv2d(1, out_ch, kernel_size=5, stride=1, padding=0)
        self.conv = nn.Conv2d(out_ch, out_ch, kernel_size=5, stride=1, padding=0)
        self.conv_t = nn.ConvTranspose2d(out_ch, out_ch, kernel_size=5, stride=1, padding=0)
        self.conv_t_last = nn.ConvTranspose2d(out_ch, 1, kernel_size=5, stride=1, padding=0)
        self.relu = nn.ReLU()

    def forward(self, x):
        # encoder
        residual_1 = x.clone()
        out = self.relu(self.conv_first(x))
        out = self.relu(self.conv(out))  # 2
        residual_2 = out.clone()
        out = self.relu(self.conv(out))  # 3
        out = self.relu(self.conv(out))  # 4
        residual_3 = out.clone()
        out = self.relu(self.conv(out))  # 5

        # decoder
        out = self.conv_t(out)  # 1
        out = out + residual_3
        out = self.conv_t(self.relu(out))  # 2
        out = self.conv_t(self.relu(out))  # 3
        out = out + residual_2
        out = self.conv_t(self.relu(out))  # 4
        out = self.conv_t_last(self.relu(out))
        out = out + residual_1
        out = self.relu(out)
        return out


# %%
model = RED_CNN()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), 1e-4)
y = torch.rand(4, 1, 32, 32)
x = y + 0.1 * torch.randn_like(y)

# %%
for iteration in range(5):
    pred = model(x)
    loss = criterion(pred, y)
    model.zero_grad()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(iteration, loss.item())
print(sum(p.numel() for p in model.parameters()))
