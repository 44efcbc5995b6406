# https://github.com/Lornatang/SRGAN-PyTorch/issues/1
import torch
import torch.nn as nn

torch.manual_seed(0)

epochs = 4
netG = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.PReLU(), nn.Conv2d(8, 3, 3, padding=1))
netD = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.LeakyReLU(0.2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 1))
optimizerD = torch.optim.Adam(netD.parameters(), lr=1e-4)
optimizerG = torch.optim.Adam(netG.parameters(), lr=1e-4)
schedulerD = torch.optim.lr_scheduler.StepLR(optimizerD, step_size=epochs // 2, gamma=0.1)
schedulerG = torch.optim.lr_scheduler.StepLR(optimizerG, step_size=epochs // 2, gamma=0.1)
adversarial_criterion, content_criterion = nn.BCEWithLogitsLoss(), nn.MSELoss()
dataloader = [(torch.rand(2, 3, 8, 8), torch.rand(2, 3, 8, 8)) for _ in range(6)]

# %%
for epoch in range(epochs):
    for i, (lr, hr) in enumerate(dataloader):
        real_label, fake_label = torch.ones(2, 1), torch.zeros(2, 1)

        netD.zero_grad()
        sr = netG(lr)
        errD = adversarial_criterion(netD(hr), real_label) + adversarial_criterion(netD(sr.detach()), fake_label)
        errD.backward()
        optimizerD.step()

        netG.zero_grad()
        errG = content_criterion(sr, hr) + 1e-3 * adversarial_criterion(netD(sr), real_label)
        errG.backward()
        optimizerG.step()

        schedulerD.step()
        schedulerG.step()
        print(errD.item(), errG.item())
