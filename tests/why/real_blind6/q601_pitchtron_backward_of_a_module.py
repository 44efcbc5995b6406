# https://github.com/hash2430/pitchtron/issues/3
import torch

torch.manual_seed(0)


class GRL(torch.nn.Module):
    def forward(self, x):
        return x

    def backward(self, x):
        print('#######################')
        return -x


def gradient_reversal_layer(x):
    grl = GRL()
    return grl(x)


# %%
a = torch.nn.Linear(3, 4)
b = GRL()
c = torch.nn.Linear(4, 5)

optimizer = torch.optim.SGD(
    params=list(a.parameters()) + list(c.parameters()),
    lr=0.1
    )

x = torch.randn(1, 3)
y = torch.randn(1, 5)

y1 = x
y1 = a(y1)
y1 = c(y1)
loss1 = torch.nn.L1Loss()(y1, y)
optimizer.zero_grad()
loss1.backward()
plain = a.weight.grad.clone()
print(loss1)
print(a.weight.grad)
print(c.weight.grad)

# %%
y2 = x
y2 = a(y2)
y2 = gradient_reversal_layer(y2)
y2 = c(y2)
loss2 = torch.nn.L1Loss()(y2, y)
optimizer.zero_grad()
loss2.backward()
print(loss2)
print(a.weight.grad)
print(c.weight.grad)
