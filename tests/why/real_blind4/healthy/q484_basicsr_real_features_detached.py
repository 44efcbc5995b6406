# https://github.com/XPixelGroup/BasicSR/issues/50
import torch
import torch.nn as nn

torch.manual_seed(0)


class VGGFeatureExtractor(nn.Module):
    def __init__(self):
        super(VGGFeatureExtractor, self).__init__()
        self.register_buffer('mean', torch.Tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1))
        self.register_buffer('std', torch.Tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1))
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, padding=1))
        # No need to BP to variable
        for k, v in self.features.named_parameters():
            v.requires_grad = False

    def forward(self, x):
        return self.features((x - self.mean) / self.std)


class RRDBNet(nn.Module):
    def __init__(self, nf=8, upscale=2):
        super(RRDBNet, self).__init__()
        self.conv_first = nn.Conv2d(3, nf, 3, padding=1)
        self.rrdb = nn.Conv2d(nf, nf, 3, padding=1)
        self.upconv = nn.Conv2d(nf, nf, 3, padding=1)
        self.conv_last = nn.Conv2d(nf, 3, 3, padding=1)

    def forward(self, x):
        fea = self.conv_first(x)
        fea = fea + 0.2 * nn.functional.leaky_relu(self.rrdb(fea), 0.2)
        fea = self.upconv(nn.functional.interpolate(fea, scale_factor=2, mode='nearest'))
        return self.conv_last(nn.functional.leaky_relu(fea, 0.2))


class SRRaGANModel:
    def __init__(self):
        self.netG, self.netF = RRDBNet(), VGGFeatureExtractor().eval()
        self.cri_pix, self.cri_fea = nn.L1Loss(), nn.L1Loss()
        self.l_pix_w, self.l_fea_w = 1e-2, 1
        optim_params = []
        for k, v in self.netG.named_parameters():  # can optimize for a part of the model
            if v.requires_grad:
                optim_params.append(v)
            else:
                print('WARNING: params [%s] will not optimize.' % k)
        self.optimizer_G = torch.optim.Adam(optim_params, lr=1e-4, betas=(0.9, 0.999))
        self.log_dict = {}

    def feed_data(self, data):
        self.var_L, self.var_H = data['LR'], data['HR']

    def optimize_parameters(self, step):
        self.optimizer_G.zero_grad()
        self.fake_H = self.netG(self.var_L)
        l_g_total = 0
        if self.cri_pix:  # pixel loss
            l_g_pix = self.l_pix_w * self.cri_pix(self.fake_H, self.var_H)
            l_g_total += l_g_pix
        if self.cri_fea:  # feature loss
            real_fea = self.netF(self.var_H).detach()
            fake_fea = self.netF(self.fake_H)
            l_g_fea = self.l_fea_w * self.cri_fea(fake_fea, real_fea)
            l_g_total += l_g_fea
            self.through_netF, = torch.autograd.grad(l_g_fea, self.fake_H, retain_graph=True)  # for a look
        l_g_total.backward()
        self.optimizer_G.step()
        self.log_dict.update(l_g_pix=l_g_pix.item(), l_g_fea=l_g_fea.item())


# %%
model = SRRaGANModel()
for current_step in range(3):
    model.feed_data({'LR': torch.rand(2, 3, 8, 8), 'HR': torch.rand(2, 3, 16, 16)})
    model.optimize_parameters(current_step)
    print(current_step, model.log_dict)
