# https://github.com/leaderj1001/Stand-Alone-Self-Attention/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class AttentionConv(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, padding=0):
        super(AttentionConv, self).__init__()
        self.out_channels, self.kernel_size, self.padding = out_channels, kernel_size, padding
        self.key_conv = nn.Conv2d(in_channels, out_channels, kernel_size=1, bias=False)
        self.query_conv = nn.Conv2d(in_channels, out_channels, kernel_size=1, bias=False)
        self.value_conv = nn.Conv2d(in_channels, out_channels, kernel_size=1, bias=False)

    def forward(self, x):
        batch, channels, height, width = x.size()
        padded_x = F.pad(x, [self.padding] * 4)
        q_out = self.query_conv(x).unsqueeze(-1)
        k_out = self.key_conv(padded_x).unfold(2, self.kernel_size, 1).unfold(3, self.kernel_size, 1)
        v_out = self.value_conv(padded_x).unfold(2, self.kernel_size, 1).unfold(3, self.kernel_size, 1)

        rel_h = nn.Parameter(torch.randn(self.out_channels // 2, 1, 1, self.kernel_size, 1), requires_grad=True)
        rel_w = nn.Parameter(torch.randn(self.out_channels // 2, 1, 1, 1, self.kernel_size), requires_grad=True)
        k_out_h, k_out_w = k_out.split(self.out_channels // 2, dim=1)
        k_out = torch.cat((k_out_h + rel_h, k_out_w + rel_w), dim=1)

        k_out = k_out.reshape(batch, self.out_channels, height, width, -1)
        v_out = v_out.reshape(batch, self.out_channels, height, width, -1)
        out = F.softmax(q_out * k_out, dim=-1)
        return (out * v_out).sum(-1)


class Model(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.att = AttentionConv(8, 8, kernel_size=3, padding=1)
        self.fc = nn.Linear(8, num_classes)

    def forward(self, x):
        return self.fc(self.att(self.stem(x)).mean((2, 3)))


# %%
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
criterion = nn.CrossEntropyLoss()
for step in range(3):
    data, target = torch.randn(4, 3, 8, 8), torch.randint(0, 10, (4,))
    optimizer.zero_grad()
    output = model(data)
    loss = criterion(output, target)
    loss.backward()
    optimizer.step()
    print(step, loss.item())
print(len(list(model.parameters())), 'parameters')
