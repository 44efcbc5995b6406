# https://github.com/pytorch/pytorch/issues/715
import torch
import torch.nn as nn

torch.manual_seed(0)
options = {'n_layers': 2, 'n_hid': 16, 'act': 'Tanh'}


class SNLINet(nn.Module):
    def __init__(self, options):
        super(SNLINet, self).__init__()
        self.hids = []
        for li in range(options['n_layers']):
            self.hids.append([
                nn.Linear(options['n_hid'], options['n_hid']),
                eval('nn.{}'.format(options['act']))()
                ])

        self.classifier = nn.Linear(options['n_hid'], 3)

    def forward(self, x):
        for lin, act in self.hids:
            x = act(lin(x))
        return self.classifier(x)


# %%
net = SNLINet(options)
print(net)
opt = torch.optim.Adam(net.parameters(), lr=0.01)
before = net.hids[0][0].weight.detach().clone()
x, y = torch.randn(60, 16), torch.randint(0, 3, (60,))

# %%
for it in range(10):
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), net.hids[0][0].weight.grad.abs().mean())
