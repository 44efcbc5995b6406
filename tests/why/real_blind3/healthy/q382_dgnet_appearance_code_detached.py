# https://github.com/NVlabs/DG-Net/issues/40
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ft_netAB(nn.Module):
    """Appearance encoder: a code for the images, and the identities."""

    def __init__(self, class_num=5):
        super(ft_netAB, self).__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.classifier1, self.classifier2 = nn.Linear(8, class_num), nn.Linear(8, class_num)

    def forward(self, x):
        x = F.relu(self.conv(x)).mean((2, 3))
        f = x.view(x.size(0), -1)
        f = f.detach()  # no gradient of the generation
        return f, [self.classifier1(x), self.classifier2(x)]


class AdaINGen(nn.Module):
    def __init__(self):
        super(AdaINGen, self).__init__()
        self.enc_content = nn.Conv2d(1, 8, 3, padding=1)
        self.mlp = nn.Linear(8, 16)
        self.dec = nn.Conv2d(8, 3, 3, padding=1)

    def encode(self, gray):
        return F.relu(self.enc_content(gray))

    def decode(self, content, ID):
        scale, shift = self.mlp(ID).chunk(2, dim=1)
        content = F.instance_norm(content) * scale[..., None, None] + shift[..., None, None]
        return torch.tanh(self.dec(content))


# %%
id_a, gen_a = ft_netAB(), AdaINGen()
gen_opt = torch.optim.Adam(gen_a.parameters(), lr=1e-3, betas=(0.0, 0.999))
id_opt = torch.optim.SGD(id_a.parameters(), lr=1e-2, momentum=0.9)
x_a, x_b, l_a = torch.rand(4, 3, 8, 8), torch.rand(4, 3, 8, 8), torch.randint(5, (4,))

# %%
for iterations in range(2):
    gen_opt.zero_grad()
    id_opt.zero_grad()
    s_a = gen_a.encode(x_a.mean(1, keepdim=True))
    f_a, p_a = id_a(x_a)
    f_b, p_b = id_a(x_b)
    x_ba = gen_a.decode(s_a, f_b)
    x_a_recon = gen_a.decode(s_a, f_a)
    f_b_recon, _ = id_a(x_ba)

    loss_id = F.cross_entropy(p_a[0], l_a) + F.cross_entropy(p_a[1], l_a)
    loss_gen_recon_x_a = (x_a_recon - x_a).abs().mean()
    loss_gen_recon_f_b = (f_b_recon - f_b).abs().mean()
    loss_gen_total = loss_id + loss_gen_recon_x_a + loss_gen_recon_f_b
    loss_gen_total.backward()
    gen_opt.step()
    id_opt.step()
    print(iterations, loss_id.item(), loss_gen_recon_x_a.item(), loss_gen_recon_f_b.item())
