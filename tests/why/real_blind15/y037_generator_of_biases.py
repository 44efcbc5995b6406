# https://github.com/chojw/genb/issues/6
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class VQAModel(nn.Module):
    def __init__(self, v_dim=8, q_dim=6, answers=5):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(v_dim + q_dim, 32), nn.ReLU(), nn.Linear(32, answers))

    def forward(self, v, q):
        return self.net(torch.cat([v, q], dim=1))


class GenB(VQAModel):
    def forward(self, v, q, gen=True):
        if gen:
            v = torch.randn_like(v)
        return super().forward(v, q)


class Discriminator(nn.Module):
    def __init__(self, answers=5):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(answers, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid())

    def forward(self, x):
        return self.net(x)


def calc_genb_loss(logits, bias, labels):
    gen_grad = torch.clamp(2 * labels * torch.sigmoid(-2 * labels * bias.detach()), 0, 1)
    return F.binary_cross_entropy_with_logits(logits, gen_grad) * labels.size(1)


model, genb, discriminator = VQAModel(), GenB(), Discriminator()
optim = torch.optim.Adamax(model.parameters(), lr=0.001)
optim_G = torch.optim.Adamax(genb.parameters(), lr=0.001)
optim_D = torch.optim.Adamax(discriminator.parameters(), lr=0.001)
bce = nn.BCELoss()

# %%
for i in range(4):
    v, q = torch.randn(16, 8), torch.randn(16, 6)
    a = F.one_hot((v[:, 0] > 0).long() + 2 * (q[:, 0] > 0).long(), 5).float()
    valid, fake = torch.ones(16, 1), torch.zeros(16, 1)

    optim.zero_grad()
    pred = model(v, q)

    # train genb
    optim_G.zero_grad()
    optim_D.zero_grad()
    pred_g = genb(v, q, gen=True)
    g_loss = F.binary_cross_entropy_with_logits(pred_g, a) * a.size(1)
    vae_preds = discriminator(pred_g)
    main_preds = discriminator(pred)
    dsc_loss = bce(vae_preds, valid) + bce(main_preds, valid)
    g_loss = g_loss + dsc_loss + F.mse_loss(pred_g, pred.detach()) * 5
    g_loss.backward(retain_graph=True)
    nn.utils.clip_grad_norm_(genb.parameters(), 0.25)
    optim_G.step()

    # train the discriminator
    dsc_loss = bce(vae_preds, fake) + bce(main_preds, valid)
    dsc_loss.backward(retain_graph=True)
    optim_D.step()

    # use genb to train the robust model
    pred_g = genb(v, q, gen=False)
    genb_loss = calc_genb_loss(pred, pred_g, a)
    genb_loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    optim.step()
    print(i, g_loss.item(), dsc_loss.item(), genb_loss.item())
