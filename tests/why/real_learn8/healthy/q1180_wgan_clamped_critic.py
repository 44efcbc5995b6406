# https://github.com/martinarjovsky/WassersteinGAN/blob/master/main.py
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class MLP_D(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(8, 16), nn.ReLU(True), nn.Linear(16, 1))

    def forward(self, input):
        output = self.main(input.view(input.size(0), -1))
        return output.mean(0).view(1)


netD = MLP_D()
netG = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(True), nn.Linear(16, 8))
input, noise, fixed_noise = (
    torch.FloatTensor(6, 8),
    torch.FloatTensor(6, 4),
    torch.FloatTensor(6, 4).normal_(0, 1),
)
one = torch.FloatTensor([1])
mone = one * -1
optimizerD, optimizerG = (
    optim.RMSprop(netD.parameters(), lr=5e-5),
    optim.RMSprop(netG.parameters(), lr=5e-5),
)
data = [torch.randn(6, 8) for _ in range(6)]
before = netG[0].weight.detach().clone()

# %%
gen_iterations, data_iter, i = 0, iter(data), 0
while i < len(data):
    for p in netD.parameters():
        p.requires_grad = True
    j = 0
    while j < 3 and i < len(data):
        j += 1
        for p in netD.parameters():
            p.data.clamp_(-0.01, 0.01)
        real_cpu = next(data_iter)
        i += 1
        netD.zero_grad()
        input.resize_as_(real_cpu).copy_(real_cpu)
        inputv = input.clone()
        errD_real = netD(inputv)
        errD_real.backward(one)
        noise.resize_(6, 4).normal_(0, 1)
        with torch.no_grad():
            fake = netG(noise).data
        inputv = fake
        errD_fake = netD(inputv)
        errD_fake.backward(mone)
        errD = errD_real - errD_fake
        optimizerD.step()
    for p in netD.parameters():
        p.requires_grad = False
    netG.zero_grad()
    noise.resize_(6, 4).normal_(0, 1)
    fake = netG(noise)
    errG = netD(fake)
    errG.backward(one)
    optimizerG.step()
    gen_iterations += 1
    print(
        i,
        gen_iterations,
        errD.data[0].item(),
        errG.data[0].item(),
        errD_real.data[0].item(),
        errD_fake.data[0].item(),
    )
with torch.no_grad():
    fake = netG(fixed_noise)
