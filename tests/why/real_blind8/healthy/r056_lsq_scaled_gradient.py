# https://github.com/zhutmost/lsq-net/blob/master/quan/quantizer/lsq.py
import torch as t
import torch.nn.functional as F

t.manual_seed(0)


def grad_scale(x, scale):
    y = x
    y_grad = x * scale
    return (y - y_grad).detach() + y_grad


def round_pass(x):
    y = x.round()
    y_grad = x
    return (y - y_grad).detach() + y_grad


class LsqQuan(t.nn.Module):
    def __init__(self, bit):
        super().__init__()
        self.thd_neg, self.thd_pos = - 2 ** (bit - 1), 2 ** (bit - 1) - 1
        self.s = t.nn.Parameter(t.ones(1))

    def init_from(self, x, *args, **kwargs):
        self.s = t.nn.Parameter(x.detach().abs().mean() * 2 / (self.thd_pos ** 0.5))

    def forward(self, x):
        s_grad_scale = 1.0 / ((self.thd_pos * x.numel()) ** 0.5)
        s_scale = grad_scale(self.s, s_grad_scale)

        x = x / s_scale
        x = t.clamp(x, self.thd_neg, self.thd_pos)
        x = round_pass(x)
        x = x * s_scale
        return x


class QuanLinear(t.nn.Linear):
    def __init__(self, m, quan_w_fn):
        super().__init__(m.in_features, m.out_features)
        self.quan_w_fn = quan_w_fn
        self.weight = t.nn.Parameter(m.weight.detach())
        self.quan_w_fn.init_from(m.weight)

    def forward(self, x):
        return F.linear(x, self.quan_w_fn(self.weight), self.bias)


# %%
model = t.nn.Sequential(QuanLinear(t.nn.Linear(12, 24), LsqQuan(4)), t.nn.ReLU(), QuanLinear(t.nn.Linear(24, 4), LsqQuan(4)))
optimizer = t.optim.SGD(model.parameters(), lr=0.1)

# %%
for i in range(4):
    inputs, targets = t.randn(16, 12), t.randint(0, 4, (16,))
    loss = F.cross_entropy(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item(), model[0].quan_w_fn.s.item())
