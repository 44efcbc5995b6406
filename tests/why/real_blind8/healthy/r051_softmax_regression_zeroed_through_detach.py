# https://prodopsy.com/how-can-the-backward-function-in-tensor-influence-the-matrix-in-model
import torch
import torch.nn.functional as F

torch.manual_seed(0)
X, y = torch.randn(60, 2), torch.randint(0, 3, (60,))
X[range(60), y % 2] += 2.0


class SoftmaxRegression(torch.nn.Module):
    def __init__(self, num_features, num_classes):
        super(SoftmaxRegression, self).__init__()
        self.linear = torch.nn.Linear(num_features, num_classes)

        self.linear.weight.detach().zero_()
        self.linear.bias.detach().zero_()

    def forward(self, x):
        logits = self.linear(x)
        probas = F.softmax(logits, dim=1)
        return logits, probas


# %%
model = SoftmaxRegression(num_features=2, num_classes=3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

# %%
for epoch in range(20):
    logits, probas = model(X)
    cost = F.cross_entropy(logits, y)  # note that PyTorch's cross_entropy takes logits
    optimizer.zero_grad()
    cost.backward()
    optimizer.step()
    if epoch % 5 == 0:
        print('Epoch: %03d' % epoch, 'CE:', cost.item())
