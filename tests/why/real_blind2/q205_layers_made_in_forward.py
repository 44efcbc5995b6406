# https://github.com/pytorch/pytorch/issues/1291
import torch


class ThreeLayerNet(torch.nn.Module):
    def __init__(self, D_in, H, D_out):
        super(ThreeLayerNet, self).__init__()
        self.D_in, self.H, self.D_out = D_in, H, D_out

    def forward(self, x):
        h_relu = torch.nn.Linear(self.D_in, self.H)(x).clamp(min=0)
        h_relu = torch.nn.Linear(self.H, self.H)(h_relu).clamp(min=0)
        y_pred = torch.nn.Linear(self.H, self.D_out)(h_relu)
        return y_pred


# %%
N, D_in, H, D_out = 16, 20, 10, 4
x = torch.randn(N, D_in)
y = torch.randn(N, D_out)

model = ThreeLayerNet(D_in, H, D_out)
list(model.parameters())

# %%
loss_fn = torch.nn.MSELoss(reduction='sum')
learning_rate = 1e-4
for t in range(5):
    y_pred = model(x)
    loss = loss_fn(y_pred, y)
    print(t, loss.item())

    model.zero_grad()
    loss.backward()
    with torch.no_grad():
        for param in model.parameters():
            param -= learning_rate * param.grad

# %%
print(list(model.parameters()))
