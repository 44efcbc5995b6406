# https://github.com/itayhubara/BinaryNet.pytorch/blob/master/main_binary.py
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class BinarizeLinear(nn.Linear):
    def forward(self, input):
        if input.size(1) != 12:
            input.data = input.data.sign()
        if not hasattr(self.weight, "org"):
            self.weight.org = self.weight.data.clone()
        self.weight.data = self.weight.org.sign()
        out = F.linear(input, self.weight)
        if self.bias is not None:
            self.bias.org = self.bias.data.clone()
            out += self.bias.view(1, -1).expand_as(out)
        return out


model = nn.Sequential(
    BinarizeLinear(12, 16),
    nn.BatchNorm1d(16),
    nn.Hardtanh(),
    BinarizeLinear(16, 10),
    nn.LogSoftmax(dim=1),
)
criterion = nn.NLLLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
before = model[1].weight.detach().clone()

# %%
for i in range(4):
    inputs, target = torch.randn(8, 12), torch.randint(0, 10, (8,))
    output = model(inputs)
    loss = criterion(output, target)
    prec1 = (output.data.argmax(1) == target).float().mean()
    optimizer.zero_grad()
    loss.backward()
    for p in list(model.parameters()):
        if hasattr(p, "org"):
            p.data.copy_(p.org)
    optimizer.step()
    for p in list(model.parameters()):
        if hasattr(p, "org"):
            p.org.copy_(p.data.clamp_(-1, 1))
    print(loss.item(), prec1.item())
