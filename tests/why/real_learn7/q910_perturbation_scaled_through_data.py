# https://github.com/OmidPoursaeed/Generative_Adversarial_Perturbations/issues/4
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

mag_in = 2.0
netG = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 3, 3, padding=1), nn.Tanh()
)
pretrained_clf = nn.Sequential(nn.Flatten(), nn.Linear(3 * 8 * 8, 10)).requires_grad_(False)
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-4)


def normalize_and_scale(delta_im):
    delta_im = delta_im + 1
    delta_im = delta_im * 0.5
    for i in range(delta_im.size(0)):
        for ci in range(3):
            l_inf_channel = delta_im[i, ci].detach().abs().max()
            mag_in_scaled_c = mag_in / 255.0
            delta_im[i, ci].data *= torch.minimum(
                torch.tensor(1.0), mag_in_scaled_c / l_inf_channel
            )
    return delta_im


# %%
for itr in range(3):
    image, label = torch.rand(4, 3, 8, 8), torch.randint(10, (4,))
    optimizerG.zero_grad()
    delta_im = normalize_and_scale(netG(image))
    recons = torch.clamp(delta_im + image, 0, 1)
    output = pretrained_clf(recons)
    loss = torch.log(F.cross_entropy(output, (label + 1) % 10))
    loss.backward()
    optimizerG.step()
    print(loss.item())
