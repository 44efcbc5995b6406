# https://github.com/sharif-apu/BJDD_CVPR21/issues/11
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)

RGB2YCC = np.array([[0.299, -0.169, 0.5], [0.587, -0.331, -0.419], [0.114, 0.5, -0.081]])


def color_difference(imageA, imageB):
    return (((imageA - imageB) @ RGB2YCC) ** 2).sum(-1) ** 0.5


class deltaEColorLoss(nn.Module):
    def __init__(self):
        super(deltaEColorLoss, self).__init__()
        self.loss = []

    def torchTensorToNumpy(self, image):
        return image.cpu().detach().numpy().transpose(1, 2, 0)

    def __call__(self, genImage, gtImage):
        self.loss.clear()
        for pair in range(len(genImage)):
            imageGTNP = self.torchTensorToNumpy(gtImage[pair])
            imageGenNP = self.torchTensorToNumpy(genImage[pair])
            # Calculating color difference
            deltaE = color_difference(imageGTNP, imageGenNP)
            # Mean difference for an image pair
            self.loss.append(np.mean(deltaE))
        deltaELoss = torch.mean(torch.tensor(self.loss, requires_grad=True))
        return deltaELoss


class attentionNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.inputConv = nn.Conv2d(1, 8, 3, padding=1)
        self.gate = nn.Conv2d(8, 8, 1)
        self.outputConv = nn.Conv2d(8, 3, 3, padding=1)

    def forward(self, img):
        x = torch.relu(self.inputConv(img))
        return torch.tanh(self.outputConv(x * torch.sigmoid(self.gate(x))))


# %%
attentionNet = attentionNet()
reconstructionLoss = nn.L1Loss()
colorLossFunction = deltaEColorLoss()
optimizerEG = torch.optim.Adam(attentionNet.parameters(), lr=1e-3, betas=(0.5, 0.9))
rawInput, highResReal = torch.rand(3, 1, 8, 8), torch.rand(3, 3, 8, 8)

# %%
for currentStep in range(2):
    highResFake = attentionNet(rawInput)
    colorLoss = colorLossFunction(highResFake, highResReal)
    contentLoss = reconstructionLoss(highResFake, highResReal)
    lossEG = contentLoss + colorLoss
    optimizerEG.zero_grad()
    lossEG.backward()
    optimizerEG.step()
    print('step', currentStep, 'total', lossEG.item(), 'color', colorLoss.item())
