# https://github.com/vitrioil/Speech-Separation/issues/4
import torch
from torch import nn

torch.manual_seed(0)


class Audio_Visual_Fusion(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 1)
        self.fc = nn.Linear(12, 5)

    def forward(self, x):
        output_layer = torch.relu(self.conv(x))
        batch_size, _, height, _ = output_layer.size()
        output_layer = output_layer.view(batch_size, -1, height, 1)
        output_layer = output_layer.squeeze(3).transpose(1, 2)
        return self.fc(output_layer)


model = Audio_Visual_Fusion()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x, y = torch.randn(2, 2, 7, 3, requires_grad=True), torch.randn(2, 7, 5)
for epoch in range(5):
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    print(loss.item())
(grad,) = torch.autograd.grad(model(x)[0, 0].sum(), x)
