# https://discuss.pytorch.org/t/tresholding-the-prediction-image-to-binary-before-sending-to-loss-function/149092/5
import torch
import torch.nn as nn

torch.manual_seed(0)


class SegmentationNetwork(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU(),
        )
        self.head = nn.Conv2d(channels, 1, 1)

    def forward(self, image):
        return self.head(self.encoder(image))


class TverskyLoss(nn.Module):
    def forward(self, inputs, targets, smooth=1, alpha=0.3, beta=0.7):
        inputs = inputs.view(-1)
        targets = targets.view(-1)
        # True Positives, False Positives & False Negatives
        TP = (inputs * targets).sum()
        FP = ((1 - targets) * inputs).sum()
        FN = (targets * (1 - inputs)).sum()
        Tversky = (TP + smooth) / (TP + alpha * FP + beta * FN + smooth)
        return 1 - Tversky


def batch(size=6):
    ground_truth = torch.zeros(size, 1, 16, 16)
    for n in range(size):
        row, column = torch.randint(2, 9, (2,)).tolist()
        ground_truth[n, 0, row:row + 5, column:column + 5] = 1.0
    return ground_truth + 0.3 * torch.randn_like(ground_truth), ground_truth


# %%
model = SegmentationNetwork()
loss_function = TverskyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
treshold = 0.5
for step in range(30):
    image, ground_truth = batch()
    prediction_image = model(image)
    prediction_image[prediction_image >= treshold] = 1.0
    prediction_image[prediction_image < treshold] = 0.0
    loss = loss_function(prediction_image, ground_truth)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
