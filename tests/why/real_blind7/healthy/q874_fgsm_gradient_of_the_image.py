# https://pytorch.org/tutorials/beginner/fgsm_tutorial.html
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(42)
model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Dropout(0.25), nn.Flatten(), nn.Linear(8 * 36, 10), nn.LogSoftmax(dim=1))
model.eval()


def fgsm_attack(image, epsilon, data_grad):
    sign_data_grad = data_grad.sign()
    perturbed_image = image + epsilon * sign_data_grad
    return torch.clamp(perturbed_image, 0, 1)


# %%
for i in range(3):
    data, target = torch.rand(1, 1, 8, 8), torch.randint(0, 10, (1,))
    # Set requires_grad attribute of tensor. Important for Attack
    data.requires_grad = True
    output = model(data)
    init_pred = output.max(1, keepdim=True)[1]
    loss = F.nll_loss(output, target)
    model.zero_grad()
    loss.backward()
    data_grad = data.grad.data
    perturbed_data = fgsm_attack(data, 0.1, data_grad)
    output = model(perturbed_data)
    final_pred = output.max(1, keepdim=True)[1]
    print(init_pred.item(), final_pred.item())
