# https://github.com/suvojit-0x55aa/A2S2K-ResNet/issues/4
import torch
import torch.nn as nn

torch.manual_seed(0)
PARAM_KERNEL_SIZE = 8


class S3KAIResNet(nn.Module):
    def __init__(self, band, classes, reduction):
        super(S3KAIResNet, self).__init__()
        self.conv1x1 = nn.Conv3d(1, PARAM_KERNEL_SIZE, (1, 1, 7), stride=(1, 1, 2))
        self.conv3x3 = nn.Conv3d(1, PARAM_KERNEL_SIZE, (3, 3, 7), stride=(1, 1, 2), padding=(1, 1, 0))
        self.pool = nn.AdaptiveAvgPool3d(1)
        self.conv_se = nn.Sequential(nn.Conv3d(PARAM_KERNEL_SIZE, band // reduction, 1), nn.ReLU(inplace=True))
        self.conv_ex = nn.Conv3d(band // reduction, PARAM_KERNEL_SIZE, 1)
        self.softmax = nn.Softmax(dim=1)
        self.full_connection = nn.Linear(PARAM_KERNEL_SIZE, classes)

    def forward(self, X):
        x1 = torch.stack([self.conv3x3(X), self.conv1x1(X)], dim=1)
        Z = self.conv_se(self.pool(x1.sum(dim=1)))
        attention_vector = torch.cat(
            [
                self.conv_ex(Z).unsqueeze(dim=1),
                self.conv_ex(Z).unsqueeze(dim=1)
            ],
            dim=1)
        attention_vector = self.softmax(attention_vector)
        V = (x1 * attention_vector).sum(dim=1)
        return self.full_connection(self.pool(torch.relu(V)).flatten(1))


# %%
model = S3KAIResNet(16, 4, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
X, y = torch.randn(16, 1, 5, 5, 16), torch.randint(0, 4, (16,))

# %%
for epoch in range(4):
    y_hat = model(X)
    loss = torch.nn.CrossEntropyLoss()(y_hat, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), model.conv_ex.weight.grad.abs().max())
