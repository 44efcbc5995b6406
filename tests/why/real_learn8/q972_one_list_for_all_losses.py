# https://github.com/BobLiu20/YOLOv3_PyTorch/issues/17
import torch
from torch import nn

torch.manual_seed(0)


def yolo_loss(output, labels):
    loss_x = (output[:, 0] - labels[:, 0]).pow(2).mean()
    loss_y = (output[:, 1] - labels[:, 1]).pow(2).mean()
    loss_conf = (output[:, 2] - labels[:, 2]).abs().mean()
    loss = loss_x * 2.5 + loss_y * 2.5 + loss_conf
    return loss, loss_x, loss_y, loss_conf


net = nn.Linear(6, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.001)
for step in range(3):
    images, labels = torch.randn(8, 6), torch.randn(8, 3)
    optimizer.zero_grad()
    outputs = [net(images), net(images * 0.5), net(images * 0.25)]
    losses_name = ["total_loss", "x", "y", "conf"]
    losses = [[]] * len(losses_name)
    for i in range(3):
        _loss_item = yolo_loss(outputs[i], labels)
        for j, l in enumerate(_loss_item):
            losses[j].append(l)
    losses = [sum(l) for l in losses]
    loss = losses[0]
    loss.backward()
    optimizer.step()
    print([float(l) for l in losses])
