# https://github.com/jiecaoyu/XNOR-Net-PyTorch/issues/72
import torch
import torch.nn as nn

torch.manual_seed(0)


class BinOp:
    def __init__(self, model):
        self.saved_params = []
        self.target_modules = [m.weight for m in model.modules() if isinstance(m, nn.Linear)][1:-1]
        self.num_of_params = len(self.target_modules)
        for weight in self.target_modules:
            self.saved_params.append(weight.data.clone())

    def binarization(self):
        self.clampConvParams()
        self.save_params()
        self.binarizeConvParams()

    def clampConvParams(self):
        for index in range(self.num_of_params):
            self.target_modules[index].data.clamp_(-1.0, 1.0)

    def save_params(self):
        for index in range(self.num_of_params):
            self.saved_params[index].copy_(self.target_modules[index].data)

    def binarizeConvParams(self):
        for index in range(self.num_of_params):
            n = self.target_modules[index].data[0].nelement()
            m = self.target_modules[index].data.norm(1, 1, keepdim=True).div(n)
            self.target_modules[index].data = self.target_modules[index].data.sign().mul(m.expand_as(self.target_modules[index].data))

    def restore(self):
        for index in range(self.num_of_params):
            self.target_modules[index].data.copy_(self.saved_params[index])

    def updateBinaryGradWeight(self):
        for index in range(self.num_of_params):
            weight = self.target_modules[index].data
            n = weight[0].nelement()
            m = weight.norm(1, 1, keepdim=True).div(n).expand_as(weight).clone()
            m[weight.lt(-1.0)] = 0
            m[weight.gt(1.0)] = 0
            m = m.mul(self.target_modules[index].grad.data)
            m_add = weight.sign().mul(self.target_modules[index].grad.data)
            m_add = m_add.sum(1, keepdim=True).expand_as(weight)
            m_add = m_add.div(n).mul(weight.sign())
            self.target_modules[index].grad.data = m.add(m_add).mul(1.0 - 1.0 / n)


# %%
model = nn.Sequential(nn.Linear(8, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(),
                      nn.Linear(24, 3))
bin_op = BinOp(model)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-5)
criterion = nn.CrossEntropyLoss()
target = torch.randint(0, 3, (60,))
data = torch.randn(60, 8) + 2 * nn.functional.one_hot(target, 8)

losses = []
for epoch in range(20):
    # process the weights including binarization
    bin_op.binarization()
    output = model(data)
    optimizer.zero_grad()
    loss = criterion(output, target)
    loss.backward()
    # restore weights
    bin_op.restore()
    bin_op.updateBinaryGradWeight()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
