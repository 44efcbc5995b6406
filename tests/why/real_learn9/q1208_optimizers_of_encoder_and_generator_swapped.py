# https://github.com/wiseodd/controlled-text-generation/issues/15
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)


class RNN_VAE(nn.Module):
    def __init__(self, n_vocab, h_dim, z_dim, c_dim):
        super().__init__()
        self.z_dim, self.c_dim = z_dim, c_dim
        self.word_emb = nn.Embedding(n_vocab, h_dim)
        self.encoder = nn.GRU(h_dim, h_dim, batch_first=True)
        self.q_mu, self.q_logvar = nn.Linear(h_dim, z_dim), nn.Linear(h_dim, z_dim)
        self.decoder = nn.GRU(h_dim, z_dim + c_dim, batch_first=True)
        self.decoder_fc = nn.Linear(z_dim + c_dim, n_vocab)
        self.encoder_params = [*self.encoder.parameters(), *self.q_mu.parameters(), *self.q_logvar.parameters()]
        self.decoder_params = [*self.decoder.parameters(), *self.decoder_fc.parameters()]

    def forward(self, sentence):
        emb = self.word_emb(sentence)
        _, h = self.encoder(emb)
        mu, logvar = self.q_mu(h[0]), self.q_logvar(h[0])
        z = mu + torch.exp(logvar / 2) * torch.randn_like(mu)
        c = F.one_hot(torch.randint(0, self.c_dim, (sentence.size(0),)), self.c_dim).float()
        out, _ = self.decoder(emb, torch.cat([z, c], 1)[None])
        recon = F.cross_entropy(self.decoder_fc(out).flatten(0, 1), sentence.flatten())
        kl = torch.mean(0.5 * torch.sum(torch.exp(logvar) + mu ** 2 - 1 - logvar, 1))
        return recon, kl

    def generate_soft(self, z, c, n):
        emb = torch.zeros(z.size(0), n, self.word_emb.embedding_dim)
        out, _ = self.decoder(emb, torch.cat([z, c], 1)[None])
        return torch.softmax(self.decoder_fc(out), -1) @ self.word_emb.weight.detach()


# %%
model, lr = RNN_VAE(20, 16, 8, 2), 1e-3
trainer_G = optim.Adam(model.encoder_params, lr=lr)
trainer_E = optim.Adam(model.decoder_params, lr=lr)
classify = nn.Linear(16, 2).requires_grad_(False)

# %%
for it in range(3):
    sentence = torch.randint(0, 20, (4, 7))
    """ Update generator """
    recon_loss, kl_loss = model(sentence)
    loss_vae = recon_loss + 0.1 * kl_loss
    z, c = torch.randn(4, 8), torch.randint(0, 2, (4,))
    soft = model.generate_soft(z, F.one_hot(c, 2).float(), 7)
    loss_attr_c = F.cross_entropy(classify(soft.mean(1)), c)
    loss_G = loss_vae + 0.1 * loss_attr_c
    loss_G.backward()
    trainer_G.step()
    trainer_G.zero_grad()
    trainer_E.zero_grad()
    """ Update encoder """
    recon_loss, kl_loss = model(sentence)
    loss_E = recon_loss + 0.1 * kl_loss
    loss_E.backward()
    trainer_E.step()
    trainer_E.zero_grad()
    trainer_G.zero_grad()
    print(it, loss_G.item(), loss_E.item())
