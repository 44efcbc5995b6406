# https://github.com/facebookresearch/DomainBed/issues/143
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
hparams = {'lr_g': 1e-3, 'lr_d': 1e-3, 'd_steps_per_g_step': 1, 'lambda': 1.0}


class DANN(nn.Module):
    """Domain-adversarial networks with alternating steps."""

    def __init__(self, num_classes=3, num_domains=2):
        super(DANN, self).__init__()
        self.register_buffer('update_count', torch.tensor([0]))
        self.featurizer = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 6))
        self.classifier = nn.Linear(6, num_classes)
        self.discriminator = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, num_domains))
        self.disc_opt = torch.optim.Adam(self.discriminator.parameters(), lr=hparams['lr_d'])
        self.gen_opt = torch.optim.Adam(list(self.featurizer.parameters()) + list(self.classifier.parameters()), lr=hparams['lr_g'])

    def update(self, minibatches):
        self.update_count += 1
        all_x = torch.cat([x for x, y in minibatches])
        all_y = torch.cat([y for x, y in minibatches])
        all_z = self.featurizer(all_x)
        disc_out = self.discriminator(all_z)
        disc_labels = torch.cat([torch.full((x.shape[0],), i, dtype=torch.int64) for i, (x, y) in enumerate(minibatches)])
        disc_loss = F.cross_entropy(disc_out, disc_labels)

        d_steps_per_g = hparams['d_steps_per_g_step']
        if self.update_count.item() % (1 + d_steps_per_g) < d_steps_per_g:
            self.disc_opt.zero_grad()
            disc_loss.backward()
            self.disc_opt.step()
            return {'disc_loss': disc_loss.item()}
        all_preds = self.classifier(all_z)
        classifier_loss = F.cross_entropy(all_preds, all_y)
        gen_loss = classifier_loss + (hparams['lambda'] * -disc_loss)
        self.z_of_disc, = torch.autograd.grad(disc_loss, all_z, retain_graph=True)  # for a look
        self.z_of_gen, self.z_of_class = (torch.autograd.grad(l, all_z, retain_graph=True)[0] for l in (gen_loss, classifier_loss))
        self.disc_opt.zero_grad()
        self.gen_opt.zero_grad()
        gen_loss.backward()
        self.gen_opt.step()
        return {'gen_loss': gen_loss.item()}


# %%
algorithm = DANN()
for step in range(4):
    minibatches = [(torch.randn(8, 10) + domain, torch.randint(3, (8,))) for domain in range(2)]
    disc_before = [p.detach().clone() for p in algorithm.discriminator.parameters()]
    print(step, algorithm.update(minibatches))
