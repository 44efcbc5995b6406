# https://discuss.pytorch.org/t/simple-linear-sigmoid-network-not-learning/98714
import torch as torch
import torch.nn as nn

torch.manual_seed(0)


class Network(nn.Module):

    def __init__(self):
        super(Network, self).__init__()
        self.x1 = nn.Linear(2, 4)
        self.s1 = nn.Sigmoid()
        self.x2 = nn.Linear(4, 1)
        self.s2 = nn.Sigmoid()

    def init(self):
        nn.init.uniform_(self.x1.weight)
        nn.init.uniform_(self.x2.weight)

    def forward(self, feats):
        f1 = torch.tensor(feats).float()
        xr1 = self.x1(f1)
        xs1 = self.s1(xr1)
        xr2 = self.x2(xs1)
        out = self.s2(xr2)
        return out

    def train(self, val_expected, feats_next):
        val_expected_tensor = torch.tensor(val_expected)
        criterion = nn.MSELoss()
        optimizer = torch.optim.SGD(self.parameters(), lr=0.01)

        def closure():
            optimizer.zero_grad()
            resp = self.forward(feats_next)
            error = criterion(resp, val_expected_tensor)
            error.backward()
            return error
        return optimizer.step(closure)


# %%
net = Network()
net.init()
for input in ([0., 0.], [0., 1.], [1., 0.], [1., 1.]):
    response = net.forward(input)
    print(response)

# %%
print("--TRAIN START-")
for i in range(1000):
    net.train([1.], [0., 0.])
    net.train([0.], [0., 1.])
    net.train([0.], [1., 0.])
    error = net.train([1.], [1., 1.])
print("---TRAIN END---")

# %%
responses = []
for input in ([0., 0.], [0., 1.], [1., 0.], [1., 1.]):
    response = net.forward(input)
    responses.append(response.item())
    print(input, response)
